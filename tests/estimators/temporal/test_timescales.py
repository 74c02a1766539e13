"""Autocorrelations, the time scales that they imply, and several lags from one pass."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import eigenstream
import oracles
from eigenstream import RBFNetwork, SlowSubspace, StreamPCA, lag_path, open_stream, plotting
from eigenstream.processes import Autoregressive

ROWS = oracles.slow_sources(m=200)
RUNS = [ROWS[:60], ROWS[60:75], ROWS[75:]]
LAGS = (1, 3, 10)
#: Of three sources, in rows.
SCALES = np.array([40.0, 12.0, 3.0])


def correlations(slow, rows):
    """What a newcomer would write: of every feature, now and so many rows ago."""
    features = slow.transform(rows)
    now, velocity = features[slow.lag :], features[slow.lag :] - features[: -slow.lag]
    about = now.mean(axis=0) if slow.center else 0.0
    return 1 - (velocity**2).mean(axis=0) / (2 * ((now - about) ** 2).mean(axis=0))


@pytest.mark.parametrize(
    "slow",
    [
        SlowSubspace(3),
        SlowSubspace(3, lag=7),
        SlowSubspace(2, alpha=0.9, lag=2, center=False),
        SlowSubspace(3, criterion="ratio", lag=3),
        SlowSubspace(3, scale=True),
        SlowSubspace(2, features=RBFNetwork(20, gamma="median", random_state=0)),
    ],
    ids=repr,
)
def test_autocorrelations_are_those_of_the_features(slow):
    slow.fit(ROWS)
    np.testing.assert_allclose(slow.autocorrelations_, correlations(slow, ROWS), atol=1e-9)
    rho = slow.autocorrelations_
    positive = rho > 0
    expected = -slow.lag / np.log(rho[positive])
    np.testing.assert_allclose(slow.timescales_[positive], expected)
    assert (slow.timescales_[~positive] == 0).all()


def test_weights_count_as_copies():
    weights = np.array([2.0] * 60 + [1.0] * 140)
    parts = [ROWS[:60], ROWS[60:]]
    weighed = SlowSubspace(2).fit(parts, sample_weight=[weights[:60], weights[60:]])
    copied = SlowSubspace(2).fit([ROWS[:60], ROWS[:60], ROWS[60:]])
    np.testing.assert_allclose(weighed.autocorrelations_, copied.autocorrelations_, atol=1e-9)


@pytest.mark.parametrize("solver", ["flow", "sketch"])
def test_without_scatters_it_says_what_to_do(solver):
    slow = SlowSubspace(2, alpha=0.9, solver=solver, random_state=0).fit(ROWS)
    for name in ("autocorrelations_", "timescales_"):
        with pytest.raises(AttributeError, match=r"timescales\(X\).*solver='dense'"):
            getattr(slow, name)
    np.testing.assert_allclose(slow.autocorrelations(ROWS), correlations(slow, ROWS), atol=1e-9)


@pytest.mark.parametrize("lag", [1, 7])
def test_a_krylov_fit_reads_again_for_them(lag, tmp_path):
    slow = SlowSubspace(2, alpha=0.9, lag=lag, solver="krylov").fit(ROWS)
    np.testing.assert_allclose(slow.autocorrelations_, correlations(slow, ROWS), atol=1e-9)
    np.testing.assert_allclose(slow.timescales_, slow.timescales(ROWS), rtol=1e-6)
    np.save(tmp_path / "rows.npy", ROWS)
    streamed = SlowSubspace(2, alpha=0.9, lag=lag, solver="krylov")
    streamed.fit(open_stream(tmp_path / "rows.npy", chunk_rows=33))
    np.testing.assert_allclose(streamed.autocorrelations_, slow.autocorrelations_, atol=1e-9)
    eigenstream.save(slow, tmp_path / "slow.eigs")
    again = eigenstream.load(tmp_path / "slow.eigs")
    np.testing.assert_array_equal(again.timescales_, slow.timescales_)


@pytest.mark.parametrize(
    "slow",
    [
        SlowSubspace(3),
        SlowSubspace(3, criterion="ratio", lag=3),
        SlowSubspace(3, scale=True, center=False, alpha=0.9),
        SlowSubspace(2, features=RBFNetwork(20, gamma="median", random_state=0)),
    ],
    ids=repr,
)
def test_of_other_rows_and_at_other_lags(slow):
    slow.fit(ROWS[:120])
    np.testing.assert_allclose(slow.autocorrelations(ROWS[:120]), slow.autocorrelations_, atol=1e-9)
    longer = SlowSubspace(lag=9, center=slow.center)
    longer.transform = slow.transform
    other = slow.autocorrelations(ROWS[120:], lag=9)
    np.testing.assert_allclose(other, correlations(longer, ROWS[120:]), atol=1e-9)
    positive = other > 0
    np.testing.assert_allclose(
        slow.timescales(ROWS[120:], lag=9)[positive], -9 / np.log(other[positive])
    )
    runs = slow.autocorrelations(RUNS)
    named = {"a": RUNS[0], "b": RUNS[1], "c": RUNS[2]}
    for stream in (open_stream(RUNS, chunk_rows=11), open_stream(named)):
        np.testing.assert_allclose(slow.autocorrelations(stream), runs, atol=1e-9)
    assert not np.allclose(runs, slow.autocorrelations(ROWS), atol=1e-9)


def test_rows_that_have_nothing_to_say_of_time_scales():
    slow = SlowSubspace(2, missing="skip").fit(ROWS)
    holes = ROWS.copy()
    holes[5:20, 0] = np.nan
    left = slow.autocorrelations(holes)
    skipped = slow.autocorrelations(open_stream(holes, missing="skip"))
    np.testing.assert_allclose(left, skipped, atol=1e-12)
    assert np.isfinite(left).all()
    with pytest.raises(ValueError, match="no two rows of these are lag=1 apart"):
        slow.timescales(ROWS[:1])
    with pytest.raises(ValueError, match="lag must be"):
        slow.timescales(ROWS, lag=0)
    with pytest.raises(ValueError, match="rows of 2 features"):
        slow.timescales(open_stream(ROWS[:, :2]))
    with pytest.raises(NotFittedError):
        SlowSubspace().timescales(ROWS)


def test_limits():
    """What never changes, what swings back, and what has no variance at all."""
    still = SlowSubspace(1, alpha=0.5).fit([np.zeros((9, 1)), np.ones((9, 1))])
    assert (still.autocorrelations_, still.timescales_) == (1.0, np.inf)
    swings = np.column_stack([np.tile([1.0, -1.0], 20), np.zeros(40)])
    with pytest.warns(UserWarning, match="eigenvalues are positive"):
        swinging = SlowSubspace(2, alpha=0.9).fit(swings)
    both = np.abs(swinging.components_).argmax(axis=1)
    # The variance is that of 39 rows, whose mean is no zero: a little below -1, and cut there.
    assert swinging.autocorrelations_[both == 0].tolist() == [-1.0]
    assert swinging.autocorrelations_[both == 1].tolist() == [0.0]
    assert swinging.timescales_.tolist() == [0.0, 0.0]
    for factor in (1e-100, 1e100):
        tiny = SlowSubspace(2).fit(factor * ROWS)
        np.testing.assert_allclose(tiny.timescales_, SlowSubspace(2).fit(ROWS).timescales_)
    with pytest.warns(UserWarning, match="eigenvalues are positive"):
        low = SlowSubspace(3, alpha=0.9).fit(np.repeat(ROWS[:, :1], 3, axis=1))
    assert np.isfinite(low.timescales_).all()


def test_time_scales_of_sources_that_are_known():
    """Within five standard errors of an autocorrelation, by Bartlett's formula for AR(1)."""
    a, n = np.exp(-1 / SCALES), 100_000
    rows = Autoregressive(a, n_features=6, noise=0.0, random_state=0).take(n)
    # Six features of three sources: what is left over has no variance.
    path = lag_path(SlowSubspace(3, criterion="ratio"), rows, LAGS)
    for lag, found in zip(path.lags, path.timescales, strict=True):
        square = a ** (2 * lag)
        error = (1 + a**2) * (1 - square) / (1 - a**2) - 2 * lag * square
        error = np.sqrt(error / n) * SCALES**2 / (lag * a**lag)
        assert (np.abs(found - SCALES) < 5 * error).all(), lag


