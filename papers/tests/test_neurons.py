"""The page of the classic neurons: its numbers are the theory's, and its frames work unscripted."""

import numpy as np
import pytest

from eigenstream.demo import Clock
from papers import clusters, maps, neurons, pca


@pytest.fixture(scope="module")
def outcome():
    return neurons.run("tiny", 2, Clock())


def test_mistakes_are_within_the_bound(outcome):
    found = outcome.numbers["perceptron"]
    assert all(m <= b for m, b in zip(found["mistakes"], found["bounds"], strict=True))


def test_adaline_has_the_error_of_theory(outcome):
    found = outcome.numbers["adaline"]
    for name, expected in found["theory"].items():
        # 15,000 correlated steps; of the fast rate about one in five is new.
        assert np.mean(found["excess"][name]) == pytest.approx(expected, rel=0.2)
    assert len(found["diverged"]) == 2


def test_the_misadjustment_solves_its_equation():
    """The stationary second moments of Gaussian LMS: K = K - eta(RK + KR) + eta^2 (2RKR + ...)."""
    R = np.array([[2.0, 0.9], [0.9, 0.6]])
    eta = 0.1
    values = np.linalg.eigvalsh(R)
    # In the eigenbasis, with noise 1: 2 k = eta (2 l k + sum(l k) + 1) for each eigenvalue l.
    k = np.linalg.solve(
        np.diag(2 - 2 * eta * values) - eta * np.outer(np.ones(2), values), eta * np.ones(2)
    )
    assert neurons.misadjustment(R, eta) == pytest.approx(values @ k)


def test_hebbian_units_reach_what_theory_says(outcome):
    found = outcome.numbers["oja"]
    assert max(found["degrees"]) < 1.5
    np.testing.assert_allclose(found["variance"], 1, atol=2e-3)
    np.testing.assert_allclose(found["norm"], 1, atol=1e-2)
    # 1500 steps: the mean square has a relative spread of sqrt(2 / 1500).
    np.testing.assert_allclose(found["hebb_growth"], 1, atol=4 * np.sqrt(2 / 1500))
    assert np.min(outcome.numbers["sanger"]["cosines"]) > 0.95
    # Gaps of the spectrum halve from one component to the next.
    assert (np.diff(outcome.numbers["sanger"]["arrival"], axis=1) > 0).all()
    assert all(outcome.numbers["exclusive or"]["solved"])


def test_iterations_find_the_dense_answer():
    rng = np.random.default_rng(0)
    R = np.cov(rng.standard_normal((100, 12)) * np.linspace(3, 1, 12), rowvar=False)
    top = np.linalg.eigh(R)[1][:, -1]
    start = rng.standard_normal(12)
    power, space = pca.power_iteration(R, start, 500), pca.krylov(R, start, 11)
    assert abs(power[-1] @ top) == pytest.approx(1, abs=1e-12)
    assert abs(space[-1] @ top) == pytest.approx(1, abs=1e-12)
    # After the same number of products a Krylov space is never behind the power iteration.
    assert all(c @ R @ c >= b @ R @ b - 1e-12 for b, c in zip(power, space, strict=False))


def test_decoding_loses_the_eigenvalues_left_out():
    found = pca.coding()[1]
    np.testing.assert_allclose(found["error"], found["left out"], rtol=1e-9, atol=1e-9)
    extremes = pca.probe()[1]
    assert extremes["largest"] == pytest.approx(extremes["eigenvalues"][0], rel=1e-3)
    assert extremes["smallest"] == pytest.approx(extremes["eigenvalues"][1], rel=1e-2)


def test_prototypes_find_what_theory_says():
    numbers = clusters.run("tiny", 4, Clock()).numbers
    for name in ("winner", "soft"):
        found = numbers[name]
        for what, due in zip(("R", "S"), found["theory"], strict=True):
            error = np.std(found[what], ddof=1) / np.sqrt(len(found[what]))
            # Four standard errors, of few runs, and what N = 100 changes: some 1 / N.
            assert abs(np.mean(found[what]) - due) <= 4 * error + 8 / 100
    assert np.mean(numbers["winner"]["R"]) > 1.05 * clusters.SEPARATION
    assert np.less(numbers["winner"]["Lloyd's error"], numbers["winner"]["error"]).all()


def test_a_grid_unfolds_over_a_square():
    rng = np.random.default_rng(0)
    som = maps.nets(0, 3000)["a grid of 10 × 10"].set_params(init=maps.square(rng, 100))
    frames = maps.unfolded(som, maps.square(rng, 3000))
    pairs = som.grid_.neighbors()
    far = [np.linalg.norm(one[pairs[:, 0]] - one[pairs[:, 1]], axis=1).max() for one in frames]
    assert far[-1] < 0.4 < 1.5 < far[0]


@pytest.mark.parametrize("width", [360, 1100])
def test_frames_step_through_time_in_a_browser(outcome, browser, tmp_path, width):
    path = tmp_path / "neurons.html"
    path.write_text(outcome.report.html(), encoding="utf-8")
    page = browser.open(path, width=width)
    shown = (
        "[...document.querySelector('.frames').querySelectorAll('.frame')]"
        ".map(e => getComputedStyle(e).display !== 'none')"
    )
    before = page.ask(shown)
    assert before == [False] * (len(before) - 1) + [True]
    page.click(".frames label")
    assert page.ask(shown) == [True, *before[1:-1], False]
    page.press("ArrowRight")
    assert page.ask(shown) == [False, True, *before[2:-1], False]
    assert page.wider() == []
    assert page.loaded() == []
    assert page.complaints() == []
    page.close()
