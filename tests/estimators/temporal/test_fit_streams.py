"""fit of a stream: the same as of its rows, in the memory of some chunks."""

import pickle
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from eigenstream import RBFNetwork, SlowSubspace, StreamPCA
from eigenstream.streams import LagEmbedding, QuadraticExpansion, open_stream

ROWS = np.random.default_rng(0).standard_normal((500, 6)).cumsum(axis=0)
LEARNERS = [
    StreamPCA(2),
    SlowSubspace(2),
    SlowSubspace(2, lag=3, alpha=0.7, solver="krylov"),
    SlowSubspace(2, alpha=0.7, solver="flow"),
    SlowSubspace(2, alpha=0.7, solver="sketch"),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_a_stream_is_learned_as_its_rows(learner, tmp_path):
    halves = {"a": ROWS[:200], "b": ROWS[200:]}
    for name, rows in halves.items():
        np.save(tmp_path / f"{name}.npy", rows)
    whole = clone(learner).fit(list(halves.values()))
    for source in (halves, [tmp_path / "a.npy", tmp_path / "b.npy"], str(tmp_path / "*.npy")):
        model = clone(learner).fit(open_stream(source, chunk_rows=37))
        np.testing.assert_allclose(model.components_, whole.components_, atol=1e-9)
        np.testing.assert_allclose(model.mean_, whole.mean_, atol=1e-12)
        assert model.n_samples_seen_ == len(ROWS)
        assert model.transform(ROWS).shape == (500, 2)


def test_what_can_be_read_once(tmp_path):
    def chunks():
        yield from np.array_split(ROWS, 7)

    whole = SlowSubspace(2).fit(ROWS)
    once = SlowSubspace(2).fit(open_stream(chunks()))
    np.testing.assert_allclose(once.components_, whole.components_, atol=1e-9)
    with pytest.raises(ValueError, match="can be read once only"):
        StreamPCA(2, solver="krylov").fit(open_stream(chunks()))
    with pytest.raises(ValueError, match="can be read once only"):
        SlowSubspace(2, alpha=0.5, solver="sketch").fit(open_stream(chunks()), passes=2)


def test_further_passes_over_what_can_be_read_once_are_refused_before_the_first():
    read = []

    def chunks():
        for start in range(0, len(ROWS), 100):
            read.append(start)
            yield ROWS[start : start + 100]

    stream = open_stream(chunks())
    read.clear()  # what opening has looked at
    with pytest.raises(ValueError, match=r"passes=2 reads .* can be read once only"):
        SlowSubspace(2, alpha=0.5, solver="sketch").fit(stream, passes=2)
    assert not read
    again = SlowSubspace(2, alpha=0.5, solver="sketch").fit(stream)  # nothing has been used up
    assert again.n_samples_seen_ == len(ROWS)


def test_behind_a_map_that_says_what_it_needs():
    network = RBFNetwork(20, gamma="median", random_state=0)
    again = SlowSubspace(2, features=network).fit(open_stream(ROWS, chunk_rows=50))
    assert again.n_samples_seen_ == len(ROWS)  # learned from all rows, in a second pass
    whole = SlowSubspace(2, features=network).fit(ROWS)
    np.testing.assert_array_equal(again.features_.prototypes_, whole.features_.prototypes_)
    np.testing.assert_allclose(again.components_, whole.components_, atol=1e-9)
    once = SlowSubspace(2, features=network).fit(open_stream(iter(np.array_split(ROWS, 9))))
    assert once.n_samples_seen_ == len(ROWS) - 20  # the map has used the first ones up
    grown = SlowSubspace(2, features=network).partial_fit(ROWS)
    np.testing.assert_allclose(once.components_, grown.components_, atol=1e-9)
    with pytest.raises(ValueError, match=r"ends before .* has learned enough"):
        SlowSubspace(2, features=network).fit(open_stream(iter([ROWS[:10]])))


def test_names_preprocessing_and_missing_values(tmp_path):
    path = tmp_path / "weather.csv"
    lines = ["temperature,wind", *(f"{a},{b}" for a, b in ROWS[:60, :2])]
    lines[30] = "nan,3.0"
    path.write_text("\n".join(lines))
    with pytest.raises(ValueError, match=r"weather.csv.*temperature"):
        StreamPCA(1).fit(open_stream(path))
    model = StreamPCA(1).fit(open_stream(path, missing="skip"))
    assert model.n_samples_skipped_ == 1
    assert model.n_samples_seen_ == 59
    assert list(model.feature_names_in_) == ["temperature", "wind"]
    delayed = open_stream(ROWS).through(LagEmbedding(3))
    assert SlowSubspace(2).fit(delayed).n_features_in_ == 18


def test_refusals(tmp_path):
    with pytest.raises(ValueError, match="leave sample_weight out"):
        StreamPCA(1).fit(open_stream(ROWS), sample_weight=np.ones(500))
    with pytest.raises(TypeError, match="open_stream"):
        StreamPCA(1).fit(str(tmp_path / "big.npy"))
    with pytest.raises(TypeError, match="open_stream"):
        StreamPCA(1).fit(row for row in ROWS)
    model = StreamPCA(1).fit(ROWS)
    before = model.components_
    with pytest.raises(ValueError, match="gives no chunk"):
        model.fit(open_stream(iter([])))
    np.testing.assert_array_equal(model.components_, before)
    assert model.n_features_in_ == 6


class Between:
    """Stands in front of a stream and spoils a value of every chunk, in a copy or in place."""

    rereadable = True

    def __init__(self, stream, copies):
        self.stream, self.copies = stream, copies

    def __getattr__(self, name):
        return getattr(self.stream, name)

    def chunks(self, **how):
        for chunk in self.stream.chunks(**how):
            rows = chunk.rows.copy() if self.copies else chunk.rows
            rows[3, 1] = np.nan
            yield replace(chunk, rows=rows) if self.copies else chunk


class Spoilt(type(open_stream(ROWS))):
    """A stream whose chunks are others than it has looked at."""

    def chunks(self, *args, **how):
        for chunk in super().chunks(*args, **how):
            yield replace(chunk, rows=np.where(chunk.rows > 0, chunk.rows, np.inf))


@pytest.mark.parametrize("learner", [StreamPCA(2), SlowSubspace(2), StreamPCA(2, solver="sketch")])
@pytest.mark.parametrize("copies", [True, False])
def test_what_the_stream_has_not_looked_at_is_looked_at(learner, copies):
    stream = open_stream(ROWS.copy(), chunk_rows=50)
    with pytest.raises(ValueError, match="contains NaN at row 3, column 1"):
        clone(learner).fit(Between(stream, copies))


@pytest.mark.parametrize("learner", [StreamPCA(2), SlowSubspace(2)])
def test_what_steps_make_of_rows_is_looked_at(learner):
    rows = ROWS.copy()
    rows[70, 4] = 1e120  # its square is not infinite, and the square of that is
    with pytest.raises(ValueError, match=r"as large as 1e\+240"):
        clone(learner).fit(open_stream(rows, chunk_rows=50).through(QuadraticExpansion()))
    with pytest.raises(ValueError, match="contains infinity at row"):
        clone(learner).fit(open_stream(ROWS).mapped(lambda rows: np.where(rows > 0, rows, np.inf)))
    plain = open_stream(ROWS)
    with pytest.raises(ValueError, match="contains infinity at row"):
        clone(learner).fit(Spoilt(plain._tables, plain._plan))


def test_a_chunk_says_whether_it_has_been_looked_at():
    (chunk,) = open_stream(ROWS)
    assert chunk.looked_at
    assert deepcopy(chunk).looked_at
    assert pickle.loads(pickle.dumps(chunk)).looked_at
    assert not replace(chunk, rows=chunk.rows).looked_at
    assert not next(open_stream(ROWS).through(LagEmbedding(2)).chunks()).looked_at