@given(st.integers(1, 40), st.sampled_from([SlowSubspace(2), SlowSubspace(2, criterion="ratio")]))
def test_several_lags_equal_separate_fits(chunk_rows, slow):
    """Whatever the chunks; sequences shorter than a lag teach it nothing, as in a fit."""
    stream = open_stream(RUNS, chunk_rows=chunk_rows)
    path = lag_path(slow, stream, LAGS)
    for k, lag in enumerate(LAGS):
        alone = SlowSubspace(2, lag=lag, criterion=slow.criterion).fit(RUNS)
        np.testing.assert_allclose(path.estimators[k].components_, alone.components_, atol=1e-9)
        np.testing.assert_allclose(path.timescales[k], alone.timescales_, rtol=1e-9)
        np.testing.assert_allclose(path.autocorrelations[k], alone.autocorrelations_, atol=1e-9)
        np.testing.assert_allclose(path.eigenvalues[k], alone.eigenvalues_, rtol=1e-9)
        if path.alphas is not None:
            assert path.alphas[k] == pytest.approx(alone.alpha_, rel=1e-9)
    assert (path.alphas is None) == (slow.criterion == "ratio")


def test_one_pass_is_enough():
    """Rows that can be read once, behind a feature map and with holes in them."""
    parts = np.array_split(np.where(np.arange(200)[:, None] == 50, np.nan, ROWS), 13)
    stream = open_stream(iter(parts), missing="skip")
    path = lag_path(SlowSubspace(2), stream, [5, 1, 5])
    assert path.lags.tolist() == [1, 5]
    assert [one.n_samples_skipped_ for one in path.estimators] == [1, 1]
    assert path.estimators[1].transform(ROWS).shape == (200, 2)
    mapped = lag_path(SlowSubspace(2, features=RBFNetwork(9, random_state=0)), ROWS, LAGS)
    alone = SlowSubspace(2, lag=3, features=RBFNetwork(9, random_state=0)).fit(ROWS)
    np.testing.assert_allclose(mapped.timescales[1], alone.timescales_, rtol=1e-9)
    frame = pytest.importorskip("pandas").DataFrame(ROWS, columns=list("abcdefgh")[: ROWS.shape[1]])
    named = lag_path(SlowSubspace(2), frame, [1, 2])
    assert [list(one.feature_names_in_) for one in named.estimators] == [list(frame)] * 2


