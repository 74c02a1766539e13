"""The theory's numbers for a fit, and what they need to know of the data."""

import numpy as np
import pytest
import scipy.sparse as sp

from eigenstream import SlowSubspace
from eigenstream.rows.chunk import Chunk
from eigenstream.subspace import subspace_bound
from eigenstream.subspace.sums.block import Block
from eigenstream.subspace.watchers.values import RadiusBound
from eigenstream.theory import Geometric, Independent, mean_bound, slow_bound

EPS = np.finfo(float).eps


def sample(m=4000, offset=0.0, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (m, 4)) * [3, 2, 1, 1] + offset


def radius_of(*chunks):
    radius = RadiusBound()
    for chunk in chunks:
        block = Block(4, chunk)
        block.chunk = Chunk(chunk)
        radius.see(block, None)
    return radius


@pytest.mark.parametrize("offset", [0.0, 1e3])
@pytest.mark.parametrize("kind", [np.float64, np.float32, sp.csr_array])
def test_the_bound_holds_all_rows(offset, kind):
    rows = sample(300, offset)
    seen = rows.astype(kind) if kind is not sp.csr_array else kind(rows)
    single = kind is np.float32
    whole = radius_of(seen)
    for point in (np.zeros(4), rows.mean(axis=0), rows[0], rows[17] + 1):
        exact = np.linalg.norm(rows - point, axis=1).max()
        spread = np.linalg.norm(rows - rows[0], axis=1).max()
        slack = (1e-6 if single else 1e-14) * np.linalg.norm(rows, axis=1).max()
        # Never below, at most one triangle above (float32 with an offset knows less).
        assert whole.reach(point) >= exact - slack
        if not (single and offset):
            near = min(np.linalg.norm(point), np.linalg.norm(rows[0] - point))
            assert whole.reach(point) <= exact + 2 * near + 1e-4 * spread
    again = radius_of(seen[:9], seen[9:])
    assert again.about_origin == pytest.approx(whole.about_origin, rel=4 * EPS)
    near = 1e-3 if single else 1e-7  # what float32 and float64 leave of an offset of 1000
    assert again.reach(rows[0]) == pytest.approx(whole.reach(rows[0]), rel=near)


def test_the_bound_is_the_theorem_in_the_units_of_the_data():
    rows, mixing, delta = sample(50_000), Geometric(1, 0.5), 0.1
    about_zero = SlowSubspace(2, alpha=0.7, center=False).fit(rows)
    bound = subspace_bound(about_zero, delta, mixing)
    radius = np.linalg.norm(rows, axis=1).max()
    assert bound.radius == pytest.approx(radius, rel=4 * EPS)
    assert bound.scale * radius == pytest.approx(0.5)
    theorem = slow_bound(49_999, 2, delta, mixing, alpha=0.7)
    assert bound.deviations == (theorem,)
    assert bound.gap == pytest.approx(4 * radius**2 * theorem.value)
    assert bound.lower == about_zero.result_.objective - bound.gap
    # About the learned mean a tenth of delta goes to the mean.
    centred = subspace_bound(SlowSubspace(2, alpha=0.7).fit(rows), delta, mixing, radius=radius)
    parts = slow_bound(49_999, 2, 0.9 * delta, mixing, alpha=0.7).value
    parts += 0.7 * mean_bound(49_999, 0.5, 0.1 * delta, mixing).value ** 2
    assert centred.gap == pytest.approx(4 * radius**2 * parts)
    sharp = subspace_bound(
        SlowSubspace(2, alpha=0.7).fit(rows), delta, mixing, radius=radius, tight=True
    )
    assert sharp.gap < centred.gap


@pytest.mark.filterwarnings("ignore:only 0 of the 1 eigenvalues")
def test_equal_rows_leave_nothing_to_bound():
    for value in (0.0, 1.0, 0.1, 1e6 / 3):
        for dtype in (np.float64, np.float32):
            rows = np.full((1000, 2), value, dtype)
            with pytest.raises(ValueError, match="All rows are equal"):
                subspace_bound(SlowSubspace(1, alpha=1.0).fit(rows), 0.1, Independent())


def test_an_alpha_that_the_data_chose_is_paid_for():
    rows, mixing, delta = sample(50_000), Geometric(1, 0.5), 0.1
    chosen = SlowSubspace(2, center=False).fit(rows)
    bound, alpha = subspace_bound(chosen, delta, mixing), chosen.alpha_
    parts = [slow_bound(49_999, 2, delta / 2, mixing, lag=1 - k, alpha=k) for k in (1, 0)]
    assert bound.deviations == tuple(parts)
    expected = alpha * parts[0].value + (1 - alpha) * parts[1].value
    assert bound.gap == pytest.approx(4 * bound.radius**2 * expected)
    fixed = subspace_bound(SlowSubspace(2, alpha=alpha, center=False).fit(rows), delta, mixing)
    assert fixed.gap < bound.gap
    # Where the number of directions is left to the data, all of them are paid for.
    every = subspace_bound(SlowSubspace(None, alpha=0.7, center=False).fit(rows), delta, mixing)
    assert every.deviations == (slow_bound(49_999, 4, delta, mixing, alpha=0.7),)
    # The lag is that of the scatters, whatever the parameter has become since.
    moved = SlowSubspace(2, alpha=0.7, center=False).fit(rows).set_params(lag=3)
    assert subspace_bound(moved, delta, mixing).deviations == (
        slow_bound(49_999, 2, delta, mixing, alpha=0.7),
    )


def test_a_bound_states_what_it_assumes_of_rows_not_seen():
    slow = SlowSubspace(1, alpha=0.9).fit(sample())
    seen, given = (str(subspace_bound(slow, 0.1, Independent(), radius=one)) for one in (None, 6.0))
    assert "if no possible row is farther than" in seen
    assert seen.endswith("Pass radius= if other rows can be.")
    assert given.endswith("if no possible row is farther than 6 from the expectation.")
