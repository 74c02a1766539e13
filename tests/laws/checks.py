"""The laws of the library as checks for estimators.

1. Merging is associative, has an identity, and equals one pass, for every chunking and every lag.
2. Every solver finds the subspace that a dense float64 solver finds.
3. The block engine takes the steps of the plain sequential rule, to rounding.
4. Learning in any chunks equals learning at once, to rounding. Reading a result changes nothing.
   Memory does not grow with the stream.
5. Sums over float32 input are float64.
6. Rank-deficient, constant, repeated, tiny and huge data give finite results with a reported rank.
7. A model that was saved and loaded continues as if it had never been saved, to rounding.
8. Bad input raises one clear error that names the place and the fix. A call that raises changes
   nothing.

Each check takes an estimator and data, and raises AssertionError if the results differ.
``test_laws.py`` runs the checks on every estimator, with random chunkings. Law 3 is in
``tests/online/test_blocks.py``, law 7 in ``tests/persistence/test_round_trip.py``, and law 8 in
``test_refusals.py``.
"""

from collections.abc import Iterable
from copy import deepcopy
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np

from eigenstream.core.linalg import principal_angles

#: The relative error of sums in another order. A smaller value makes correct estimators fail.
ROUNDING = 500 * float(np.finfo(np.float64).eps)


def chunked(rows: Any, cuts: Iterable[int]) -> list[Any]:
    """Split rows at the given positions."""
    n = rows.shape[0]
    edges = [0, *sorted({int(cut) for cut in cuts if 0 < cut < n}), n]
    return [rows[a:b] for a, b in pairwise(edges)]


def _aligned(values: Any, rows: Any, cuts: Iterable[int]) -> list[Any]:
    """Return the part of the values for each chunk of the rows, or None for each chunk."""
    cuts = list(cuts)
    return [None] * len(chunked(rows, cuts)) if values is None else chunked(values, cuts)


def check_streaming(
    estimator: Any, X: Any, cuts: Iterable[int], angle: float = 1e-7, y: Any = None
) -> None:
    """Check law 4: ``partial_fit`` with any chunking equals ``fit``."""
    cuts = list(cuts)
    whole = deepcopy(estimator).fit(X, y)
    grown = deepcopy(estimator)
    for part, labels in zip(chunked(X, cuts), _aligned(y, X, cuts), strict=True):
        grown.partial_fit(part, labels)
    assert_same_answer(grown, whole, X, angle)


def check_merged(
    estimator: Any, X: Any, cuts: Iterable[int], angle: float = 1e-7, y: Any = None
) -> None:
    """Check law 1: merged parts equal one pass, in any order of merging.

    A merge must not change its arguments.
    """
    cuts = list(cuts)
    whole = deepcopy(estimator).fit(X, y)
    apart = zip(chunked(X, cuts), _aligned(y, X, cuts), strict=True)
    parts = [deepcopy(estimator).fit(part, labels) for part, labels in apart]
    before = [part.components_.copy() for part in parts]
    from_left = reduce(lambda left, part: left.merge(part), parts)
    from_right = reduce(lambda right, part: part.merge(right), parts[::-1])
    for merged in (from_left, from_right):
        assert_same_answer(merged, whole, X, angle)
    for part, components in zip(parts, before, strict=True):
        np.testing.assert_array_equal(part.components_, components, err_msg="merge changed a part")


def assert_same_answer(one: Any, other: Any, X: Any, angle: float) -> None:
    """Assert that two estimators have equal results."""
    size = float(np.abs(other.eigenvalues_).max(initial=0.0))
    np.testing.assert_allclose(one.eigenvalues_, other.eigenvalues_, atol=ROUNDING * size)
    np.testing.assert_allclose(one.mean_, other.mean_, atol=ROUNDING * np.abs(X).max())
    angles = principal_angles(one.components_.T, other.components_.T)
    assert angles.max() <= angle, f"subspaces differ by {angles.max():.3g} rad"
    assert one.n_samples_seen_ == other.n_samples_seen_ == len(X)


def check_solver(estimator: Any, X: Any, angle: float = 1e-6, y: Any = None) -> None:
    """Check law 2: the solver finds the subspace of ``solver="dense"`` in float64.

    The relative error of the eigenvalues is at most the square of the angle, or 1e-8 if that is
    larger.
    """
    found = deepcopy(estimator).fit(X, y)
    exact = deepcopy(estimator).set_params(solver="dense").fit(X.astype(np.float64), y)
    size = float(np.abs(exact.eigenvalues_).max())
    near = max(angle**2, 1e-8) * size
    np.testing.assert_allclose(found.eigenvalues_, exact.eigenvalues_, atol=near)
    angles = principal_angles(found.components_.T, exact.components_.T)
    assert angles.max() <= angle, f"subspaces differ by {angles.max():.3g} rad"


def check_transform(fitted: Any, X: Any) -> None:
    """Check law 4: ``transform`` of single rows equals that of all rows, and changes nothing."""
    before = set(vars(fitted))
    together = fitted.transform(X)
    alone = np.concatenate([fitted.transform(X[i : i + 1]) for i in range(len(X))])
    eps = float(np.finfo(together.dtype).eps)
    size = float(np.abs(X).max(initial=0.0)) * np.abs(fitted.components_).sum(axis=1).max()
    np.testing.assert_allclose(alone, together, atol=8 * eps * max(size, 1e-300))
    assert before == set(vars(fitted)), "transform added or removed an attribute"


def check_float32(estimator: Any, X: Any, y: Any = None, relative: float = 1e-5) -> None:
    """Check law 5: float32 data give the eigenvalues of the same numbers in float64."""
    X = np.asarray(X, np.float32)
    single = deepcopy(estimator).fit(X, y).eigenvalues_
    double = deepcopy(estimator).fit(X.astype(np.float64), y).eigenvalues_
    np.testing.assert_allclose(single, double, rtol=0, atol=relative * np.abs(double).max())


def check_finite_everywhere(estimator: Any, X: Any, y: Any = None) -> None:
    """Check law 6: finite data give finite results, which are the same in a second fit."""
    first, second = (deepcopy(estimator).fit(X, y) for _ in range(2))
    for name in ("components_", "eigenvalues_", "mean_"):
        values = getattr(first, name)
        assert np.isfinite(values).all(), f"{name} is not finite"
        np.testing.assert_array_equal(values, getattr(second, name), err_msg=name)
    rows = X.reshape(-1, X.shape[-1])
    assert np.isfinite(first.transform(rows)).all(), "transform is not finite"
