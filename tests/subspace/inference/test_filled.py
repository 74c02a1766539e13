"""Missing values predicted from the rows before and after, compared with a plain twin."""

import numpy as np
import pytest

import oracles
from eigenstream import DynamicSubspace, SlowSubspace, StreamPCA, open_stream
from eigenstream.streams import Weighting
from eigenstream.subspace import filled

ROWS = oracles.slow_sources(m=400) + 3.0
RNG = np.random.default_rng(0)
GAPS = np.where(RNG.random(ROWS.shape) < 0.2, np.nan, ROWS)
GAPS[100:104] = np.nan
LAG = 2
MODELS = [
    SlowSubspace(2, lag=LAG, criterion="ratio", missing="available"),
    DynamicSubspace(2, lag=LAG, missing="available"),
    StreamPCA(2, missing="available"),
]


def plain(rows, gaps, lag):
    """The conditional means of a Gaussian Markov process with the covariances of complete rows."""
    past, now = (part - part.mean(axis=0) for part in (rows[:-lag], rows[lag:]))
    C = (past.T @ past + now.T @ now) / 2.0 / len(now)
    c01 = past.T @ now / len(now)
    far = c01 @ np.linalg.solve(C, c01)
    S = np.block([[C, c01, far], [c01.T, C, c01], [far.T, c01.T, C]])
    none, complete = np.full((lag, gaps.shape[1]), np.nan), gaps.copy()
    before, after = np.vstack([none, gaps[:-lag]]), np.vstack([gaps[lag:], none])
    mean = rows[lag:].mean(axis=0)
    for t, triple in enumerate(np.hstack([before, gaps, after]) - np.tile(mean, 3)):
        known = np.isfinite(triple)
        if known.any():
            means = S[:, known] @ np.linalg.solve(S[np.ix_(known, known)], triple[known])
            own = np.split(means, 3)[1] + mean
            complete[t] = np.where(np.isfinite(gaps[t]), gaps[t], own)
    return complete


def test_values_are_those_of_a_plain_twin():
    model = MODELS[0].fit(ROWS)
    expected = plain(ROWS, GAPS, LAG)
    np.testing.assert_allclose(filled(model, GAPS), expected, rtol=1e-5, atol=1e-5)
    assert np.isnan(expected).all(axis=1).sum() == 0  # rows 100 to 103 have one neighbour each
    longer = GAPS.copy()
    longer[100:106] = np.nan
    lost = np.flatnonzero(np.isnan(filled(model, longer)).any(axis=1))
    assert lost.tolist() == [102, 103]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_sequences_units_and_complete_rows(model):
    model.fit(GAPS)
    whole = filled(model, GAPS)
    present = np.isfinite(GAPS)
    np.testing.assert_array_equal(whole[present], GAPS[present])
    np.testing.assert_array_equal(filled(model, ROWS), ROWS)
    parts = filled(model, np.split(GAPS, [150]))
    assert [part.shape for part in parts] == [(150, 8), (250, 8)]
    np.testing.assert_array_equal(parts[1], filled(model, GAPS[150:]))
    units = 10.0 ** np.array([-6, 0, 3, 6, -3, 0, 2, -1])
    other = filled(model.fit(GAPS * units), GAPS * units)
    np.testing.assert_allclose(other / units, whole, rtol=1e-5, atol=1e-5)


def test_neighbours_make_better_features():
    model = SlowSubspace(2, criterion="ratio", missing="available").fit(GAPS)
    features = model.transform(ROWS)
    own, beside = (
        np.nanmean((model.transform(rows) - features) ** 2) for rows in (GAPS, filled(model, GAPS))
    )
    assert beside < 0.5 * own


def test_columns_never_seen_stay_missing():
    rows = np.insert(GAPS, 1, np.nan, axis=1)
    model = SlowSubspace(2, missing="available").fit(rows)
    complete = filled(model, rows)
    assert np.isnan(complete[:, 1]).all()
    other = filled(SlowSubspace(2, missing="available").fit(GAPS), GAPS)
    # The steps of the likelihood start from other rows.
    np.testing.assert_allclose(np.delete(complete, 1, axis=1), other, atol=0.05)


def test_what_cannot_be_filled():
    model = SlowSubspace(2, missing="available").fit(GAPS)
    with pytest.raises(TypeError, match="whole sequences"):
        filled(model, open_stream(GAPS))
    with pytest.raises(ValueError, match="missing='available'"):
        filled(SlowSubspace(2).fit(ROWS), GAPS)
    stream = open_stream(ROWS).through(Weighting(np.arange(1.0, 9.0)))
    model = SlowSubspace(2, missing="available").fit(stream)
    with pytest.raises(ValueError, match="preprocessing steps"):
        filled(model, GAPS)
