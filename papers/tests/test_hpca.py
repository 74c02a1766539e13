"""Labels of some classes teach a distance for others; and the sweep of c and gamma."""

from itertools import product

import numpy as np
import pytest

from eigenstream import ClassSubspace
from eigenstream.demo import Clock
from eigenstream.evaluation import balanced_risk, one_shot_error
from eigenstream.processes import Style, characters
from papers import film, hpca, margin


@pytest.mark.parametrize(
    ("motion", "few", "page"), [("rotation", 25, "white page"), ("scale", 14, "black page")]
)
def test_figures_are_reached_already_with_few_images(motion, few, page):
    """Error at most 0.005 and risk at most 0.01, by rows chosen without the digits."""
    task = hpca.rendered_task(motion, page, 0, few)
    column = {"rotation": hpca.ROTATED, "scale": hpca.SCALED}[motion].column
    learned, _ = hpca.learned(task, hpca.HELD_OUT, column, "quick")
    rows, labels = next(iter(task.tests.values()))
    features = learned.transform(rows)
    assert one_shot_error(rows, labels) > 0.5
    assert one_shot_error(features, labels) <= 0.005
    assert balanced_risk(features, labels).risk <= 0.01


def test_reweighted_pairs_learn_rotation_without_a_choice_of_eta():
    task = hpca.rendered_task("rotation", "white page", 0, 20)
    for way in (way for way in (*hpca.LINEAR, *hpca.KERNELS) if way.rule == "reweighted"):
        learned, choice = hpca.learned(task, way, hpca.ROTATED.column, "quick")
        rows, labels = next(iter(task.tests.values()))
        assert one_shot_error(learned.transform(rows), labels) <= 0.01
        assert "eta" not in choice


def test_counted_errors_are_those_of_one_known_image_among_all_test_images():
    rows, labels = np.random.default_rng(0).standard_normal((12, 3)), np.repeat([0, 1, 2], 4)
    found = hpca.Measurements()
    found.add("test", "raw", rows, labels)
    apart = ((rows[:, None] - rows) ** 2).sum(axis=2)
    errors = 0
    for known in product(range(4), range(4, 8), range(8, 12)):
        named = np.argmin(apart[:, known], axis=1)  # known images name themselves
        errors += np.sum(named != labels)
    [counted] = found.values("test", "raw", "counted")
    assert counted == pytest.approx(errors / (4**3 * 12))


def test_faces_have_two_splits_by_number_and_random_ones(tmp_path, monkeypatch):
    monkeypatch.setenv("EIGENSTREAM_DATA", str(tmp_path))
    images = np.random.default_rng(0).integers(1, 256, (80, 112, 92)).astype(np.uint8)
    people = np.repeat(np.arange(1, 41), 2)
    np.savez(tmp_path / "orl_faces.npz", images=images, subject=people)
    last, first, random = hpca.faces("tiny", 1)
    for [task, *_], known, test, pixels in (
        (last, range(1, 32), "9 people, 32 to 40", 28 * 23),
        (first, range(10, 41), "9 people, 1 to 9, every pixel", 112 * 92),
        (random, np.unique(random[0].labels), "9 people, at random", 28 * 23),
    ):
        [(name, (rows, labels))] = task.tests.items()
        assert name == test
        assert set(task.labels) == set(known)
        assert set(labels) == set(range(1, 41)) - set(known)
        assert task.rows.shape == (62, pixels)
        assert rows.shape == (18, pixels)


def test_scaled_letters_have_a_second_font():
    [tasks] = hpca.SCALED.runs("tiny", 1)
    names = [task.name for task in tasks]
    assert names == [*hpca.PAGES, *(f"{page}, second font" for page in hpca.PAGES)]
    first, _, second, _ = tasks
    assert second.rows.shape == first.rows.shape
    assert not np.allclose(second.rows, first.rows)


def test_a_film_teaches_without_labels(monkeypatch):
    monkeypatch.setattr(film, "FRAMES", {"tiny": 2500})
    monkeypatch.setattr(film, "STATES", {"tiny": 40})
    monkeypatch.setattr(film, "WAYS", dict(list(film.WAYS.items())[:1]))
    rows = film.run("tiny", 1, Clock()).numbers["rows"]
    raw, learned = (row["error"]["mean"] for row in rows)
    assert raw > 0.7
    assert learned <= 0.01


def test_rings_are_what_turning_keeps():
    images, _ = characters("o", 1, style=Style(size=16, height=8, unit_norm=False))
    across = np.arange(16) - 7.5
    radius = np.hypot(across[:, None], across[None])
    ring = np.exp(-((radius - 4.0) ** 2)).reshape(1, -1)
    noise = np.random.default_rng(0).standard_normal((200, 256))
    # About a dozen rings hold 256 pixels: noise has a share of about 12 / 256.
    assert hpca.ring_shares(noise).mean() == pytest.approx(12 / 256, rel=0.1)
    assert hpca.ring_shares(ring)[0] > 0.9
    assert hpca.ring_shares(images).shape == (1,)


def test_ring_eigenvectors_are_those_of_the_library():
    rows, labels = characters("abcd", 20, rotation=3.0, style=Style(size=8), random_state=0)
    vectors, n, _ = hpca.rings_of(rows, labels, 0.1)
    learned = ClassSubspace(None, criterion="difference", eta=0.1).fit(rows, labels)
    assert n == len(learned.components_)
    np.testing.assert_allclose(np.abs(np.sum(vectors[:n] * learned.components_, 1)), 1, atol=1e-6)


def test_eta_is_the_ratio_of_the_weights_of_section_6():
    for c in margin.THRESHOLDS:
        for gamma in margin.MARGINS:
            different, same = min(1 / (1 - c * c), 1 / gamma), min(1 / (c * c), 1 / gamma)
            assert margin.eta_of(c, gamma) == pytest.approx(different / same)
    # The paper's eta of this task.
    assert margin.eta_of(0.4, 0.01) == pytest.approx(0.19, abs=0.005)


def test_a_margin_chooses_the_smallest_threshold_of_least_risk():
    sweep = np.ones((1, len(margin.MARGINS), len(margin.THRESHOLDS), 3))
    sweep[0, 1, 4:, 0] = 0.2
    assert margin.choices(sweep).tolist() == [[0, 4, 0, 0, 0]]
