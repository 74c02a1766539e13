"""Few positive eigenvalues above a crowd: against a dense decomposition, and never short of one."""

import numpy as np
import pytest

from eigenstream._linalg import principal_angles
from eigenstream.learners.pairs._eta import top
from eigenstream.learners.pairs._gram import gram, median_square
from eigenstream.scatters.laplacians import ClassLaplacian
from eigenstream.solvers import dual, shift_invert
from eigenstream.solvers.base import Split

EPS = np.finfo(float).eps


def formed(split):
    below = np.tril(split.below) + np.tril(split.below, -1).T
    return split.columns @ split.middle @ split.columns.T - below


def crowded(size, n_columns, decay, rewarded, seed=0):
    """Columns against a penalty whose eigenvalues go down to nothing: a crowd just below zero."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((size, size)))[0]
    below = (basis * decay ** np.arange(size)) @ basis.T
    columns = rng.standard_normal((size, n_columns)) * np.sqrt(rewarded) / np.sqrt(size)
    return Split(
        np.asfortranarray((below + below.T) / 2), np.asfortranarray(columns), np.eye(n_columns)
    )


def agrees(pairs, matrix, size):
    """Values to rounding of what T is the difference of; vectors to that over their gap."""
    values, vectors = np.linalg.eigh(matrix)
    values, vectors = values[::-1], vectors[:, ::-1]
    found = len(pairs.values)
    error = 10 * len(matrix) * EPS * size
    np.testing.assert_allclose(pairs.values, values[:found], atol=error)
    gap = values[found - 1] - values[found]
    assert np.sin(principal_angles(pairs.vectors, vectors[:, :found])[0]) <= error / gap


@pytest.mark.parametrize("rewarded", [1.0, 1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize(("size", "n_columns", "wanted"), [(120, 6, 6), (120, 9, 4), (50, 1, 1)])
@pytest.mark.parametrize("decay", [0.9, 0.7, 0.999])
def test_the_largest_are_those_of_a_dense_decomposition(rewarded, size, n_columns, wanted, decay):
    split = crowded(size, n_columns, decay, rewarded)
    matrix = formed(split)
    scale = 1.0 + split.bound()
    cut = size * EPS * np.linalg.norm(matrix)
    positive = int((np.linalg.eigvalsh(matrix) > cut).sum())
    if positive == 0:
        with pytest.raises(RuntimeError, match="positive"):
            shift_invert.largest(split, wanted, n_columns, cut)
        return
    pairs = shift_invert.largest(split, wanted, n_columns, cut)
    assert len(pairs.values) == min(wanted, positive)
    agrees(pairs, matrix, scale)
    again = shift_invert.largest(split, wanted, n_columns, cut)
    np.testing.assert_array_equal(again.vectors, pairs.vectors)


def test_equal_eigenvalues_are_never_passed_over():
    # Single vectors see one of several equal eigenvalues: a count tells, and nothing is returned.
    size = 60
    below = np.diag(np.concatenate([np.zeros(4), np.linspace(0.01, 3.0, size - 4)]))
    split = Split(np.asfortranarray(below), np.asfortranarray(np.eye(size)[:, :4]), np.eye(4))
    try:
        pairs = shift_invert.largest(split, 4, 6, 1e-12)
    except RuntimeError:
        return
    np.testing.assert_allclose(pairs.values, np.ones(4), atol=1e-13)


@pytest.mark.parametrize("shift", [1e-9, 1e-4, 0.03, 0.2, 5.0])
def test_inertia_and_inverse_of_a_shifted_matrix(shift):
    rng = np.random.default_rng(100)
    split = crowded(40, 7, 0.8, 1.0)
    split = Split(split.below, split.columns, np.eye(7) - 0.2 * np.ones((7, 7)))  # indefinite
    matrix = formed(split) - shift * np.eye(40)
    values = np.linalg.eigvalsh(matrix)
    factored = shift_invert.Shifted(split, shift)
    assert factored.above == (values > 0).sum()
    vector = rng.standard_normal(40)
    solved = factored.inverse_times(vector)
    # Woodbury's formula goes by way of C + shift: its condition and that of T less the shift.
    condition = (1.0 + split.bound()) * (1.0 / np.abs(values).min() + 1.0 / shift)
    error = np.linalg.norm(matrix @ solved - vector) / np.linalg.norm(vector)
    assert error <= 40 * EPS * condition**2


def labelled(kind):
    rng = np.random.default_rng(100)
    labels = rng.permutation(np.repeat(np.arange(9), np.arange(6, 15)))
    rows = rng.standard_normal((9, 4))[labels] + rng.standard_normal((len(labels), 4))
    if kind == "repeated rows":
        rows[30:60] = rows[:30]
    groups = labels % 2 if kind == "tasks" else None
    weights = rng.uniform(0.5, 2.0, len(labels)) if kind == "weights" else None
    return rows, labels, groups, weights


@pytest.mark.parametrize("kind", ["plain", "tasks", "weights", "repeated rows"])
class TestTheContrastOfClasses:
    def test_the_parts_make_up_the_laplacian(self, kind):
        _, labels, groups, weights = labelled(kind)
        pairs = ClassLaplacian.of(labels, groups, weights)
        for reward, penalty in ((1.0, 0.0), (0.0, 1.0), (0.3, 2.0)):
            diagonal, columns, middle = pairs.parts(reward, penalty)
            whole = pairs.apply(np.eye(len(labels)), reward, penalty)
            np.testing.assert_allclose(
                np.diag(diagonal) + columns @ middle @ columns.T, whole, atol=1e-15
            )

    def test_the_split_is_the_matrix(self, kind):
        rows, labels, groups, weights = labelled(kind)
        factor = dual.factor(gram(rows, "rbf", 0.7 / median_square(rows)))
        assert (factor.rank < len(rows)) == (kind == "repeated rows")
        operator = dual.PairOperator(factor, ClassLaplacian.of(labels, groups, weights))
        assert operator.split(50.0, 0.5) is None  # some class's own scatter is rewarded
        split = operator.split(0.02, 0.5)
        np.testing.assert_allclose(formed(split()), operator.matrix(0.02, 0.5), atol=1e-13)

    @pytest.mark.parametrize("n_components", [3, None])
    def test_the_search_comes_to_the_same(self, kind, n_components, monkeypatch):
        rows, labels, groups, weights = labelled(kind)
        used = []
        largest = shift_invert.largest

        def counted(*arguments):
            used.append(largest(*arguments))
            return used[-1]

        monkeypatch.setattr(shift_invert, "largest", counted)
        factor = dual.factor(gram(rows, "rbf", 0.7 / median_square(rows)))
        operator = dual.PairOperator(factor, ClassLaplacian.of(labels, groups, weights))
        how = operator, (0.15, 0.5), n_components, len(rows) * EPS
        exact, n_positive = top(*how)
        assert not used
        quick, found = top(*how, dense_size=20, restarts=2)
        assert used
        assert found == n_positive
        some = slice(n_positive if n_components is None else n_components)
        np.testing.assert_allclose(quick.values[some], exact.values[some], atol=1e-13)
        np.testing.assert_allclose(quick.vectors[:, some], exact.vectors[:, some], atol=1e-8)
