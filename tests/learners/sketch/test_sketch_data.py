"""Data that are hard on a sketch: degenerate, huge, tiny, in single precision, couples."""

import numpy as np
import pytest

from eigenstream._linalg import orthonormality_error, principal_angles
from eigenstream.learners.sketch import OperatorSketch
from sketches import SLOW, batch, learned, share, slow_sources


def noise(n=300, D=70, seed=0):
    return np.random.default_rng(seed).standard_normal((n, D))


def with_zero_columns(rows):
    rows = rows.copy()
    rows[:, 5:] = 0.0
    return rows


DEGENERATE = {
    "constant": np.full((300, 70), 3.7),
    "zero": np.zeros((300, 70)),
    "one row": noise(1),
    "two rows": noise(2),
    "duplicates": np.repeat(noise(10), 30, axis=0),
    "zero rows first": np.concatenate([np.zeros((200, 70)), noise()]),
    "constant columns": with_zero_columns(noise()) + 1e6,
    "rank one": np.outer(np.arange(300.0), noise(1)[0]),
    "an outlier": np.where(np.arange(300)[:, None] == 150, 1e8, 1.0) * noise(),
    "tenth tiny": np.where(np.arange(300)[:, None] < 30, 1e-12, 1.0) * noise(),
    "tenth huge": np.where(np.arange(300)[:, None] < 30, 1e12, 1.0) * noise(),
    "tiny": 1e-100 * noise(),
    "huge": 1e100 * noise(),
    "as large as is allowed": 1e150 * noise() / np.abs(noise()).max() / 10,
    "as small": 1e-150 * noise(),
    "far from zero": 1e9 + noise(),
}


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("how", [{}, SLOW, {"weights": (0.5, 0.5), "lag": 150}])
def test_degenerate_data_give_finite_results_twice_the_same(name, dtype, how):
    rows = DEGENERATE[name]
    if dtype == np.float32:
        rows = (rows / max(1.0, np.abs(rows).max() / 1e35)).astype(dtype)
    sketches = [OperatorSketch(3, **how), OperatorSketch(3, **how)]
    for sketch in sketches:
        for part in np.array_split(rows, 3):
            sketch.add(part)
    if sketches[0].n_terms == 0:
        with pytest.raises(ValueError, match="no terms yet"):
            sketches[0].solution()
        return
    one, other = (sketch.solution() for sketch in sketches)
    assert one.components.shape == (3, 70)
    for field in ("components", "eigenvalues", "mean", "rewarded", "penalised"):
        assert np.isfinite(getattr(one, field)).all(), field
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field))
    assert orthonormality_error(one.components.T) < 1e-12
    assert np.isfinite([one.total, *one.outside]).all()
    assert 0 <= one.n_positive <= 15
    assert len(sketches[0].solution(positive=True).components) <= 3


@pytest.mark.parametrize("scale", [1e-100, 1e-6, 1e6, 1e100])
def test_a_change_of_scale_changes_nothing(scale):
    rows = slow_sources(1500, 80, 1.0)
    one, other = learned(rows, 5, **SLOW).solution(), learned(scale * rows, 5, **SLOW).solution()
    assert principal_angles(one.components.T, other.components.T).max() < 1e-6
    np.testing.assert_allclose(other.eigenvalues, one.eigenvalues * scale**2, rtol=1e-8)


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_single_precision_finds_what_double_finds(scale, offset):
    """Squares of the scales do not fit into single precision; the rows are rounded once."""
    rows = (scale * (slow_sources(3000, 80, 1.0) + offset)).astype(np.float32)
    double = rows.astype(np.float64)
    one, other = learned(double, 5, **SLOW).solution(), learned(rows, 5, **SLOW).solution()
    T, mean, total = batch([double], 0.3, 0.7, 1)
    assert abs(share(one.components, T) - share(other.components, T)) < 1e-4
    np.testing.assert_allclose(other.mean, mean, rtol=1e-6, atol=1e-6 * scale)
    np.testing.assert_allclose(other.total, total, rtol=1e-5)


def few_sources(rng, *, smooth):
    """Return rows of low rank; integrated twice they move by a millionth of themselves."""
    rank, n_features, n = rng.integers([2, 60, 300], [9, 300, 3000])
    rows = rng.standard_normal((n, rank))
    for _ in range(smooth):
        rows = rows.cumsum(axis=0)
    return rows @ rng.standard_normal((rank, n_features))


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize(("penalty", "lag"), [(0.0, 0), (0.7, 1), (0.5, 3)])
def test_rows_in_single_precision_are_added_up_in_double(seed, penalty, lag):
    """Law 5: within 1e-5 where the mean is up to 10 000 standard deviations away."""
    rng = np.random.default_rng([seed, lag])
    # White rows have no direction that gains more than it loses.
    rows = few_sources(rng, smooth=rng.integers(1 if penalty else 0, 3))
    n_features = rows.shape[1]
    offset = rng.choice([0.0, 1.0, 10.0, 100.0, 1e3, 1e4])
    rows += offset * rows.std() * rng.standard_normal(n_features)
    single, center = rows.astype(np.float32), bool(rng.random() < 0.8)
    sketch = OperatorSketch(2, weights=(0.3, penalty), lag=lag, center=center)
    for chunk in np.array_split(single, rng.integers(1, 5)):
        sketch.add(chunk)
    found = sketch.solution()
    T, _, total = batch([single.astype(np.float64)], 0.3, penalty, lag, center)
    values = np.linalg.eigvalsh(T)[::-1][:2]
    np.testing.assert_allclose(found.eigenvalues, values, rtol=0, atol=1e-5 * values[0])
    np.testing.assert_allclose(found.total, total, rtol=1e-5)
    assert share(found.components, T) > 1 - 1e-5


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("center", [True, False])
def test_small_sources_beside_a_large_mean_are_kept(seed, center):
    """Of rows that are nearly alike, what they differ by is far less than the rows."""
    rng = np.random.default_rng(seed)
    rows = few_sources(rng, smooth=2)
    rows += 10.0 * rows.std() * rng.standard_normal(rows.shape[1])
    found = learned(rows, 2, center=center).solution()
    values = np.linalg.eigvalsh(batch([rows], 1.0, 0.0, 0, center)[0])[::-1][:2]
    assert found.exact
    np.testing.assert_allclose(found.eigenvalues, values, rtol=0, atol=1e-10 * values[0])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("seed", range(10))
