"""Rows with values far from the median have weight zero."""

import numpy as np
import pytest

from eigenstream import SlowSubspace, StreamPCA, load, save
from eigenstream.processes import Autoregressive
from eigenstream.streams import OmitOutliers, open_stream, steps

SPIKES = [700, 4100, 4101, 5900]


@pytest.fixture(scope="module")
def rows():
    made = Autoregressive(np.linspace(0.95, 0.5, 5), random_state=0).take(6000) + 40.0
    made[SPIKES] += 1e4 * np.random.default_rng(0).standard_normal((4, 5))
    return made


def weights_of(stream):
    return np.concatenate([np.ones(len(c)) if c.weights is None else c.weights for c in stream])


@pytest.mark.parametrize("size", [17, 6000])
@pytest.mark.parametrize("first", [500, 10_000])
def test_limits_are_those_of_the_first_rows(rows, size, first, monkeypatch):
    monkeypatch.setattr(steps, "FIRST_ROWS", first)
    stream = open_stream(rows, chunk_rows=size).through(OmitOutliers())
    assert np.flatnonzero(weights_of(stream) == 0).tolist() == SPIKES
    (step,) = stream.preprocessing.steps
    middle = np.median(rows[:first], axis=0)
    scale = 1.4826 * np.median(np.abs(rows[:first] - middle), axis=0)
    np.testing.assert_allclose(step._high, middle + 20.0 * scale)


@pytest.mark.parametrize("model", [SlowSubspace(2), StreamPCA(2)], ids=repr)
def test_a_fit_is_that_without_the_outliers(rows, model, tmp_path):
    fitted = model.fit(open_stream(rows, chunk_rows=500).through(OmitOutliers()))
    kept = np.ones(len(rows))
    kept[SPIKES] = 0.0
    expected = type(model)(2).fit(rows, sample_weight=kept)
    np.testing.assert_allclose(fitted.components_, expected.components_, atol=1e-9)
    save(fitted, tmp_path / "model.eigs")
    loaded = load(tmp_path / "model.eigs")
    np.testing.assert_allclose(loaded.transform(rows), fitted.transform(rows))
    (step,) = loaded.preprocessing_.steps
    assert weights_of(open_stream(rows).prepared(loaded)).sum() == len(rows) - 4
    assert repr(step) == "OmitOutliers(deviations=20.0)"
    other = type(model)(2).fit(open_stream(rows * 2.0).through(OmitOutliers()))
    with pytest.raises(ValueError, match="fitted to other data"):
        loaded.merge(other)


def test_columns_of_mostly_one_value_have_no_limits():
    rows = np.random.default_rng(0).standard_normal((300, 2))
    rows[:200, 0] = 0.0
    rows[7, 0] = 1e6
    assert weights_of(open_stream(rows).through(OmitOutliers())).all()
