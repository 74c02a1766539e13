"""Looking through numbers many lanes at a time, against looking at one after the other."""

import numpy as np
import pytest

from eigenstream.kernels.base import njit
from eigenstream.rules.competitive._scans import first_within, least_of
from eigenstream.rules.engine._lanes import LANES, within_lanes


@njit()
def found(bits, most, start):
    return within_lanes(bits, most, start)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("n", [1, 3, LANES - 1, LANES, LANES + 1, 4 * LANES, 4 * LANES + 5, 130])
def test_the_first_with_at_most_so_much(kind, n):
    rng = np.random.default_rng(n)
    for _ in range(20):
        bits = rng.integers(-5, 40, n).astype(kind)
        for most in (-6, -5, 3, 39, int(bits.min())):
            for start in {0, 1, n // 2, n - 1, n}:
                places = [k for k in range(start, n) if bits[k] <= most]
                assert first_within(bits, kind(most), start) == (places[0] if places else n)
                whole = start + max(n - start, 0) // LANES * LANES
                expected = min(places[0], whole) if places else whole
                assert found(bits, kind(most), start) == expected
        assert least_of(bits) == bits.min()


@pytest.mark.parametrize("bits", [np.zeros(3), np.zeros((2, 2), int), np.zeros(8, int)[::2]])
def test_lanes_are_of_whole_numbers_in_a_row(bits):
    with pytest.raises(TypeError, match="lanes are of whole numbers"):
        found(bits, bits.ravel()[0], 0)
