"""Time scales from rows with gaps: the likelihood of the present values."""

import numpy as np
import pytest
from scipy.linalg import eigvalsh
from sklearn.base import clone

import eigenstream
from eigenstream import DynamicSubspace, SlowSubspace, StreamPCA
from eigenstream.processes import Autoregressive
from eigenstream.subspace.sums import completion, gap_moments
from eigenstream.subspace.sums.completion import Gaussian, IncompleteRows

SOURCES = np.exp(-1.0 / np.array([100.0, 20.0, 5.0, 1.0]))
MODELS = (
    SlowSubspace(2, criterion="ratio"),
    SlowSubspace(2, criterion="ratio", center=False),
    SlowSubspace(2),
    DynamicSubspace(None),
)


def recording(seed, n=20_000, width=4):
    rng = np.random.default_rng(seed)
    rates = np.r_[SOURCES, np.full(width - 4, np.exp(-1.0))]
    u, _, v = np.linalg.svd(rng.normal(size=(width, width)))
    mixing = u @ np.diag(np.geomspace(1.0, 0.2, width)) @ v
    rows = Autoregressive(rates, random_state=seed).take(n) @ mixing
    return rng, rows


def lossy(rng, rows, kind):
    gaps = rows.copy()
    if kind == "bursts":
        for column in gaps.T:
            for first in np.flatnonzero(rng.random(len(rows)) < 0.1 / 60):
                column[first : first + 60] = np.nan
    elif kind == "sensor":
        gaps[rng.random(len(rows)) < 0.5, 0] = np.nan
    else:
        gaps[rng.random(gaps.shape) < 0.1] = np.nan
    return gaps


def available(model):
    return clone(model).set_params(missing="available")


@pytest.mark.parametrize("kind", ["scattered", "bursts", "sensor"])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_time_scales_agree_with_those_of_complete_rows(model, kind):
    ratios = []
    for seed in range(6):
        rng, rows = recording(seed)
        whole = clone(model).fit(rows).timescales_[:2]
        ratios.append(available(model).fit(lossy(rng, rows, kind)).timescales_[:2] / whole)
    assert np.abs(np.median(ratios, axis=0) - 1.0).max() < 0.03


@pytest.mark.parametrize("model", [MODELS[0], MODELS[-1]], ids=repr)
@pytest.mark.parametrize("center", [True, "sequences", False])
def test_first_rows_of_weight_zero_are_left_out(model, center):
    rng, rows = recording(3, n=2_000)
    gaps, weights = lossy(rng, rows, "scattered"), np.ones(2_000)
    weights[:40] = 0.0
    model = available(model).set_params(center=center)
    whole = clone(model).fit(gaps, sample_weight=weights)
    assert np.isfinite(whole.timescales_).all()
    stepwise = model.partial_fit(gaps[:20], sample_weight=weights[:20])
    stepwise.partial_fit(gaps[20:], sample_weight=weights[20:])
    np.testing.assert_allclose(stepwise.timescales_, whole.timescales_, rtol=1e-8)


def test_chunks_merges_and_files_change_nothing(tmp_path):
    rng, rows = recording(1, n=3_000)
    gaps = lossy(rng, rows, "scattered")
    for model in MODELS:
        whole = available(model).fit(gaps).timescales_
        parts = [available(model).partial_fit(part) for part in np.split(gaps, [700, 2_000])]
        np.testing.assert_allclose(
            parts[0].merge(parts[1]).merge(parts[2]).timescales_, whole, rtol=1e-8
        )
        eigenstream.save(parts[0], tmp_path / "part")
        again = eigenstream.load(tmp_path / "part")
        for chunk in np.split(gaps[700:], range(50, 2_300, 50)):
            again.partial_fit(chunk)
        np.testing.assert_allclose(again.timescales_, whole, rtol=1e-8)


@pytest.mark.parametrize("center", [True, "sequences"])
def test_rows_beyond_the_bound_are_replaced_by_their_expected_products(monkeypatch, center):
    rng, rows = recording(2)
    gaps = lossy(rng, rows, "scattered")
    model = available(MODELS[0]).set_params(center=center)
    whole = clone(model).fit(gaps).timescales_
    monkeypatch.setattr(gap_moments, "STORED_VALUES", 20_000)
    bounded = clone(model).fit(gaps).timescales_
    np.testing.assert_allclose(bounded, whole, rtol=0.05)
    for chunk in np.split(gaps, 40):
        model.partial_fit(chunk)
    assert model._fitted_learner().sums.rows.size <= 20_000
    np.testing.assert_allclose(model.timescales_, bounded, rtol=1e-6)


@pytest.mark.parametrize("model", [MODELS[0], MODELS[2], MODELS[3]], ids=repr)
def test_sequences_with_their_own_means(model):
    ratios = []
    for seed in range(4):
        rng, rows = recording(seed)
        sequences = np.split(rows, [3_000, 6_500, 12_000])
        whole = clone(model).set_params(center="sequences").fit(sequences).timescales_[:2]
        gaps = [lossy(rng, part + 10.0 * rng.normal(size=4), "scattered") for part in sequences]
        found = available(model).set_params(center="sequences").fit(gaps).timescales_[:2]
        ratios.append(found / whole)
    assert np.abs(np.median(ratios, axis=0) - 1.0).max() < 0.03


