"""fit --through: steps in front of what learns, kept in the model."""

import json

import numpy as np
import pytest

from commands import outcome as run
from eigenstream import (
    CompetitiveLearning,
    SlowSubspace,
    StreamPCA,
    load,
    open_stream,
)
from eigenstream.streams import (
    Differences,
    LagEmbedding,
    QuadraticExpansion,
    Standardize,
    UnitNorm,
)

ROWS = np.random.default_rng(0).standard_normal((300, 3)).cumsum(axis=0)


@pytest.fixture
def folder(tmp_path):
    np.savetxt(tmp_path / "x.csv", ROWS, delimiter=",", header="a,b,c", comments="")
    np.save(tmp_path / "y.npy", np.arange(300) // 100)
    return tmp_path


@pytest.mark.parametrize(
    ("asked", "steps", "lost"),
    [
        ("standardize", [Standardize()], 0),
        ("unit-norm", [UnitNorm()], 0),
        ("lag-embedding:2:5", [LagEmbedding(2, 5)], 5),
        ("differences:4", [Differences(4)], 4),
        (
            "standardize, quadratic-expansion,lag-embedding:2",
            [Standardize(), QuadraticExpansion(), LagEmbedding(2)],
            1,
        ),
    ],
)
def test_steps_are_those_of_python_in_their_order(asked, steps, lost, folder):
    code, out, said = run(
        "fit", "slow", folder / "x.csv", "--through", asked, "-o", folder / "m.eigs", "--json"
    )
    assert (code, said) == (0, "")
    stream = open_stream(folder / "x.csv").through(*steps)
    due = SlowSubspace(2).fit(stream)
    found = load(folder / "m.eigs")
    assert found.components_.tobytes() == due.components_.tobytes()
    assert repr(found.preprocessing_) == repr(due.preprocessing_)
    assert json.loads(out)["columns"] == due.n_features_in_
    # The model knows its steps: nobody says them again.
    code, _, said = run("transform", folder / "m.eigs", folder / "x.csv", "-o", folder / "f.npy")
    assert (code, said) == (0, "")
    features = np.load(folder / "f.npy")
    assert np.isnan(features[:lost]).all()
    expected = np.concatenate([chunk.rows for chunk in due.transform(stream)])
    np.testing.assert_allclose(features[lost:], expected, atol=1e-9)


@pytest.mark.parametrize(
    ("command", "estimator"),
    [
        (["pca"], StreamPCA(2)),
        (["kmeans", "-k", 3], CompetitiveLearning(3, random_state=0)),
    ],
    ids=lambda one: one[0] if isinstance(one, list) else "",
)
def test_every_fit_of_a_stream_takes_steps(command, estimator, folder):
    kind, *more = command
    steps = Standardize(), LagEmbedding(2)
    through = ["--through", "standardize,lag-embedding:2", "-o", folder / "m.eigs"]
    code, _, said = run("fit", kind, folder / "x.csv", *more, *through)
    assert (code, said) == (0, "")
    stream = open_stream(folder / "x.csv").through(*steps)
    estimator.fit(stream)
    found, name = load(folder / "m.eigs"), "components_"
    name = name if kind == "pca" else "prototypes_"
    assert getattr(found, name).tobytes() == getattr(estimator, name).tobytes()
    code, _, said = run("transform", folder / "m.eigs", folder / "x.csv", "-o", folder / "f.npy")
    assert (code, said) == (0, "")
    assert np.isnan(np.load(folder / "f.npy")).all(axis=1).tolist() == [True] + [False] * 299


def test_models_are_evaluated_behind_their_steps(folder):
    model = folder / "m.eigs"
    fit = ["fit", "classes", folder / "x.csv", "--labels", folder / "y.npy", "-o", model, "-d", 1]
    assert run(*fit, "--through", "lag-embedding:3,unit-norm")[0] == 0
    code, out, said = run(
        "evaluate", model, folder / "x.csv", "--labels", folder / "y.npy", "--json"
    )
    assert (code, said) == (0, "")
    assert json.loads(out)["rows"] == 298
    (folder / "p.csv").write_text("0,1,equal\n0,200,unequal\n")
    code, _, said = run("evaluate", model, folder / "x.csv", "--pairs", folder / "p.csv")
    assert code == 2
    assert "changes the numbers of rows" in said
