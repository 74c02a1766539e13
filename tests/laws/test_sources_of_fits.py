"""Rows of other libraries: Arrow streams, lazy frames and labelled arrays."""

import numpy as np
import pytest
from scipy.sparse import random as sparse_random

from eigenstream import (
    ClassSubspace,
    CompetitiveLearning,
    OjaNeuron,
    SelfOrganizingMap,
    SlowSubspace,
    StreamPCA,
    open_stream,
)
from eigenstream.streams import StreamError

ROWS = np.random.default_rng(0).standard_normal((60, 3)).cumsum(axis=0)


class Query:
    """An object that only exports Arrow records, such as a query of a database."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def arrow():
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow.table({name: ROWS[:, k] for k, name in enumerate("abc")})


def lazy_frame():
    polars = pytest.importorskip("polars")
    return polars.LazyFrame({name: ROWS[:, k] for k, name in enumerate("abc")})


@pytest.mark.parametrize(
    "made", [lambda: arrow().to_reader(7), lazy_frame, lambda: Query(arrow())], ids="rlq"
)
@pytest.mark.parametrize("model", [StreamPCA(2), SlowSubspace(2), OjaNeuron(random_state=0)])
def test_sources_of_arrow_records_are_rows(model, made):
    if isinstance(model, OjaNeuron):
        model.set_params(max_iter=1)
    components = model.fit(made()).components_
    np.testing.assert_allclose(components, model.fit(open_stream(made())).components_, atol=1e-12)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    found, expected = model.transform(made()), model.transform(open_stream(made()))
    np.testing.assert_allclose(found.column(), expected.column(), atol=1e-9)


@pytest.mark.parametrize("made", [lazy_frame, lambda: Query(arrow())], ids="lq")
def test_set_output_returns_a_frame_for_lazy_sources_and_an_error_for_a_stream(made):
    pytest.importorskip("polars")
    model = StreamPCA(2).fit(made())
    expected = model.transform(ROWS[:, :3])
    frame = model.set_output(transform="polars").transform(made())
    assert frame.columns == ["streampca0", "streampca1"]
    np.testing.assert_allclose(frame.to_numpy(), expected, atol=1e-9)
    with pytest.raises(TypeError, match=r"for a stream\. Transform the rows of each chunk"):
        model.transform(open_stream(made()))


@pytest.mark.parametrize("kind", [StreamPCA, SlowSubspace, ClassSubspace])
def test_a_stream_with_gaps_is_read_by_the_missing_of_the_estimator(kind):
    rows, y = ROWS.copy(), np.arange(len(ROWS)) % 3
    rows[5, 1] = np.nan
    labels = {"y": y} if kind is ClassSubspace else {}
    with pytest.raises(ValueError, match="at row 5, column 1"):
        kind(2).fit(open_stream(rows), **labels)
    model = kind(2, missing="skip").fit(open_stream(rows), **labels)
    np.testing.assert_allclose(
        model.components_, kind(2, missing="skip").fit(rows, **labels).components_, atol=1e-9
    )
    features = model.transform(open_stream(rows)).column()
    np.testing.assert_allclose(features[6:], model.transform(rows[6:]), atol=1e-9)


class Cells:
    """The attributes of AnnData that are read. AnnData itself needs an old pandas."""

    obs_names = var_names = obsm = X = None

    def __init__(self, X, names):
        self.X, self.var_names = X, names


@pytest.mark.parametrize("kind", ["memory", "h5ad", "h5", "zarr"])
def test_sparse_cells_with_names_of_genes(kind, tmp_path):
    h5py, zarr = pytest.importorskip("h5py"), pytest.importorskip("zarr")
    counts = sparse_random(60, 4, 0.4, format="csr", random_state=0)
    source, path = Cells(counts, list("abcd")), f"{tmp_path}/cells.{kind}"
    if kind != "memory":
        root = zarr.open_group(path, mode="w") if kind == "zarr" else h5py.File(path, "w")
        group = root.create_group("X")
        for name in ("data", "indices", "indptr"):
            values = getattr(counts, name)
            group.create_array(name, data=values) if kind == "zarr" else group.create_dataset(
                name, data=values
            )
        group.attrs["shape"] = [60, 4]
        if kind == "h5ad":
            root.create_dataset("var/_index", data=list("abcd"))
        if kind != "zarr":
            root.close()
        source = open_stream(f"{path}::X" if kind == "h5" else path, chunk_rows=7)
    pca, plain = StreamPCA(2).fit(source), StreamPCA(2).fit(counts)
    np.testing.assert_allclose(pca.components_, plain.components_, atol=1e-9)
    if kind in ("memory", "h5ad"):
        assert pca.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    answers = pca.transform(source)
    answers = answers if kind == "memory" else answers.column()
    np.testing.assert_allclose(answers, plain.transform(counts), atol=1e-9)


def test_damaged_cells_of_a_file_are_named(tmp_path):
    h5py, counts = pytest.importorskip("h5py"), sparse_random(60, 4, 0.4, format="csr")
    path = f"{tmp_path}/cells.h5ad"
    with h5py.File(path, "w") as root:
        for name in ("data", "indices", "indptr"):
            root[f"X/{name}"] = getattr(counts, name)
        root["X"].attrs["shape"] = [60, 4]
    for name, at, value, words in (
        ("indices", 5, 999, "cannot be read at rows 0"),
        ("indptr", 5, 0, "indptr does not match"),
    ):
        with h5py.File(path, "a") as root:
            root[f"X/{name}"][at] = value
        with pytest.raises(StreamError, match=words):
            StreamPCA(2).fit(open_stream(path))
    with h5py.File(path, "a") as root:
        root["X"].attrs["encoding-type"] = "csc_matrix"
    with pytest.raises(StreamError, match=r"not stored by rows \(CSR\)"):
        open_stream(path)


@pytest.mark.parametrize("kind", ["eager", "lazy", "pandas"])
def test_frames_of_narwhals(kind):
    narwhals = pytest.importorskip("narwhals")
    frame = lazy_frame()
    if kind == "pandas":
        frame = pytest.importorskip("pandas").DataFrame(ROWS, columns=list("abc"))
    frame = narwhals.from_native(frame.collect() if kind == "eager" else frame)
    pca = StreamPCA(2).fit(frame)
    assert pca.feature_names_in_.tolist() == ["a", "b", "c"]
    answers = pca.transform(frame)
    answers = answers.column() if kind == "lazy" else answers
    np.testing.assert_allclose(answers, StreamPCA(2).fit(ROWS).transform(ROWS), atol=1e-9)
    assert open_stream(frame).column_names == ("a", "b", "c")


class Trajectory:
    """A part of a trajectory of mdtraj."""

    def __init__(self, xyz):
        self.xyz = xyz


class Frames:
    """A trajectory of MDAnalysis, which yields one buffer again and again."""

    def __init__(self, frames):
        self.frames, self.positions = frames, np.empty(frames.shape[1:])

    def __iter__(self):
        for frame in self.frames:
            self.positions[:] = frame
            yield self


@pytest.mark.parametrize("kind", ["arrays", "mdtraj", "MDAnalysis"])
def test_frames_of_a_trajectory_are_rows(kind):
    frames = ROWS.reshape(30, 2, 3)
    source = {
        "arrays": lambda: (frames[k : k + 7] for k in range(0, 30, 7)),
        "mdtraj": lambda: (Trajectory(frames[k : k + 7]) for k in range(0, 30, 7)),
        "MDAnalysis": Frames(frames),
    }[kind]
    pca = StreamPCA(2).fit(open_stream(source))
    assert pca.feature_names_in_.tolist() == ["x0", "y0", "z0", "x1", "y1", "z1"]
    plain = StreamPCA(2).fit(frames.reshape(30, 6))
    np.testing.assert_allclose(pca.components_, plain.components_, atol=1e-9)
    slow = SlowSubspace(1).fit(open_stream([source, source]))  # one sequence per trajectory
    expected = SlowSubspace(1).fit([frames.reshape(30, 6)] * 2)
    np.testing.assert_allclose(slow.components_, expected.components_, atol=1e-9)


@pytest.mark.parametrize("model", [CompetitiveLearning(3), SelfOrganizingMap((2, 3))])
def test_prototypes_learn_from_a_list_of_sequences(model):
    model.set_params(random_state=0)
    parts, weights = [ROWS[:20], ROWS[20:]], np.arange(60.0)
    learned = model.fit(parts, sample_weight=[weights[:20], weights[20:]]).prototypes_
    found = model.transform(parts)
    np.testing.assert_array_equal(learned, model.fit(ROWS, sample_weight=weights).prototypes_)
    for part, expected in zip(found, parts, strict=True):
        np.testing.assert_allclose(part, model.transform(expected))
    with pytest.raises(ValueError, match="sequence 1"):
        model.fit([ROWS, ROWS[:, :2]])


def dated(kind, days):
    """Rows with dates, as a data frame or as a labelled array."""
    times = np.datetime64("2024-01-01") + np.asarray(days)
    rows = np.resize(ROWS, (len(days), 3))
    if kind == "frame":
        pandas = pytest.importorskip("pandas")
        return pandas.DataFrame(rows, index=pandas.DatetimeIndex(times))
    xarray = pytest.importorskip("xarray")
    return xarray.DataArray(rows, {"time": times.astype("M8[ns]")}, ("time", "cell"))


@pytest.mark.parametrize("kind", ["frame", "field"])
def test_dates_out_of_order_and_holes_are_named(kind):
    days = np.arange(60)
    with pytest.raises(ValueError, match=r"dates of X go back at row 1\."):
        SlowSubspace(2).fit(dated(kind, days[::-1]))
    swapped = [*range(30), 31, 30, *range(32, 60)]
    with pytest.raises(ValueError, match=r"dates of X go back at row 31\."):
        SlowSubspace(2).fit([dated(kind, days), dated(kind, swapped)])
    with pytest.warns(UserWarning, match="gap before row 30, where the step is 41 times"):
        SlowSubspace(2).fit(dated(kind, np.where(days < 30, days, days + 40)))
    StreamPCA(2).fit(dated(kind, days[::-1]))


def test_weights_of_sequences_have_the_lengths_of_these():
    parts, weights = [ROWS[:20], ROWS[20:]], np.ones(len(ROWS))
    for wrong in ([weights[20:], weights[:20]], [weights], [weights[:20], weights[21:]]):
        with pytest.raises(ValueError, match="sample_weight must have shape"):
            SlowSubspace().fit(parts, sample_weight=wrong)
