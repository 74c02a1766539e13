"""The laws that every member keeps, as checks for yours too.

1. Merging is associative, has an identity, and equals one pass, for every chunking and every lag.
2. Every solver finds the subspace that a dense float64 solver finds.
3. The block engine takes the steps of the plain sequential rule, to rounding.
4. Learning a row at a time equals learning all at once; reading changes nothing; memory does not
   grow with the stream.
5. float32 input is added up in float64.
6. Data without full rank, constant, repeated, tiny or huge give finite results with a reported
   rank, the same on every run.
7. What is restored from a state, or from a file, continues as if it had never been saved, to
   rounding.
8. Bad input is refused with what was wrong, where, and what mends it; a refused call changes
   nothing.

Each check takes something to build the object from, data, and raises AssertionError with what
differed. ``y`` are labels, or the signs of pairs; data of shape (n, 2, D) are pairs. The project's
own tests run them on every member, with chunkings drawn at random.
"""

from collections.abc import Callable, Iterable
from copy import deepcopy
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np

from eigenstream._linalg import orthonormalized, principal_angles
from eigenstream.online import OnlineLearner, Plan, Rule

#: What summing in another order may change, relative to the largest entry: some hundred roundings.
ROUNDING = 500 * float(np.finfo(np.float64).eps)


def chunked(rows: Any, cuts: Iterable[int]) -> list[Any]:
    """Split rows at the cuts, in order; cuts outside or repeated give empty chunks nowhere.

    >>> [len(chunk) for chunk in chunked(np.zeros((5, 1)), [3, 1, 3])]
    [1, 2, 2]
    """
    n = rows.shape[0]
    edges = [0, *sorted({int(cut) for cut in cuts if 0 < cut < n}), n]
    return [rows[a:b] for a, b in pairwise(edges)]


def _aligned(values: Any, rows: Any, cuts: Iterable[int]) -> list[Any]:
    """Return what belongs to each chunk of the rows: parts of the values, or None for each."""
    cuts = list(cuts)
    return [None] * len(chunked(rows, cuts)) if values is None else chunked(values, cuts)


def _given(y: Any) -> tuple[Any, ...]:
    return () if y is None else (y,)


def check_streaming(
    estimator: Any, X: Any, cuts: Iterable[int], angle: float = 1e-7, y: Any = None
) -> None:
    """Law 4: ``partial_fit`` with any chunking learns what ``fit`` learns.

    >>> from eigenstream import StreamPCA
    >>> X = np.random.default_rng(0).standard_normal((20, 3)) * [3.0, 2.0, 1.0]
    >>> check_streaming(StreamPCA(n_components=2), X, cuts=[1, 2, 11])
    """
    cuts = list(cuts)
    whole = deepcopy(estimator).fit(X, y)
    grown = deepcopy(estimator)
    for part, labels in zip(chunked(X, cuts), _aligned(y, X, cuts), strict=True):
        grown.partial_fit(part, labels)
    _assert_same_answer(grown, whole, X, angle)


def check_merged(
    estimator: Any, X: Any, cuts: Iterable[int], angle: float = 1e-7, y: Any = None
) -> None:
    """Law 1 for estimators: parts learned apart and merged, in any order, are one pass.

    A merge leaves both as they were.

    >>> from eigenstream import SlowSubspace
    >>> X = np.random.default_rng(0).standard_normal((40, 3)).cumsum(axis=0)
    >>> check_merged(SlowSubspace(n_components=2), X, cuts=[11, 30])
    """
    cuts = list(cuts)
    whole = deepcopy(estimator).fit(X, y)
    apart = zip(chunked(X, cuts), _aligned(y, X, cuts), strict=True)
    parts = [deepcopy(estimator).fit(part, labels) for part, labels in apart]
    before = [part.components_.copy() for part in parts]
    from_left = reduce(lambda left, part: left.merge(part), parts)
    from_right = reduce(lambda right, part: part.merge(right), parts[::-1])
    for merged in (from_left, from_right):
        _assert_same_answer(merged, whole, X, angle)
    for part, components in zip(parts, before, strict=True):
        np.testing.assert_array_equal(part.components_, components, err_msg="merge changed a part")


def _assert_same_answer(one: Any, other: Any, X: Any, angle: float) -> None:
    """Assert that two estimators have learned the same from these data."""
    size = float(np.abs(other.eigenvalues_).max(initial=0.0))
    np.testing.assert_allclose(one.eigenvalues_, other.eigenvalues_, atol=ROUNDING * size)
    np.testing.assert_allclose(one.mean_, other.mean_, atol=ROUNDING * np.abs(X).max())
    angles = principal_angles(one.components_.T, other.components_.T)
    assert angles.max() <= angle, f"subspaces differ by {angles.max():.3g} rad"
    assert one.n_samples_seen_ == other.n_samples_seen_ == len(X)


