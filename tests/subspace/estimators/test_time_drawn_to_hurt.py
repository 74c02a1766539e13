"""The alpha that the data choose, on rows drawn to hurt, beside a decomposition of the rows."""

import warnings

import numpy as np
import pytest

import oracles
from eigenstream import SlowSubspace


def drawn(seed, kind):
    """Slow channels among fast ones, of very different sizes, in single precision."""
    rng = np.random.default_rng(seed)
    width, n, slow = (
        int(rng.choice([12, 40])),
        int(rng.choice([300, 1200])),
        int(rng.integers(1, 8)),
    )
    memory = rng.uniform(-0.4, 0.4, width)
    memory[:slow] = 1.0 - 10.0 ** rng.uniform(-3.0, -0.3, slow)
    rows = oracles.autoregressive(memory, n, rng)
    sizes = np.exp((1.0 + (kind == "wide")) * rng.standard_normal(width))
    if kind == "small":
        sizes = np.where(np.arange(width) < 5, 1.0, 1e-4)
    rows = rows * sizes @ np.linalg.qr(rng.standard_normal((width, width)))[0]
    if kind == "far":
        rows = rows + 1e4 * np.exp(rng.standard_normal(width)) * rows.std(axis=0)
    return int(rng.integers(1, 4)), rows.astype(np.float32)


def least_alpha(rows, d, center=True):
    """1.1 times the odds of 1 - theta_d, with A v = theta (A + B) v solved by the rows."""
    rows = rows.astype(np.longdouble)
    now, moved = rows[1:] - center * rows[1:].mean(axis=0), rows[1:] - rows[:-1]
    left = np.linalg.svd(np.vstack([now, moved]).astype(float), full_matrices=False)[0]
    theta = np.linalg.svd(left[: len(now)], compute_uv=False)[d - 1] ** 2
    odds = 1.1 * (1.0 - theta) / theta
    return max(odds / (1.0 + odds), 1e-6)


@pytest.mark.parametrize("kind", ["sizes", "wide", "small", "far"])
def test_alpha_of_rows_in_single_precision_is_that_of_the_rows(kind):
    """Products in single precision would lose the small directions that it rests on."""
    for seed in range(8):
        d, rows = drawn(seed, kind)
        parts = SlowSubspace(d, solver="dense")
        for chunk in np.array_split(rows, 5):
            parts.partial_fit(chunk)
        for found in (SlowSubspace(d, solver="dense").fit(rows), parts):
            assert found.alpha_ == pytest.approx(least_alpha(rows, d), rel=1e-4), seed


@pytest.mark.parametrize("far", [0.0, 1e2, 1e5, 1e6])
def test_an_alpha_about_zero_is_right_or_told(far):
    """Beside the square of a large mean little is left of small directions."""
    warned = 0
    for seed in range(12):
        d, rows = drawn(seed, "sizes")
        rows = rows.astype(np.float64)
        away = np.random.default_rng(seed).standard_normal(rows.shape[1])
        rows = rows + far * rows.std(axis=0) * away
        with warnings.catch_warnings(record=True, action="always") as caught:
            found = SlowSubspace(d, center=False).fit(rows).alpha_
        told = any("below rounding error" in str(one.message) for one in caught)
        assert told or found == pytest.approx(least_alpha(rows, d, center=False), rel=0.01), seed
        warned += told
    assert (warned > 0) == (far >= 1e5)


def test_at_lag_1_the_automatic_alpha_finds_the_slowest_source_beside_a_larger_one():
    rng = np.random.default_rng(0)
    sources = oracles.autoregressive(np.exp([-1 / 1000, -1 / 150, -1 / 3]), 40_000, rng)
    feature = SlowSubspace(1).fit_transform(sources * [1.0, 5.0, 1.0])[:, 0]
    assert abs(np.corrcoef(feature, sources[:, 0])[0, 1]) > 0.99
