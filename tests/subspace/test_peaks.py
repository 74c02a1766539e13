"""One warning if a few rows of huge size decide a slow subspace."""

import warnings

import numpy as np
import pytest

from eigenstream import SlowSubspace
from eigenstream.processes import Autoregressive
from eigenstream.streams import open_stream

MESSAGE = "rows of huge size decide"


def warned(rows, **how):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        SlowSubspace(2, **how).fit(rows)
    return [str(one.message) for one in caught if MESSAGE in str(one.message)]


def ordinary(kind, seed):
    """Return rows of which none decides the answer."""
    rng = np.random.default_rng(seed)
    n, width = int(rng.choice([1000, 4000, 20_000])), int(rng.choice([3, 20]))
    if kind == "gaussian":
        return rng.standard_normal((n, width))
    if kind == "t5":
        return rng.standard_t(5, (n, width))
    if kind == "two states":
        calm = (np.cumsum(rng.random(n) < 0.002) % 2)[:, None]
        return rng.standard_normal((n, width)) * np.where(calm, 0.1, 3.0) + 5.0 * calm
    season = np.sin(2 * np.pi * np.arange(n) / rng.integers(200, 3000))[:, None]
    noise = Autoregressive(np.full(width, 0.9), random_state=seed).take(n)
    return 5.0 * season + noise * (1.1 + season)


@pytest.mark.parametrize("kind", ["gaussian", "t5", "two states", "seasonal"])
def test_ordinary_data_give_no_warning(kind):
    assert not any(warned(ordinary(kind, seed), alpha=0.5) for seed in range(25))


@pytest.mark.parametrize("criterion", ["difference", "ratio"])
@pytest.mark.parametrize("places", [[10], [900, 10_390, 11_510, 13_180], [14_900, 14_901]])
def test_spikes_are_named(criterion, places):
    rows = Autoregressive(np.full(14, 0.9), random_state=0).take(14_980) + 43.0
    rows[places, 6] += 700.0
    for data in (rows, open_stream(rows, chunk_rows=1000), [rows[:5000], rows[5000:]]):
        (message,) = warned(data, criterion=criterion)
        assert f"row(s) {', '.join(map(str, places))} hold" in message
        assert "column 6" in message
    assert not warned(np.clip(rows, 33.0, 53.0), criterion=criterion)
