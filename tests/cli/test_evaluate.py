"""``eigenstream evaluate`` and ``fit --report``: one's own result, looked at from the terminal."""

import numpy as np
import pytest

import eigenstream
from commands import answer as told
from commands import run
from eigenstream import ClassSubspace, PairSubspace, StreamPCA
from eigenstream.evaluation import balanced_risk, one_shot_error, pair_roc
from eigenstream.subspace import false_positive_interval

LABELS = np.arange(120) % 3


def rows():
    return np.random.default_rng(0).standard_normal((120, 4)) + 3.0 * np.eye(4)[LABELS]


def pairs():
    return np.random.default_rng(1).integers(120, size=(200, 2))


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, index = rows(), pairs()
    np.save("rows.npy", X)
    np.save("labels.npy", LABELS)
    lines = [
        ",".join(map(str, row)) + f",kind{label}" for row, label in zip(X, LABELS, strict=True)
    ]
    (tmp_path / "table.csv").write_text("\n".join(["a,b,c,d,kind", *lines]) + "\n")
    same = LABELS[index[:, 0]] == LABELS[index[:, 1]]
    words = [
        f"{i},{j},{'same' if one else 'different'}" for (i, j), one in zip(index, same, strict=True)
    ]
    (tmp_path / "pairs.csv").write_text("\n".join(["one,other,which", *words]) + "\n")
    eigenstream.save(StreamPCA(2).fit(X), "pca.eigs")
    eigenstream.save(ClassSubspace(2).fit(X, LABELS), "classes.eigs")
    return tmp_path


def test_labels_of_rows(files):
    X = rows()
    for model in ("pca.eigs", "classes.eigs"):
        found = told("evaluate", model, "rows.npy", "--labels", "labels.npy")
        assert (found["rows"], found["judged"], found["classes"]) == (120, 120, 3)
        spaces = {"features": eigenstream.load(model).transform(X), "columns": X}
        for space, Z in spaces.items():
            assert found[space]["one_shot_error"] == one_shot_error(Z, LABELS)
            assert found[space]["risk"] == pytest.approx(balanced_risk(Z, LABELS).risk, abs=1e-12)
            assert found[space]["roc_area"] == pytest.approx(pair_roc(Z, LABELS).area, abs=1e-12)
    # The rows learned from, at the threshold learned: the least risk itself.
    assert found["features"]["error"] == pytest.approx(found["features"]["risk"], abs=1e-12)
    assert "error" not in found["columns"]
    by_name = told("evaluate", "pca.eigs", "table.csv", "--labels", "kind")
    assert by_name == told("evaluate", "pca.eigs", "rows.npy", "--labels", "labels.npy")
    shown = run("evaluate", "classes.eigs", "table.csv", "--labels", "kind").stdout
    for words in ("features  one shot error", "risk", "roc area", "error", "120"):
        assert words in shown


def test_pairs_of_rows(files):
    X, index = rows(), pairs()
    signs = np.where(LABELS[index[:, 0]] == LABELS[index[:, 1]], 1, -1)
    learned = PairSubspace(preprocessor=X).fit(index, signs)
    result = run("fit", "pairs", "pairs.csv", "--items", "rows.npy", "-o", "p.eigs")
    assert result.exit_code == 0, result.stderr
    found = told("evaluate", "p.eigs", "rows.npy", "--pairs", "pairs.csv")
    assert (found["pairs"], found["equal"]) == (200, int((signs > 0).sum()))
    assert found["features"]["roc_area"] == pytest.approx(learned.score(index, signs), abs=1e-12)
    said = learned.predict(index)
    error = np.mean([(said[signs == sign] != sign).mean() for sign in (1, -1)])
    assert found["features"]["error"] == pytest.approx(error, abs=1e-12)
    assert "one_shot_error" not in found["features"]
    # A model that has learned from no pair has no threshold, and all else.
    assert set(told("evaluate", "pca.eigs", "rows.npy", "--pairs", "pairs.csv")["features"]) == {
        "risk",
        "roc_area",
    }
    X[7] = np.nan
    np.save("holes.npy", X)
    with_holes = told(
        "evaluate", "p.eigs", "holes.npy", "--pairs", "pairs.csv", "--missing", "skip"
    )
    assert with_holes["pairs"] == 200 - int((index == 7).any(axis=1).sum())


def test_of_many_rows_a_sample_is_judged(files):
    given = ("rows.npy", "--labels", "labels.npy", "--max-rows", "30")
    found = told("evaluate", "pca.eigs", *given)
    assert (found["rows"], found["judged"]) == (120, 30)


def test_a_threshold_for_new_classes(files):
    given = ("rows.npy", "--labels", "labels.npy", "--false-positive-rate", "0.05")
    found = told("evaluate", "classes.eigs", *given)["new_classes"]
    model = eigenstream.load("classes.eigs")
    with pytest.warns(UserWarning, match="learned from"):
        model.calibrate_threshold(rows(), LABELS, false_positive_rate=0.05)
    rate = false_positive_interval(model, rows(), LABELS)
    assert (found["threshold"], found["rate"]) == (model.threshold_, rate.rate)
    assert (found["low"], found["high"], found["classes"]) == (*rate.interval, 3)
    shown = run("evaluate", "classes.eigs", *given).stdout
    assert "new classes" in shown
    refused = run("evaluate", "pca.eigs", *given)
    assert refused.exit_code == 2
    assert "no threshold" in refused.stderr
