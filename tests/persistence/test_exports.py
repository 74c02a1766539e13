"""What was learned, for other programs: the same numbers come out there."""

import pickle

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline

from eigenstream import (
    ClassSubspace,
    OjaNeuron,
    PairSubspace,
    RBFNetwork,
    SlowSubspace,
    StreamPCA,
    open_stream,
    sample_pairs,
)
from eigenstream.persistence import export
from eigenstream.streams import (
    LagEmbedding,
    OmitOutliers,
    QuadraticExpansion,
    Standardize,
    UnitNorm,
)
from eigenstream.subspace import to_sklearn

ROWS = np.random.default_rng(0).standard_normal((400, 5)).cumsum(axis=0) + 3

MODELS = [
    StreamPCA(3),
    StreamPCA(2, scale=True),
    SlowSubspace(2),
    SlowSubspace(2, criterion="ratio"),
    StreamPCA(3, center=False),
    StreamPCA(2, solver="sketch"),
    SlowSubspace(2, solver="krylov", alpha=0.5),
    SlowSubspace(2, basis="eigenvalue", scale=True),
]


def close(found, expected):
    """To rounding, of products of so many numbers of this size."""
    size = np.abs(ROWS).max() ** 2 * 100
    np.testing.assert_allclose(found, expected, rtol=0, atol=size * np.finfo(np.float64).eps)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_scikit_learn_projects_the_same(model):
    model = model.fit(ROWS)
    plain = pickle.loads(pickle.dumps(to_sklearn(model)))
    assert isinstance(plain, Pipeline if model.scale else PCA)
    close(plain.transform(ROWS), model.transform(ROWS))
    if getattr(model, "basis", "eigenvalue") == "eigenvalue":
        back = model.inverse_transform(model.transform(ROWS))
        close(plain.inverse_transform(plain.transform(ROWS)), back)
    assert plain.n_features_in_ == 5


def test_a_pca_is_scikit_learns_own():
    mine, own = to_sklearn(StreamPCA(3).fit(ROWS)), PCA(3).fit(ROWS)
    for name in (
        "explained_variance_",
        "explained_variance_ratio_",
        "singular_values_",
        "noise_variance_",
        "mean_",
        "n_samples_",
        "n_components_",
    ):
        np.testing.assert_allclose(getattr(mine, name), getattr(own, name), rtol=1e-9)
    np.testing.assert_allclose(mine.score(ROWS), own.score(ROWS), rtol=1e-9)


#: Made anew for every stream: a step keeps what it has learned.
STEPS = {
    "no steps": (),
    "scaled": (Standardize,),
    "length": (UnitNorm,),
    "outliers": (OmitOutliers, Standardize),
    "several": (Standardize, QuadraticExpansion, UnitNorm),
}


def test_components_as_numbers(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS, columns=["a", "b,c", 'd"', "e", "f"])
    model = StreamPCA(2).fit(frame)
    export(model, tmp_path / "c.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "c.npy"), model.components_)
    export(model, tmp_path / "c.csv")
    found = pandas.read_csv(tmp_path / "c.csv", engine="python")
    assert list(found.columns) == list(frame.columns)
    np.testing.assert_array_equal(found.to_numpy(), model.components_)
    export(OjaNeuron(random_state=0).fit(ROWS), tmp_path / "c.npy")
    assert np.load(tmp_path / "c.npy").shape == (1, 5)


@pytest.mark.parametrize("model", MODELS[:4], ids=repr)
@pytest.mark.parametrize("steps", STEPS)
def test_steps_come_along_to_scikit_learn_and_onnx(model, steps, tmp_path):
    rows = np.column_stack([ROWS, np.ones(400)])  # a constant column stays nothing
    stream = open_stream(rows).through(*(kind() for kind in STEPS[steps]))
    model = model.fit(stream)
    expected = model.transform(stream).column()
    close(to_sklearn(model).transform(rows), expected)
    prepared = model.preprocessing_.transform(rows) if STEPS[steps] else rows
    close(to_sklearn(model, preprocessing=False).transform(prepared), expected)
    pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    export(model, tmp_path / "model.onnx")
    session = runtime.InferenceSession(tmp_path / "model.onnx")
    close(session.run(None, {"rows": rows})[0], expected)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("kind", [ClassSubspace, PairSubspace])
def test_onnx_maps_rows_as_learned_distances_do(kind, normalize, tmp_path):
    pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    model, labels = kind(2, normalize=normalize, scale="within"), np.arange(400) // 20
    if kind is PairSubspace:
        pairs, signs = sample_pairs(labels, 500, random_state=0)
        model.set_params(preprocessor=ROWS).fit(pairs, signs)
    else:
        model.fit(ROWS, labels)
    export(model, tmp_path / "model.onnx")
    session = runtime.InferenceSession(tmp_path / "model.onnx")
    close(session.run(None, {"rows": ROWS})[0], model.transform(ROWS))
    close(to_sklearn(model).transform(ROWS), model.transform(ROWS))


def test_what_is_refused_writes_nothing(tmp_path):
    mapped = StreamPCA(1, features=RBFNetwork(20, random_state=0)).fit(ROWS)
    lagged = StreamPCA(1).fit(open_stream(ROWS).through(LagEmbedding(2)))
    for model, name, words in [
        (StreamPCA(1).fit(ROWS), "c.txt", "Use .npy, .csv, .onnx"),
        (StreamPCA(1), "c.npy", "is not fitted yet|no components"),
        (RBFNetwork(5), "c.npy", "has no components"),
        (OjaNeuron(random_state=0).fit(ROWS), "c.onnx", "cannot be written as ONNX"),
        (mapped, "c.onnx", "cannot be written as ONNX"),
        (lagged, "c.onnx", "has no equivalent in scikit-learn"),
    ]:
        with pytest.raises(ValueError, match=words):
            export(model, tmp_path / name)
    assert not list(tmp_path.iterdir())
