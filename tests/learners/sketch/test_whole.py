"""Sums held whole, against sums over the terms one by one."""

import numpy as np
import pytest

from eigenstream.learners.sketch import OperatorSketch


def by_terms(rows, weights, lag, center, keep):
    """Return the mean rewarded and penalised term, the slow way."""
    D, terms = rows.shape[1], [t for t in range(lag, len(rows)) if weights[t] > 0]
    each = [weights[t] * keep ** (len(terms) - 1 - k) for k, t in enumerate(terms)]
    mean = sum(w * rows[t] for w, t in zip(each, terms, strict=True)) / sum(each)
    A, B, moved = np.zeros((D, D)), np.zeros((D, D)), 0.0
    for w, t in zip(each, terms, strict=True):
        away, velocity = rows[t] - mean * center, rows[t] - rows[t - lag]
        lighter = w * min(weights[t], weights[t - lag]) / weights[t]
        A += w * np.outer(away, away)
        B += lighter * np.outer(velocity, velocity)
        moved += lighter
    return A / sum(each), B / moved


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("lag", "forgetting"), [(1, None), (3, None), (2, 0.01)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_are_those_of_the_terms(center, weighted, lag, forgetting, dtype):
    rng = np.random.default_rng(0)
    rows = (rng.standard_normal((300, 7)) + 5.0).astype(dtype)
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], 300) if weighted else np.ones(300)
    sketch = OperatorSketch(
        2,
        weights=None,
        lag=lag,
        center=center,
        forgetting=forgetting,
        block_size=64,
    )
    for some in np.split(np.arange(300), [1, 2, 100]):
        sketch.add(rows[some], weights[some])
    found = sketch.solution()
    A, B = by_terms(rows.astype(np.float64), weights, lag, center, 1.0 - (forgetting or 0.0))
    scale = np.abs(A).max() * 1e-13
    np.testing.assert_allclose(found.rewarded, A, rtol=0, atol=scale)
    np.testing.assert_allclose(found.penalised, B, rtol=0, atol=scale)
    for form in (found.rewarded, found.penalised):
        np.testing.assert_array_equal(form, form.T)
    assert found.total == pytest.approx(np.trace(A), rel=1e-12)
    assert found.exact


def test_a_far_mean_takes_no_digits():
    """Centred block by block [CHAN]: a mean of a million leaves nine digits of the variance."""
    rows = np.random.default_rng(0).standard_normal((500, 5))
    near, far = (OperatorSketch(2, weights=None, lag=1) for _ in "ab")
    near.add(rows)
    far.add(rows + 1e6)
    np.testing.assert_allclose(far.solution().rewarded, near.solution().rewarded, atol=1e-9)