def test_what_is_refused():
    slow = SlowSubspace(2, lag=4)
    for lags, words in (
        ([], "empty"),
        ([0], "at least 1"),
        ("12", "whole number"),
        (None, "whole"),
    ):
        with pytest.raises((ValueError, TypeError), match=words):
            lag_path(slow, ROWS, lags)
    with pytest.raises(TypeError, match="SlowSubspace at each lag"):
        lag_path(StreamPCA(2), ROWS, [1])
    with pytest.raises(ValueError, match="lag_path is not for solver='krylov'"):
        lag_path(SlowSubspace(2, solver="krylov"), ROWS, [1])
    with pytest.raises(ValueError, match="at least 201 rows"):
        lag_path(slow, ROWS, [1, 200])
    with pytest.raises(ValueError, match="NaN"):
        lag_path(slow, np.where(ROWS > 1, np.nan, ROWS), [1])
    assert slow.lag == 4
    assert not hasattr(slow, "n_features_in_")


def test_as_the_implied_time_scales_of_tica():
    """deeptime's eigenvalues, estimated both ways in time, differ by what the ends make."""
    decomposition = pytest.importorskip("deeptime.decomposition")
    lag, rows = 4, Autoregressive(np.exp(-1 / SCALES), random_state=1).take(20_000)
    tica = decomposition.TICA(lagtime=lag, dim=3).fit_fetch(rows)
    ours = SlowSubspace(3, criterion="ratio", lag=lag).fit(rows)
    # The variance is of the rows with a past alone: lag rows of 20000 are not in it.
    np.testing.assert_allclose(ours.timescales_, tica.timescales(lagtime=lag), rtol=0.01)


def test_the_picture_leaves_out_what_has_no_place_on_it():
    path = lag_path(SlowSubspace(3), oracles.slow_sources(m=400), (1, 2, 5))
    ax = plotting.lags(path)
    assert len(ax.lines) == 3
    for line in ax.lines:
        assert (np.asarray(line.get_ydata()) > 0).all()
    assert ax.get_ylim()[0] > 0
