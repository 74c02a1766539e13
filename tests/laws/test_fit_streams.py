"""Every estimator learns the same from a stream as from an array.

``tests/streams`` tests the readers. Here streams are of arrays and small files.
"""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import PolynomialFeatures

from eigenstream import (
    Adaline,
    AdalineRegressor,
    ClassSubspace,
    CompetitiveLearning,
    MultilayerPerceptron,
    MultilayerPerceptronRegressor,
    OjaNeuron,
    PairMetric,
    PairSubspace,
    Perceptron,
    QuadraticMap,
    RBFNetwork,
    SelfOrganizingMap,
    StreamPCA,
)
from eigenstream.neurons import _base
from eigenstream.rows import rows as rows_module
from eigenstream.streams import open_stream
from members import MEMBERS, SLOW, TIMES
from watched import measured

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

X, Y = SLOW, TIMES
EACH = {repr(member.estimator): member for member in MEMBERS}


def streamed(rows, y, source=lambda rows: rows, **how):
    """A stream of these rows; pairs lie side by side in it."""
    stream = open_stream(source(rows.reshape(len(rows), -1)), **{"chunk_rows": 17, **how})
    return stream if y is None else stream.with_labels(y)


def in_order_of_arrival(own, once):
    """Return whether ``fit`` of an array uses another order of the rows, or another feature map."""
    if once and isinstance(getattr(own, "features", None), QuadraticMap | RBFNetwork):
        return True
    return isinstance(own, ClassSubspace) and own.solver == "sketch"


@pytest.mark.parametrize("name", EACH)
@pytest.mark.parametrize("once", [False, True], ids=["again", "once"])
def test_a_stream_is_learned_as_its_array(name, once):
    member = EACH[name]
    (rows, y), own = member.rows_and_labels, member.seeded()
    if isinstance(own, SelfOrganizingMap):
        own.set_params(shuffle=False)  # a map learns from a stream in the order of the stream
    solver = getattr(own, "solver", "")
    several = solver == "krylov" or getattr(solver, "passes", 1) > 1
    if once and several and member.data == "time":
        with pytest.raises(ValueError, match="can be read only once"):
            own.fit(streamed(rows, y, lambda rows: iter(np.array_split(rows, 9))))
        return
    whole, model = clone(own), clone(own)
    if in_order_of_arrival(own, once):
        whole.partial_fit(rows, y)
    else:
        whole.fit(rows, y)
    source = (lambda rows: iter(np.array_split(rows, 9))) if once else (lambda rows: rows)
    assert model.fit(streamed(rows, y, source)) is model
    found, due = member.answer(model), member.answer(whole)
    if due.dtype.kind == "f":
        # Sums of about 120 numbers in other chunks round differently.
        scale = max(float(np.abs(due).max()), 1.0)
        np.testing.assert_allclose(found, due, atol=1e-10 * scale)
    else:
        np.testing.assert_array_equal(found, due)
    assert model.n_features_in_ == whole.n_features_in_


NAMES = [f"x{k}" for k in range(X.shape[1])]
SPECIES = np.array(["setosa", "versicolor", "virginica", "sibirica", "ensata"])[Y]


@pytest.mark.parametrize("kind", ["csv", "npy"])
def test_labels_in_a_column_of_the_file(kind, tmp_path):
    pandas = pytest.importorskip("pandas")
    path = tmp_path / f"table.{kind}"
    pandas.DataFrame(X, columns=NAMES).assign(species=SPECIES, code=Y).to_csv(path, index=False)
    how = {"labels": "code", "columns": NAMES}
    if kind == "npy":
        np.save(path, np.column_stack([X, Y]))
        how = {"labels": -1}
    model = ClassSubspace(2, criterion="difference", eta=2.0)
    found = clone(model).fit(open_stream(path, **how, chunk_rows=31))
    np.testing.assert_allclose(found.components_, model.fit(X, Y).components_, atol=1e-12)
    if kind == "npy":
        return
    unit = Perceptron(random_state=0, max_iter=5)
    due = clone(unit).fit(X, SPECIES).predict(X)
    unit.fit(open_stream(path, columns=NAMES, labels="species"))
    assert unit.classes_.tolist() == sorted(set(SPECIES.tolist()))
    assert list(unit.feature_names_in_) == NAMES
    np.testing.assert_array_equal(unit.predict(X), due)


