"""Error bars: the jackknife of separate fits, on blocks of rows, pairs and classes."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student
from sklearn.base import clone

from eigenstream import (
    ClassSubspace,
    Dense,
    PairSubspace,
    SlowSubspace,
    StreamPCA,
    lag_path,
    load,
    save,
)
from eigenstream.processes import Autoregressive
from eigenstream.streams import open_stream


def jackknife_of(fits, read):
    """The slow twin: values of separate fits to a standard error."""
    values = np.array([read(fit) for fit in fits])
    return np.sqrt((len(fits) - 1) * values.var(axis=0))


def eigenvalues(fit):
    return fit.eigenvalues_


def walk(seed, n, width=3):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, width)).cumsum(axis=0) @ rng.standard_normal((width, width)) + 5


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 2**16),
    st.lists(st.integers(20, 60), min_size=1, max_size=4),
    st.integers(2, 7),
    st.integers(1, 4),
    st.sampled_from([{"alpha": 0.5}, {"alpha": "auto"}, {"criterion": "ratio"}]),
    st.booleans(),
    st.booleans(),
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_slow_subspaces_equal_separate_fits(seed, lengths, blocks, lag, weights, scale, center):
    runs = [walk(seed + k, n) for k, n in enumerate(lengths)]
    slow = SlowSubspace(2, lag=lag, scale=scale, center=center, solver="dense", **weights)
    found = slow.uncertainty(runs, blocks=blocks)
    assert found.n_blocks == blocks
    whole = SlowSubspace(**slow.get_params()).fit(runs)
    np.testing.assert_allclose(found.eigenvalues.value, whole.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(found.estimator.components_, whole.components_, atol=1e-9)
    edges = np.ceil(np.arange(blocks + 1) * sum(lengths) / blocks - 1e-6).astype(int)
    starts = np.cumsum([0, *lengths])
    fits = []
    for first, last in pairwise(edges):
        rest = []
        for run, start in zip(runs, starts, strict=False):
            for part in (run[: max(first - start, 0)], run[max(last - start, 0) :]):
                rest += [part] if len(part) > lag else []
        fits.append(SlowSubspace(**slow.get_params()).fit(rest))
    for read, own in (
        (eigenvalues, found.eigenvalues),
        (lambda fit: fit.result_.objective, found.objective),
    ):
        expected = np.atleast_1d(jackknife_of(fits, read))
        np.testing.assert_allclose(own.error, expected, rtol=1e-6, atol=1e-9)


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 2**16),
    st.lists(st.integers(8, 60), min_size=2, max_size=6),
    st.integers(1, 50),
)
@pytest.mark.filterwarnings("ignore:the variance between sequences")
def test_sequences_are_left_out(seed, lengths, chunk):
    runs = [walk(seed + k, n) for k, n in enumerate(lengths)]
    slow = SlowSubspace(2, lag=2, criterion="ratio", solver="dense")
    found = slow.uncertainty(runs, blocks="sequences")
    fits = [slow.fit(runs[:k] + runs[k + 1 :]).eigenvalues_ for k in range(len(runs))]
    due = np.sqrt((len(runs) - 1) * np.var(fits, axis=0))
    assert found.n_blocks == len(runs)
    assert found.warning is None
    np.testing.assert_allclose(found.eigenvalues.error, due, rtol=1e-6, atol=1e-9)
    stream = open_stream(runs, chunk_rows=chunk)
    again = slow.uncertainty(stream, blocks="sequences")
    np.testing.assert_allclose(again.eigenvalues.error, due, rtol=1e-6, atol=1e-9)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("n", [100, 640, 1000, 5000, 12_345])
def test_a_stream_of_unknown_length_has_enough_blocks(n):
    X = walk(0, n)
    found = StreamPCA(2).uncertainty(open_stream(iter(np.split(X, [n // 3]))), blocks=5)
    assert min(n // 64, 5) <= found.n_blocks <= 10
    assert found.block_size * found.n_blocks == pytest.approx(n)
    np.testing.assert_allclose(found.eigenvalues.value, StreamPCA(2).fit(X).eigenvalues_)


@pytest.mark.parametrize("model", [StreamPCA(2), SlowSubspace(2)])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_loadings_have_the_errors_of_separate_fits(model):
    rows = walk(3, 400, 4)
    found = model.uncertainty(rows, blocks=4)
    ends = [(rows[: 100 * k], rows[100 * k + 100 :]) for k in range(4)]
    fits = [clone(model).fit([part for part in both if len(part)]) for both in ends]
    whole = found.estimator.components_
    vectors = np.array([one.components_ for one in fits])
    signs = np.sign((vectors * whole).sum(axis=2, keepdims=True))
    error = np.sqrt((len(fits) - 1) * (vectors * signs).var(axis=0))
    np.testing.assert_allclose(found.loadings.value, whole)
    np.testing.assert_allclose(found.loadings.error, error, rtol=1e-6, atol=1e-9)


def test_intervals_are_those_of_student():
    found = StreamPCA(2).uncertainty(np.random.default_rng(0).standard_normal((900, 2)), blocks=9)
    upper = np.log(found.eigenvalues.high / found.eigenvalues.value)
    np.testing.assert_allclose(upper, np.log(found.eigenvalues.value / found.eigenvalues.low))
    near = student.ppf(0.975, 8) * found.eigenvalues.error / found.eigenvalues.value
    np.testing.assert_allclose(upper, near, rtol=0.05)


def test_equal_variances_are_not_distinguishable():
    X = np.random.default_rng(1).standard_normal((4000, 3)) * [2.0, 2.0, 1.0]
    found = StreamPCA(2).uncertainty(X)
    assert found.overlaps[0, 1] > 0.3
    assert found.subspace_angles[1] < 0.1 < 0.3 < found.angles[0]


@pytest.mark.filterwarnings("ignore:Blocks of 100 rows")
def test_a_fit_with_blocks_has_error_bars(tmp_path):
    X = walk(0, 400)
    slow, plain = SlowSubspace(2, lag=2), SlowSubspace(2, lag=2).fit(X)
    due = slow.uncertainty(X, blocks=4)
    for rows in (X, open_stream(X, chunk_rows=57)):
        fitted = clone(slow).fit(rows, blocks=4)
        np.testing.assert_allclose(fitted.transform(X), plain.transform(X), atol=1e-9)
        assert fitted.result_.uncertainty.estimator is fitted
        np.testing.assert_allclose(fitted.result_.uncertainty.angles, due.angles, rtol=1e-6)
    save(fitted, tmp_path / "slow.eigs")
    assert repr(load(tmp_path / "slow.eigs").result_.uncertainty) == repr(
        fitted.result_.uncertainty
    )
    for other in (plain, fitted.merge(fitted), fitted.partial_fit(X)):
        assert other.result_.uncertainty is None


@pytest.mark.parametrize("kind", [ClassSubspace, PairSubspace])
@pytest.mark.parametrize(
    "parameters", [{"n_components": 2, "criterion": "difference", "eta": 2.0}, {}]
)
def test_classes_and_pairs_are_left_out(kind, parameters):
    rng = np.random.default_rng(0)
    if kind is ClassSubspace:
        y = rng.integers(7, size=120)
        X = rng.standard_normal((120, 4)) + rng.standard_normal((7, 4))[y]
        place = {name: k % 3 for k, name in enumerate(dict.fromkeys(y.tolist()))}
        block, size = np.array([place[name] for name in y.tolist()]), 7 / 3
    else:
        X, y = rng.standard_normal((60, 2, 3)), np.resize([1, -1], 60)
        block, size = np.arange(60) // 20, 20
    model = kind(**parameters)
    found = model.uncertainty(X, y, blocks=3)
    if not parameters:  # fits without a block have the parameters that the fit to all has chosen
        fitted = clone(model).fit(X, y)
        chosen = {name: fitted.result_.parameters[name] for name in ("shrinkage", "mixing")}
        scale = False if fitted.scale_ is None else "within"
        model.set_params(n_components=len(fitted.eigenvalues_), scale=scale, **chosen)
    fits = [clone(model).fit(X[block != k], y[block != k]) for k in range(3)]
    np.testing.assert_allclose(found.eigenvalues.error, jackknife_of(fits, eigenvalues))
    stream = open_stream(X.reshape(len(X), -1), chunk_rows=17).with_labels(y)
    again = model.uncertainty(stream, blocks=3)
    np.testing.assert_allclose(again.eigenvalues.error, found.eigenvalues.error)
    assert (found.n_blocks, found.block_size) == (3, pytest.approx(size))
    assert ("classes" if kind is ClassSubspace else "pairs") in repr(found)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("model", [StreamPCA(2), SlowSubspace(2, lag=2)])
def test_short_blocks_are_joined(model):
    X = Autoregressive(np.exp([-1 / 30, -1 / 2]), random_state=0).take(4000)
    found, due = model.uncertainty(X, blocks=20), model.uncertainty(X, blocks=10)
    assert found.n_blocks == 10
    np.testing.assert_allclose(found.eigenvalues.error, due.eigenvalues.error, rtol=1e-6)
    np.testing.assert_allclose(found.angles, due.angles, rtol=1e-6)


@pytest.mark.parametrize("model", [StreamPCA(2), SlowSubspace(2)])
def test_five_short_blocks_raise_a_warning(model):
    process = Autoregressive([0.99, 0.5], random_state=0)
    with pytest.warns(UserWarning, match="shorter than ten time scales"):
        assert model.uncertainty(process.take(1000)).n_blocks == 5


def test_a_lag_without_correlation_gives_no_interval():
    X = np.random.default_rng(0).standard_normal((2000, 2))
    scales = SlowSubspace(2).uncertainty(X).timescales
    assert np.isnan([scales.low, scales.high]).all()


def test_long_results_are_printed_in_ten_lines():
    X = np.random.default_rng(0).standard_normal((400, 12))
    text = repr(StreamPCA(12).uncertainty(0.004 * X, blocks=5))
    assert len(text.splitlines()) == 10
    assert [line.split()[0] for line in text.splitlines()[2:9]] == list("1234567")
    assert text.endswith("and 5 more")


@pytest.mark.parametrize(
    ("how", "blocks", "message"),
    [
        *(
            ({"solver": name}, 20, "not supported")
            for name in ("sketch", "krylov", "flow", "kernel")
        ),
        ({"solver": Dense(forgetting=0.01)}, 20, "forgets"),
        ({}, 1, "blocks must be"),
    ],
)
def test_error_bars_that_are_not_available(how, blocks, message, tmp_path):
    model, rows = StreamPCA(1, **how), walk(0, 100)
    with pytest.raises(ValueError, match=message):
        model.uncertainty(rows, blocks=blocks)
    with pytest.raises(ValueError, match="not both"):
        model.fit(open_stream(rows), blocks=3, checkpoint=tmp_path / "a.eigs")


def test_sequences_are_blocks_at_every_lag():
    rates = np.exp([-1 / 20, -1 / 5])
    parts = [Autoregressive(rates, random_state=k).take(400) for k in range(6)]
    path = lag_path(SlowSubspace(2, criterion="ratio"), parts, [1, 5], blocks="sequences")
    assert path.errors is not None
    for lag, found in zip(path.lags.tolist(), path.errors, strict=True):
        model = SlowSubspace(2, criterion="ratio", lag=lag)
        expected = model.uncertainty(parts, blocks="sequences")
        assert found.n_blocks == 6
        np.testing.assert_allclose(found.eigenvalues.error, expected.eigenvalues.error)
        known = np.isfinite(found.timescales.error)  # others are not resolved
        assert known.any()
        errors = expected.timescales.error[: len(known)]
        np.testing.assert_allclose(found.timescales.error[known], errors[known])