def test_nothing_is_forgotten_for_next_to_nothing(seed, dtype):
    """Low rank but for a trace of noise, which fills the frame: its cuts spoil nothing.

    These rows wander: without the earlier ones the eigenvalues would be others.
    """
    rng = np.random.default_rng(seed)
    rows = few_sources(rng, smooth=1 + seed % 2)
    rows += 1e-5 * rows.std() * rng.standard_normal(rows.shape)
    found = learned(rows.astype(dtype), 2, **SLOW).solution()
    values = np.linalg.eigvalsh(batch([rows], 0.3, 0.7, 1)[0])[::-1][:2]
    assert not found.exact or dtype == np.float32  # noise below rounding of the rows is left out
    np.testing.assert_allclose(found.eigenvalues, values, rtol=0, atol=1e-5 * values[0])


def test_wild_rows_are_not_thrown_by():
    """An outlier thirty times as large, heavy tails, a fast channel, a jump at the start."""
    for change in ("outlier", "tails", "channel", "first"):
        rows, rng = slow_sources(4000, 60, 1.5), np.random.default_rng(1)
        if change == "outlier":
            rows[100] *= 30
        elif change == "tails":
            rows *= np.sqrt(2 / rng.chisquare(2, len(rows)))[:, None]
        elif change == "channel":
            rows[:, 3] = 30 * rng.standard_normal(len(rows))
        else:
            rows[0] += 1e3
        T = batch([rows], 0.3, 0.7, 1)[0]
        assert share(learned(rows, 5, **SLOW).solution().components, T) > 0.99, change


def test_at_most_d_directions():
    """Two slow sources among fast ones: the third eigenvalue is negative."""
    rows = noise(8000, 80)
    for t in range(1, len(rows)):
        rows[t, :2] += 0.95 * rows[t - 1, :2]
    T = batch([rows], 0.3, 0.7, 1)[0]
    assert np.linalg.eigvalsh(T)[-3] < 0
    for n_components in (4, None):
        sketch = learned(rows, n_components, **SLOW)
        found = sketch.solution(positive=True)
        assert found.n_positive == len(found.components) == 2
        best = np.linalg.eigvalsh(T)[-2:].sum()
        assert np.sum(found.components * (found.components @ T)) > 0.995 * best
    assert len(learned(rows, 4, **SLOW).solution().components) == 4
    sketch = learned(noise(400), None, weights=(0.1, 0.9), lag=1)
    none, best = sketch.solution(positive=True), sketch.solution()
    assert none.n_positive == best.n_positive == 0
    assert none.components.shape == (0, 70)
    assert best.components.shape == (1, 70)
    assert best.eigenvalues[0] < 0


@pytest.mark.parametrize("n_features", [10, 60])
@pytest.mark.parametrize("size", [64, 96, 17])
def test_couples(n_features, size):
    """A row and its past in sequences of their own: the signed terms of pairs."""
    rng = np.random.default_rng(0)
    scales = np.linspace(3, 1, n_features)
    negative = rng.standard_normal((640, n_features)) * scales
    positive = rng.standard_normal((640, n_features)) * scales[::-1]
    sketch = OperatorSketch(3, weights=(0.4, 0.6), lag=size, center=False)
    for start in range(0, 640 - 640 % size, size):
        u, v = negative[start : start + size], positive[start : start + size]
        sketch.add(np.concatenate([u - v, u]), new_sequence=True)
    count = 640 - 640 % size
    assert sketch.n_terms == count
    T = (
        0.4 * negative[:count].T @ negative[:count] - 0.6 * positive[:count].T @ positive[:count]
    ) / count
    found = sketch.solution()
    assert share(found.components, T) > (1 - 1e-12 if n_features == 10 else 0.98)
    np.testing.assert_allclose(found.total, np.mean(np.sum(negative[:count] ** 2, axis=1)))


def test_few_rows_for_many_components():
    """Fewer rows than components: the rest are directions of eigenvalue zero."""
    rows = noise(4, 200)
    found = learned(rows, 12).solution()
    assert found.components.shape == (12, 200)
    values = np.linalg.eigvalsh(np.cov(rows.T, bias=True))[::-1][:12]
    np.testing.assert_allclose(found.eigenvalues, values, atol=1e-12)


def test_memory_does_not_grow():
    """Frame, older frame, and rows that wait: the same after ten times as many rows."""
    sizes = []
    for n in (500, 5000):
        state = learned(noise(n), 3, **SLOW, parts=7).state()
        sizes.append(sum(np.asarray(value).nbytes for value in state.values()))
    waiting = 2 * 70 * 8 * 97
    assert abs(sizes[1] - sizes[0]) <= waiting
