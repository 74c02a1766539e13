"""Looking through numbers many lanes at a time, against looking at one after the other."""

import numpy as np
import pytest

from eigenstream.kernels.base import njit
from eigenstream.rules.competitive._scans import count_within, first_within, least_of
from eigenstream.rules.engine._lanes import COUNTED, LANES, count_lanes, within_lanes
from machines import runs_with


@njit()
def found(bits, row, most, start):
    return within_lanes(bits, row, most, start)


@njit()
def counted(bits, row, most):
    return count_lanes(bits, row, most)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize(
    "n", [1, 3, LANES - 1, LANES, LANES + 1, COUNTED, 4 * LANES, 4 * LANES + 5, 130]
)
def test_the_first_with_at_most_so_much(kind, n):
    rng = np.random.default_rng(n)
    for _ in range(20):
        bits = rng.integers(-5, 40, (3, n)).astype(kind)
        for most in (-6, -5, 3, 39, int(bits[1].min())):
            every = [k for k in range(n) if bits[1, k] <= most]
            for start in {0, 1, n // 2, n - 1, n}:
                places = [k for k in every if k >= start]
                assert first_within(bits, 1, kind(most), start) == (places[0] if places else n)
                whole = start + max(n - start, 0) // LANES * LANES
                expected = min(places[0], whole) if places else whole
                assert found(bits, 1, kind(most), start) == expected
            count, place = count_within(bits, 1, kind(most))
            assert count == len(every)
            assert place in (every or [-1])
            whole = [k for k in every if k < n // COUNTED * COUNTED]
            assert counted(bits, 1, kind(most))[0] == len(whole)
        assert [least_of(bits, row) for row in range(3)] == bits.min(axis=1).tolist()


@pytest.mark.parametrize(
    "bits", [np.zeros((1, 3)), np.zeros(2, int), np.zeros((2, 8), int)[:, ::2]]
)
def test_lanes_are_of_a_table_of_whole_numbers(bits):
    with pytest.raises(TypeError, match="lanes are of a table of whole numbers"):
        found(bits, 0, bits.ravel()[0], 0)


@pytest.mark.parametrize("features", ["", "+avx2"])
def test_machines_with_smaller_registers(features):
    """The same tests, as compiled for such a processor."""
    runs_with(features, __file__, "first_with_at_most")