def check_solver(estimator: Any, X: Any, angle: float = 1e-6, y: Any = None) -> None:
    """Law 2: the estimator's way of learning finds what ``solver="dense"`` finds in float64.

    The eigenvalues agree to the square of the angle, at least to 1e-8 of the largest.

    >>> from eigenstream import StreamPCA
    >>> X = np.random.default_rng(0).standard_normal((30, 4)) * [4.0, 3.0, 2.0, 1.0]
    >>> check_solver(StreamPCA(n_components=2, solver="krylov"), X)
    """
    found = deepcopy(estimator).fit(X, y)
    exact = deepcopy(estimator).set_params(solver="dense").fit(X.astype(np.float64), y)
    size = float(np.abs(exact.eigenvalues_).max())
    near = max(angle**2, 1e-8) * size
    np.testing.assert_allclose(found.eigenvalues_, exact.eigenvalues_, atol=near)
    angles = principal_angles(found.components_.T, exact.components_.T)
    assert angles.max() <= angle, f"subspaces differ by {angles.max():.3g} rad"


def check_rule(
    rule: Rule,
    step: Callable[..., Any],
    rows: Any,
    weights: Any,
    gains: Any,
    *,
    rates: Any = None,
    block: int = 7,
) -> None:
    """Law 3: the engine takes the steps of ``step(weights, row, gain)``, the rule written plainly.

    With ``rates``, one a unit, the gain is an array. A rule that keeps its weights orthonormal
    begins with such weights and is compared by their span.

    >>> from eigenstream.online import HEBB
    >>> def hebb(W, x, eta):
    ...     return W + np.outer(eta * (W @ x), x)
    >>> rows = np.random.default_rng(0).standard_normal((30, 4))
    >>> check_rule(HEBB, hebb, rows, np.eye(2, 4), np.full(30, 0.01))
    """
    if rule.orthonormal:
        weights = orthonormalized(weights.T).T
    expected = weights
    for row, gain in zip(rows, gains, strict=True):
        expected = step(expected, row, gain if rates is None else gain * rates)
    plan = Plan(
        len(weights),
        center=False,
        init=weights,
        learning_rate=lambda t: np.asarray(gains)[t],
        rates=rates,
        block_size=block,
    )
    found = OnlineLearner(rule, plan).update(rows).vectors
    if rule.orthonormal:
        found, expected = found.T @ found, expected.T @ expected
    # Roundings of numbers of the size of the weights, 64 a step.
    near = 64 * len(rows) * float(np.finfo(np.float64).eps) * np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=near)


def check_transform(fitted: Any, X: Any) -> None:
    """Law 4: rows are projected alike alone and together, and nothing changes.

    >>> from eigenstream import StreamPCA
    >>> X = np.random.default_rng(0).standard_normal((20, 3))
    >>> check_transform(StreamPCA(n_components=2).fit(X), X)
    """
    before = deepcopy(fitted.__dict__)
    together = fitted.transform(X)
    alone = np.concatenate([fitted.transform(X[i : i + 1]) for i in range(len(X))])
    eps = float(np.finfo(together.dtype).eps)
    size = float(np.abs(X).max(initial=0.0)) * np.abs(fitted.components_).sum(axis=1).max()
    np.testing.assert_allclose(alone, together, atol=8 * eps * max(size, 1e-300))
    assert before.keys() == fitted.__dict__.keys(), "transform added or removed an attribute"


def check_float32(estimator: Any, X: Any, y: Any = None, relative: float = 1e-5) -> None:
    """Law 5: float32 data give the eigenvalues that the same numbers give in float64.

    >>> from eigenstream import StreamPCA
    >>> X = 1e4 + np.random.default_rng(0).standard_normal((50, 3))
    >>> check_float32(StreamPCA(n_components=2), X)
    """
    X = np.asarray(X, np.float32)
    single = deepcopy(estimator).fit(X, y).eigenvalues_
    double = deepcopy(estimator).fit(X.astype(np.float64), y).eigenvalues_
    np.testing.assert_allclose(single, double, rtol=0, atol=relative * np.abs(double).max())


def check_finite_everywhere(estimator: Any, X: Any, y: Any = None) -> None:
    """Law 6: whatever finite data are learned, results are finite, and twice the same.

    >>> from eigenstream import StreamPCA
    >>> check_finite_everywhere(StreamPCA(n_components=2), np.ones((5, 3)))
    """
    first, second = (deepcopy(estimator).fit(X, y) for _ in range(2))
    for name in ("components_", "eigenvalues_", "mean_"):
        values = getattr(first, name)
        assert np.isfinite(values).all(), f"{name} is not finite"
        np.testing.assert_array_equal(values, getattr(second, name), err_msg=name)
    rows = X.reshape(-1, X.shape[-1])
    assert np.isfinite(first.transform(rows)).all(), "transform is not finite"
    assert 0 <= first.rank_ <= X.shape[-1], f"rank_ is {first.rank_}"


def check_refusal(learned: Any, call: Callable[[Any], Any], left: Callable[[Any], Any]) -> str:
    """Law 8: the call is refused in a sentence, and what it has left, ``left(learned)``, is as it
    was. Returns the message.

    >>> from eigenstream import StreamPCA
    >>> pca = StreamPCA(1).fit(np.eye(3))
    >>> call = lambda one: one.partial_fit(np.ones((3, 9)))
    >>> print(check_refusal(pca, call, lambda one: one.components_))
    X has 9 features, but StreamPCA is expecting 3 features as input.
    """
    before = deepcopy(left(learned))
    try:
        call(learned)
    except (ValueError, TypeError) as refusal:
        message = str(refusal)
    else:
        raise AssertionError("bad input was accepted")
    assert 15 < len(message) < 900, f"no sentence of a fair length: {message}"
    np.testing.assert_equal(left(learned), before, err_msg="a refused call left something behind")
    return message
