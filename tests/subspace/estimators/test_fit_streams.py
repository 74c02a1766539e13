"""fit of a stream: the same as of its rows, in the memory of some chunks."""

import numpy as np
import pytest
from sklearn.base import clone

from eigenstream import RBFNetwork, Sketch, SlowSubspace, StreamPCA
from eigenstream.streams import LagEmbedding, open_stream

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
    with pytest.raises(ValueError, match="can be read only once"):
        StreamPCA(2, solver="krylov").fit(open_stream(chunks()))
    with pytest.raises(ValueError, match="can be read only once"):
        SlowSubspace(2, alpha=0.5, solver=Sketch(passes=2)).fit(open_stream(chunks()))


def test_behind_a_map_that_says_what_it_needs():
    network = RBFNetwork(20, gamma="median", random_state=0)
    again = SlowSubspace(2, features=network).fit(open_stream(ROWS, chunk_rows=50))
    assert again.n_samples_seen_ == len(ROWS)  # learned from all rows, in a second pass
    whole = SlowSubspace(2, features=network).fit(ROWS)
    np.testing.assert_array_equal(again.features_.prototypes_, whole.features_.prototypes_)
    np.testing.assert_allclose(again.components_, whole.components_, atol=1e-9)
    once = SlowSubspace(2, features=network).fit(open_stream(iter(np.array_split(ROWS, 9))))
    assert once.n_samples_seen_ == len(ROWS)
    grown = SlowSubspace(2, features=network).partial_fit(ROWS)
    np.testing.assert_allclose(once.components_, grown.components_, atol=1e-9)
    with pytest.raises(ValueError, match=r"has too few rows to fit"):
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
