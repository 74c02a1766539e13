"""Sequences with offsets: ``center="sequences"``, and the warning without it."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone

from eigenstream import DynamicSubspace, SlowSubspace, StreamPCA, open_stream
from eigenstream.processes import Autoregressive
from eigenstream.subspace import autocorrelations
from eigenstream.subspace.watchers import values


def runs_with_offsets(n_runs=20, offset=3.0):
    """Return runs of two slow sources in 10 noisy columns with random offsets, and the sources."""
    rng = np.random.default_rng(1)
    mixing, decays = rng.normal(size=(2, 10)), np.exp([-1 / 30, -1 / 10])
    runs, sources = [], []
    for _ in range(n_runs):
        s = np.zeros((400, 2))
        for t in range(1, 400):
            s[t] = decays * s[t - 1] + np.sqrt(1.0 - decays**2) * rng.normal(size=2)
        sources.append(s - s.mean(axis=0))
        runs.append(s @ mixing + 0.5 * rng.normal(size=(400, 10)) + offset * rng.normal(size=10))
    return runs, sources


RUNS, SOURCES = runs_with_offsets()


def explained(model):
    """Return the share of the sources that the features explain, about the mean of each run."""
    features = [model.transform(run) for run in RUNS]
    z, s = np.concatenate([one - one.mean(axis=0) for one in features]), np.concatenate(SOURCES)
    rest = s - z @ np.linalg.lstsq(z, s, rcond=None)[0]
    return 1.0 - rest.var() / s.var()


def test_the_variance_about_each_mean_finds_the_sources():
    with pytest.warns(UserWarning, match=r"variance between sequences is 6\.6 times"):
        one_mean = SlowSubspace(2, criterion="ratio").fit(RUNS)
    with warnings.catch_warnings(action="error"):
        own_means = SlowSubspace(2, criterion="ratio", center="sequences").fit(RUNS)
    assert explained(own_means) > 0.85
    assert explained(own_means) > explained(one_mean) + 0.2
    assert_allclose(own_means.mean_, np.concatenate([run[1:] for run in RUNS]).mean(axis=0))
    z = own_means.transform(RUNS)
    assert_allclose(z[3], (RUNS[3] - own_means.mean_) @ own_means.components_.T)
    centred = [run - run[1:].mean(axis=0) for run in RUNS]
    zero_means = SlowSubspace(2, criterion="ratio").fit(centred)
    assert_allclose(own_means.components_, zero_means.components_, atol=1e-10)
    assert_allclose(
        autocorrelations(own_means, RUNS), own_means.result_.autocorrelations, atol=1e-10
    )
    assert own_means.score(RUNS) > one_mean.score(RUNS) * 0.5


@pytest.mark.parametrize(
    "model", [SlowSubspace(2, lag=3), DynamicSubspace(3), SlowSubspace(2, missing="available")]
)
def test_a_run_may_cross_the_border_of_two_learners(model):
    model.set_params(center="sequences")
    whole = clone(model).fit(RUNS)
    first = clone(model).fit([*RUNS[:7], RUNS[7][:123]])
    merged = first.merge(clone(model).fit([RUNS[7][123:], *RUNS[8:]]))
    assert_allclose(merged.components_, whole.components_, atol=1e-8)
    chunks = clone(model)
    for run in RUNS:
        chunks.partial_fit(run[:150], new_sequence=True).partial_fit(run[150:])
    assert_allclose(chunks.components_, whole.components_, atol=1e-8)
    rows = np.concatenate(RUNS)
    names = np.repeat(np.arange(len(RUNS)), 400)
    stream = open_stream(np.column_stack([rows, names]), sequence=10, columns=slice(0, 10))
    assert_allclose(clone(model).fit(stream).components_, whole.components_, atol=1e-8)


def test_sequences_of_one_mean_give_no_warning():
    with warnings.catch_warnings(action="error"):
        StreamPCA(2).fit(runs_with_offsets(5, 0.1)[0])


@pytest.mark.parametrize(
    ("factors", "lag"),
    [
        ((1.0, 4.9, 4.9), None),
        ((1.0, 2.4, 5.1), 5),  # the shortest lag of more than half of the longest scale
        ((1.0, 2.6, 5.1), 2),
    ],
)
def test_a_longer_lag_is_named_if_its_time_scale_is_five_times_as_long(factors, lag, monkeypatch):
    lags = np.array([1, 2, 5])
    rates = np.exp(-lags / (3.0 * np.array(factors)))[:, None]
    monkeypatch.setattr(values, "at_lags", lambda features, lags: rates)
    message = values.better_lag(np.zeros((10**6, 1)), lags.tolist())
    assert (message is None) == (lag is None)
    assert lag is None or f"Compare lag={lag} with" in message


@settings(max_examples=60, deadline=None)
@given(
    scale=st.floats(0.5, 300.0),
    noise=st.floats(0.0, 4.0),
    n_rows=st.integers(100, values.LEAST_CHECKED),
    lag=st.sampled_from([1, 2, 5]),
    seed=st.integers(0, 2**32 - 1),
)
def test_lags_and_features_that_are_not_compared_give_no_warning(scale, noise, n_rows, lag, seed):
    process = Autoregressive(np.exp([-1.0 / scale]), random_state=seed)
    rows = process.take(n_rows) + noise * np.random.default_rng(seed).standard_normal((n_rows, 1))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        features = SlowSubspace(1, lag=lag).fit(rows).transform(rows)
    message = values.better_lag(
        features, [lag * k for k in (*values.LADDER, 100) if lag * k < n_rows // 10]
    )
    messages = [str(warning.message) for warning in caught]
    assert [text for text in messages if "implied" in text] == ([message] if message else [])


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.lists(st.integers(4, 12), min_size=2, max_size=5),
    cuts=st.lists(st.integers(1, 40), max_size=3),
    lag=st.integers(1, 3),
    weighted=st.booleans(),
)
def test_merged_models_have_the_means_of_the_sequences(sizes, cuts, lag, weighted):
    """The first ``lag`` rows after a cut count for the mean of the sequence that they continue."""
    rng = np.random.default_rng(0)
    runs = [rng.standard_normal((n, 2)) + 9.0 * k for k, n in enumerate(sizes)]
    rows, ends = np.concatenate(runs), np.cumsum(sizes)
    weights = rng.uniform(0.5, 2.0, len(rows)) if weighted else np.ones(len(rows))
    borders = np.unique([0, *(cut for cut in cuts if cut < len(rows)), len(rows)])
    models = []
    for first, last in itertools.pairwise(borders):
        inside = [end - first for end in ends if first < end < last]
        parts = np.split(rows[first:last], inside)
        of_parts = np.split(weights[first:last], inside)
        models.append(SlowSubspace(1, lag=lag).partial_fit(parts, sample_weight=of_parts))
    merged = models[0]
    for border, model in zip(borders[1:], models[1:], strict=False):
        merged = merged.merge(model, new_sequence=border in ends)
    whole = SlowSubspace(1, lag=lag).partial_fit(runs, sample_weight=np.split(weights, ends[:-1]))
    found, expected = (model._learner.watchers["runs"].closed() for model in (merged, whole))
    assert found.n_sequences == expected.n_sequences == len(sizes)
    assert_allclose(found.variance, expected.variance, rtol=1e-9)
    of_terms = [w[lag:] for w in np.split(weights, ends[:-1])]
    means = [
        np.average(run[lag:], axis=0, weights=w) for run, w in zip(runs, of_terms, strict=True)
    ]
    total = [w.sum() for w in of_terms]
    middle = np.average(means, axis=0, weights=total)
    assert_allclose(
        found.variance, np.average((means - middle) ** 2, axis=0, weights=total), rtol=1e-9
    )