@pytest.mark.parametrize("lag", [1, 5])
def test_earlier_and_later_rows_differ_by_the_first_and_last_rows_only(lag):
    rng, rows = recording(6, n=1_500)
    rows += np.linspace(0.0, 3.0, 1_500)[:, None] ** 2
    gaps = lossy(rng, rows, "scattered")
    gaps[:lag], gaps[-lag:] = rows[:lag], rows[-lag:]
    whole, found = (
        DynamicSubspace(None, lag=lag, missing=missing).fit(values).lagged_covariances_
        for missing, values in (("raise", rows), ("available", gaps))
    )
    size = np.abs(whole.c00 - whole.c11).max()
    np.testing.assert_allclose(found.c00 - found.c11, whole.c00 - whole.c11, atol=0.03 * size)
    np.testing.assert_allclose(
        found.mean1 - found.mean0, whole.mean1 - whole.mean0, rtol=1e-6, atol=1e-12
    )


def test_the_compiled_loop_equals_plain_inverses(monkeypatch):
    rng, rows = recording(4, n=500)
    gaps = lossy(rng, rows, "scattered")
    present = IncompleteRows(gaps, rng.random(500), np.repeat([0, 2], 250), np.ones(4, bool))
    model = Gaussian(rng.normal(size=(3, 4)), np.cov(rows.T))
    compiled = [values.copy() for values in present.completed(model)]
    monkeypatch.setattr(completion, "MOST_COMPILED", 0)
    plain = IncompleteRows(gaps, present.weights, present.sequences, np.ones(4, bool))
    for found, expected in zip(compiled, plain.completed(model), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_steps_end_at_the_covariance_of_greatest_likelihood():
    rng, rows = recording(5, n=2_000)
    gaps = lossy(rng, rows, "scattered")
    model = (
        StreamPCA(4, missing="available")
        .fit(gaps)
        ._fitted_learner()
        .with_all_rows()
        .sums.completion()
    )

    def likelihood(covariance):
        total = 0.0
        for row in gaps:
            here = np.isfinite(row)
            u, own = (row - model.means[0])[here], covariance[np.ix_(here, here)]
            total -= np.linalg.slogdet(own)[1] + u @ np.linalg.solve(own, u) if len(u) else 0.0
        return total

    best = likelihood(model.covariance)
    for _ in range(6):
        turn = np.eye(4) + 0.02 * rng.normal(size=(4, 4))
        assert likelihood(turn @ model.covariance @ turn.T) < best


def test_intervals_contain_the_time_scale():
    inside = []
    for seed in range(20):
        rng, rows = recording(seed, n=10_000)
        bars = available(MODELS[0]).fit(lossy(rng, rows, "scattered"), blocks=20)
        scales = bars.result_.uncertainty.timescales
        inside.append((scales.low[:2] <= [100, 20]) & (scales.high[:2] >= [100, 20]))
    assert np.mean(inside) > 0.85


@pytest.mark.filterwarnings("ignore:Blocks of", "ignore:The covariance of the rows")
def test_error_bars_of_a_column_with_values_in_one_block_only():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 9)) * np.linspace(3.0, 1.0, 9)
    rows[:, 8] = np.nan
    complete = StreamPCA(2).fit(rows[:, :8], blocks=10).result_.uncertainty
    rows[30:34, 8] = rng.normal(size=4)
    bars = StreamPCA(2, missing="available").fit(rows, blocks=10).result_.uncertainty
    assert bars.n_blocks == complete.n_blocks
    # The likelihood with the few values moves the errors little.
    ratio = bars.eigenvalues.error / complete.eigenvalues.error
    assert np.all((ratio > 0.5) & (ratio < 2.0))


def test_rows_that_lack_many_columns_have_the_conditional_means_and_covariances():
    rng, width = np.random.default_rng(7), 50
    mixing = rng.standard_normal((width, width))
    S, mean = mixing @ mixing.T / width + np.eye(width), rng.standard_normal(width)
    rows, weights = rng.standard_normal((12, width)), rng.random(12)
    rows[rng.random(rows.shape) < np.linspace(0.1, 0.95, 12)[:, None]] = np.nan
    rows[5] = np.where(np.isnan(rows[4]), np.nan, rows[5])  # of one pattern
    incomplete = IncompleteRows(rows, weights, np.zeros(12, int), np.ones(width, bool))
    assert len(incomplete.small)
    assert len(incomplete.large)
    filled, extra, _ = incomplete.completed(Gaussian(mean[None], S))
    expected = np.zeros_like(S)
    for row, weight, own in zip(rows, weights, filled, strict=True):
        lost = np.isnan(row)
        toward = np.linalg.solve(S[np.ix_(~lost, ~lost)], S[np.ix_(~lost, lost)])
        np.testing.assert_allclose(own[~lost], (row - mean)[~lost])
        np.testing.assert_allclose(own[lost], (row - mean)[~lost] @ toward, atol=1e-6)
        covariance = S[np.ix_(lost, lost)] - S[np.ix_(lost, ~lost)] @ toward
        expected[np.ix_(lost, lost)] += weight * covariance
    np.testing.assert_allclose(extra, expected, atol=1e-6)


def test_the_metric_compares_covariances_as_generalised_eigenvalues_do():
    rng = np.random.default_rng(8)
    own, other = (m @ m.T for m in rng.standard_normal((2, 6, 6)))
    metric = completion.Metric(own)
    ratios = eigvalsh(other, own)
    np.testing.assert_allclose(eigvalsh(metric.relative(other)), ratios, rtol=1e-4)
    assert metric.exceeded(other, 0.99 * ratios[0])
    assert not metric.exceeded(other, 1.01 * ratios[0])
