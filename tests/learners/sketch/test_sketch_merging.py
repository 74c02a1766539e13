"""Parts that are merged, and passes that begin with what is known."""

import numpy as np
import pytest

from eigenstream._linalg import principal_angles
from eigenstream.learners.sketch import OperatorSketch
from sketches import SLOW, batch, learned, share, slow_sources

ROUNDS = 2


def sequences(n_features, lags=(0, 90, 3, 200, 1)):
    """Five stretches, some shorter than a lag of four."""
    rng = np.random.default_rng(3)
    return [rng.standard_normal((2 + n, n_features)).cumsum(axis=0) + 5 for n in lags]


def assert_same(one, other):
    """Two learners have found the same, to rounding."""
    assert one.n_velocities == other.n_velocities
    one, other = one.solution(), other.solution()
    assert (one.n_rows, one.n_terms) == (other.n_rows, other.n_terms)
    size = np.abs(other.eigenvalues).max()
    np.testing.assert_allclose(one.eigenvalues, other.eigenvalues, atol=1e-11 * size)
    np.testing.assert_allclose(one.mean, other.mean, rtol=1e-11)
    np.testing.assert_allclose(one.total, other.total, rtol=1e-11)
    assert principal_angles(one.components.T, other.components.T).max() < 1e-6


@pytest.mark.parametrize("lag", [0, 1, 4, 120])
@pytest.mark.parametrize("forgetting", [None, 0.02])
@pytest.mark.parametrize("new", [(), (2,), (1, 2, 3, 4)])
def test_an_exact_sketch_merges_as_one_pass(lag, forgetting, new):
    """Whatever the parts: those before a border lose weight as in one pass."""
    how = {"weights": (0.3, 0.7 if lag else 0.0), "lag": lag, "forgetting": forgetting}
    parts = sequences(6)
    whole, chain, merged = (OperatorSketch(2, **how) for _ in range(3))
    scattered = []
    for i, part in enumerate(parts):
        whole.add(part, new_sequence=i in new)
        each = OperatorSketch(2, **how)
        each.add(part)
        scattered.append(each)
        chain = chain.merge(each, new_sequence=i in new)
    # And as a tree: ((0 1) (2 3)) 4.
    left = scattered[0].merge(scattered[1], new_sequence=1 in new)
    right = scattered[2].merge(scattered[3], new_sequence=3 in new)
    merged = left.merge(right, new_sequence=2 in new).merge(scattered[4], new_sequence=4 in new)
    for found in (chain, merged):
        assert_same(found, whole)
        # What is merged goes on.
        later = np.random.default_rng(8).standard_normal((150, 6))
        found.add(later)
        more = OperatorSketch.restored(whole.state())
        more.add(later)
        assert_same(found, more)


def test_nothing_merges_as_nothing():
    rows = slow_sources(400, 80, 1.0)
    sketch, none = learned(rows, 3, **SLOW), OperatorSketch(3, **SLOW)
    for merged in (sketch.merge(none), none.merge(sketch)):
        np.testing.assert_array_equal(merged.solution().components, sketch.solution().components)
        assert merged.n_rows == 400


def test_a_low_rank_merges_as_one_pass():
    """Both frames span all that has been seen: nothing is cut off."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((500, 11)).cumsum(axis=0) @ rng.standard_normal((11, 70)) + 3
    whole = learned(rows, 3, **SLOW).solution()
    parts = [learned(part, 3, **SLOW) for part in np.split(rows, [200, 203, 350])]
    merged = parts[0]
    for part in parts[1:]:
        merged = merged.merge(part)
    found = merged.solution()
    assert found.exact
    assert found.n_terms == whole.n_terms
    # The velocities are a hundredth of the rows here; see the rule for new directions.
    np.testing.assert_allclose(found.eigenvalues, whole.eigenvalues, rtol=1e-4)
    np.testing.assert_allclose(found.total, whole.total, rtol=1e-10)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_long_parts_merge_without_loss(dtype):
    rows = slow_sources(6000, 60, 1.0).astype(dtype)
    T = batch([rows.astype(np.float64)], 0.3, 0.7, 1)[0]
    parts = [learned(part, 5, **SLOW) for part in np.array_split(rows, 4)]
    merged = parts[0]
    for part in parts[1:]:
        merged = merged.merge(part)
    found = merged.solution()
    assert share(found.components, T) > 0.995
    whole = learned(rows, 5, **SLOW).solution()
    assert found.n_terms == whole.n_terms
    precise = 1e-12 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(found.mean, whole.mean, atol=precise)
    np.testing.assert_allclose(found.total, whole.total, rtol=precise)


def test_further_passes_mend_what_short_parts_lose():
    """Eight parts of 750 rows of width 300; and one part, which is a second pass."""
    rows = slow_sources(6000, 300, 1.0)
    T = batch([rows], 0.3, 0.7, 1)[0]
    once = learned(rows, 5, **SLOW)
    again = once.another_pass()
    again.add(rows)
    shares = [share(sketch.solution().components, T) for sketch in (once, again)]
    assert shares[1] > max(shares[0], 0.995)
    found = None
    reached = []
    for _ in range(ROUNDS):
        starts = [OperatorSketch(5, **SLOW) if found is None else found.another_pass(1 / 8)] * 8
        starts = [OperatorSketch.restored(start.state()) for start in starts]
        for start, part in zip(starts, np.array_split(rows, 8), strict=True):
            start.add(part)
        found = starts[0]
        for start in starts[1:]:
            found = found.merge(start)
        assert found.n_terms == 5999
        reached.append(share(found.solution().components, T))
    assert reached[1] > max(reached[0], 0.9)


def test_a_further_pass_reads_its_own_rows_only():
    rows, other = slow_sources(3000, 80, 1.0), slow_sources(2000, 80, 1.0, seed=9) + 4
    again = learned(rows, 5, **SLOW).another_pass()
    assert again.n_terms == again.n_rows == 0
    with pytest.raises(ValueError, match="no terms yet"):
        again.solution()
    again.add(other)
    found = again.solution()
    T, mean, total = batch([other], 0.3, 0.7, 1)
    np.testing.assert_allclose(found.mean, mean, atol=1e-12)
    np.testing.assert_allclose(found.total, total, rtol=1e-12)
    # Where the frame has had to look elsewhere the answer is worse, but never one of other rows.
    best = np.linalg.eigvalsh(T)[::-1][:5]
    assert (found.eigenvalues < best + 0.01).all()


def test_what_does_not_go_together_is_refused():
    one = learned(slow_sources(300, 60, 1.0), 3, **SLOW)
    with pytest.raises(ValueError, match="same parameters"):
        one.merge(OperatorSketch(2, **SLOW))
    with pytest.raises(ValueError, match="one width"):
        one.merge(learned(slow_sources(300, 50, 1.0), 3, **SLOW))