def test_labels_that_are_held_elsewhere(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    np.save(tmp_path / "y.npy", Y)
    stream = open_stream(tmp_path / "rows.npy", chunk_rows=50)
    due = ClassSubspace(2, criterion="difference", eta=2.0).fit(X, Y).components_
    for y in (Y, Y.tolist(), open_stream(tmp_path / "y.npy", chunk_rows=7)):
        found = ClassSubspace(2, criterion="difference", eta=2.0).fit(stream, y)
        np.testing.assert_allclose(found.components_, due, atol=1e-12)


def test_a_map_learns_in_a_pass_of_its_own():
    network = RBFNetwork(20, gamma="median", random_state=0)
    frozen = FrozenEstimator(PolynomialFeatures(2, include_bias=False).fit(X))
    for features in (network, frozen, PolynomialFeatures(2, include_bias=False)):
        due = ClassSubspace(2, criterion="difference", eta=2.0, features=features).fit(X, Y)
        found = ClassSubspace(2, criterion="difference", eta=2.0, features=features).fit(
            streamed(X, Y)
        )
        np.testing.assert_allclose(found.transform(X), due.transform(X), atol=1e-9)


def test_pairs_by_index(tmp_path):
    path = tmp_path / "pairs.csv"
    index = np.random.default_rng(0).integers(len(X), size=(200, 2))
    signs = np.where(Y[index[:, 0]] == Y[index[:, 1]], 1, -1)
    lines = [f"{a},{b},{s}" for (a, b), s in zip(index.tolist(), signs.tolist(), strict=True)]
    path.write_text("\n".join(["first,second,same", *lines]))
    for own in (
        PairSubspace(2, criterion="difference", eta=2.0, preprocessor=X),
        PairMetric(preprocessor=X),
    ):
        due = clone(own).fit(index, signs)
        found = clone(own).fit(open_stream(path, labels="same", chunk_rows=31))
        np.testing.assert_allclose(found.components_, due.components_, atol=1e-12)


# ---- answers ------------------------------------------------------------------------------------


def test_names_of_columns_are_compared(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=NAMES)
    pca = StreamPCA(1).fit(open_stream(frame))
    with warnings.catch_warnings(action="error"):
        list(pca.transform(open_stream(frame)))
    with pytest.raises(ValueError, match="in another order"):
        pca.transform(open_stream(frame[NAMES[::-1]]))
    with pytest.raises(ValueError, match="without 'x0'"):
        pca.transform(open_stream(frame.rename(columns={"x0": "y"})))
    with pytest.raises(ValueError, match="3 features"):
        pca.transform(open_stream(X[:, :3]))


# ---- missing values -----------------------------------------------------------------------------


def with_holes():
    rows, labels = X.copy(), SPECIES.astype(object)
    rows[[3, 40], 2] = np.nan
    labels[7] = None
    return rows, labels


LEARNERS = [
    ClassSubspace(2, criterion="difference", eta=2.0),
    Perceptron(random_state=0, max_iter=5),
]


@pytest.mark.parametrize("own", LEARNERS, ids=repr)
def test_rows_that_lack_something_are_left_out_by_policy(own):
    rows, labels = with_holes()
    filled = rows.copy()
    filled[[3, 40], 2] = (rows[[2, 39], 2] + rows[[4, 41], 2]) / 2
    ask = "predict" if hasattr(own, "predict") else "transform"
    for missing, complete, lost in [("skip", rows, [3, 7, 40]), ("interpolate", filled, [7])]:
        kept = np.delete(np.arange(len(X)), lost)
        due = getattr(clone(own).fit(complete[kept], SPECIES[kept]), ask)(X)
        stream = streamed(rows, labels, missing=missing, chunk_rows=4)
        found = getattr(clone(own).fit(stream), ask)(X)
        if due.dtype.kind == "f":
            np.testing.assert_allclose(found, due, atol=1e-12)
        else:
            np.testing.assert_array_equal(found, due)
    with pytest.raises(ValueError, match=r"NaN .* row 3, column 2"):
        clone(own).fit(streamed(rows, labels))
    with pytest.raises(ValueError, match="no label at row 7"):
        clone(own).fit(streamed(X, labels))


# ---- memory -------------------------------------------------------------------------------------


def test_what_would_not_fit_in_memory_is_refused(monkeypatch):
    monkeypatch.setattr(rows_module, "physical_memory", lambda: 1.0)
    chunks = lambda rows: iter(np.array_split(rows, 9))  # noqa: E731
    with pytest.raises(ValueError, match=r"in memory.*partial_fit"):
        Perceptron().fit(streamed(X, Y, chunks))
    # These need some chunks only.
    ClassSubspace(2, criterion="difference", eta=2.0).fit(streamed(X, Y))
    OjaNeuron().fit(streamed(X, None))
    Perceptron(max_iter=2).fit(streamed(X, Y))
    RBFNetwork(9).fit(streamed(X, None))


# ---- parts of a stream --------------------------------------------------------------------------

IN_PARTS = [
    (Perceptron(max_iter=3), Y),
    (Perceptron(max_iter=3, shuffle=False), Y),
    (Adaline(max_iter=3), Y),
    (AdalineRegressor(max_iter=3, shuffle=False), X @ np.arange(8.0)),
    (MultilayerPerceptron(4, batch_size=8, max_iter=3), Y),
    (MultilayerPerceptronRegressor(4, max_iter=3), X[:, 0]),
    (CompetitiveLearning(4, max_iter=3), None),
    (CompetitiveLearning(4, method="batch", max_iter=3), None),
    (SelfOrganizingMap((2, 3), max_iter=3), None),
    (SelfOrganizingMap((2, 3), training="batch", max_iter=3), None),
]


@pytest.mark.parametrize(("own", "y"), IN_PARTS, ids=lambda one: repr(one)[:60])
def test_a_long_stream_is_learned_part_by_part(own, y, monkeypatch):
    """The cuts between parts, and so the answer, do not depend on the chunks."""
    own = clone(own).set_params(random_state=0)
    whole = clone(own).fit(streamed(X, y))
    monkeypatch.setattr(_base, "PART", 70 * X.shape[1])
    first, second = (clone(own).fit(streamed(X, y, chunk_rows=n)) for n in (13, 100))
    read = "predict" if hasattr(own, "predict") else "transform"
    np.testing.assert_allclose(getattr(first, read)(X), getattr(second, read)(X), atol=1e-10)
    for name in ("n_steps_", "radius_", "rate_limit_", "safe_rate_"):
        if hasattr(whole, name):
            due = getattr(whole, name)
            if name != "n_steps_" or getattr(own, "batch_size", 1) == 1:
                assert getattr(first, name) == pytest.approx(due)
    if hasattr(own, "shuffle") and not own.shuffle:
        np.testing.assert_allclose(getattr(first, read)(X), getattr(whole, read)(X), atol=1e-10)


@pytest.mark.parametrize(("own", "y"), IN_PARTS, ids=lambda one: repr(one)[:60])
@pytest.mark.slow
def test_memory_does_not_grow_with_the_stream(own, y, tmp_path, monkeypatch):
    monkeypatch.setattr(_base, "PART", 50 * X.shape[1])
    peaks = []
    for copies in (10, 60):
        np.save(tmp_path / "rows.npy", np.tile(X, (copies, 1)))
        stream = open_stream(tmp_path / "rows.npy", chunk_rows=100)
        labelled = stream if y is None else stream.with_labels(np.tile(y, copies))
        model = clone(own).set_params(random_state=0)
        peaks.append(measured(lambda: model.fit(labelled))[1])  # noqa: B023
    # All rows would take 6 times the memory.
    assert peaks[1] < 2 * peaks[0]
