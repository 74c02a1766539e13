"""The laws that every scatter and every estimator keeps, as checks for yours too.

Each check takes something to build the object from, data, and raises AssertionError with what
differed. docs/architecture.md lists the laws; the project's own tests run them on every member,
with chunkings drawn at random.
"""

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from itertools import pairwise
from typing import Any

import numpy as np

from eigenstream._linalg import principal_angles
from eigenstream.scatters import Scatter, StreamScatter, merge

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


def assert_same_scatter(left: Scatter, right: Scatter, rounding: float = ROUNDING) -> None:
    """Assert that two scatters have the same count, weight, mean and matrix up to rounding.

    >>> from eigenstream.scatters import VarianceScatter
    >>> rows = np.array([[1.0], [2.0], [4.0]])
    >>> in_parts = VarianceScatter(1).update(rows[:1]).update(rows[1:])
    >>> assert_same_scatter(in_parts, VarianceScatter(1).update(rows))
    """
    assert left.count == right.count, f"counts differ: {left.count}, {right.count}"
    assert left.n_rows == right.n_rows, f"rows differ: {left.n_rows}, {right.n_rows}"
    np.testing.assert_allclose(left.weight, right.weight, rtol=rounding)
    for what, a, b in (
        ("mean", left.mean, right.mean),
        ("matrix", left.matrix(), right.matrix()),
    ):
        size = max(float(np.abs(b).max(initial=0.0)), np.finfo(float).tiny)
        np.testing.assert_allclose(a / size, b / size, atol=rounding, rtol=0, err_msg=what)


def check_merging(
    empty: Callable[[], Scatter], rows: Any, cuts: Iterable[int], sample_weight: Any = None
) -> None:
    """Law 1: any chunking, updated or merged in any order, equals one pass; empty is the identity.

    >>> from eigenstream.scatters import VelocityScatter
    >>> check_merging(lambda: VelocityScatter(2, lag=2), np.arange(12.0).reshape(6, 2), [1, 4])
    """
    cuts = list(cuts)
    whole = empty().update(rows, sample_weight=sample_weight)
    parts = chunked(rows, cuts)
    weights = [None] * len(parts) if sample_weight is None else chunked(sample_weight, cuts)
    grown = empty()
    scatters = []
    for part, weight in zip(parts, weights, strict=True):
        grown.update(part, sample_weight=weight)
        scatters.append(empty().update(part, sample_weight=weight))
    assert_same_scatter(grown, whole)
    from_left = scatters[0]
    for scatter in scatters[1:]:
        from_left = merge(from_left, scatter)
    from_right = scatters[-1]
    for scatter in scatters[-2::-1]:
        from_right = merge(scatter, from_right)
    assert_same_scatter(from_left, whole)
    assert_same_scatter(from_right, whole)
    for with_empty in (merge(empty(), whole), merge(whole, empty())):
        assert_same_scatter(with_empty, whole, rounding=0.0)


def check_reading(scatter: Scatter) -> None:
    """Assert that reading a scatter, or merging it, changes nothing of it.

    >>> from eigenstream.scatters import VarianceScatter
    >>> check_reading(VarianceScatter(1).update(np.array([[1.0], [2.0]])))
    """
    before = deepcopy(scatter)
    for _ in range(2):
        scatter.matrix()
        _ = scatter.mean, scatter.count, scatter.weight, repr(scatter)
        merge(scatter, scatter)
    assert_same_scatter(scatter, before, rounding=0.0)
    if isinstance(scatter, StreamScatter) and isinstance(before, StreamScatter):
        waiting = len(scatter._moment._pending), len(before._moment._pending)
        assert waiting[0] == waiting[1], "reading settled rows"


def assert_same_state(left: Mapping[str, Any], right: Mapping[str, Any]) -> None:
    """Assert that two states are flat, can be written to a file, and are equal to the last bit.

    >>> assert_same_state({"mean": np.zeros(2), "count": 3}, {"mean": np.zeros(2), "count": 3})
    """
    assert left.keys() == right.keys(), f"entries differ: {left.keys() ^ right.keys()}"
    for name, value in left.items():
        kind = np.asarray(value).dtype.kind
        assert kind in "biufU", f"{name} is no array, number or short string: {value!r}"
        assert np.ndim(value) > 0 or len(str(value)) < 200, f"{name} is too long a string"
        assert np.asarray(value).dtype == np.asarray(right[name]).dtype, f"{name}: dtypes differ"
        np.testing.assert_array_equal(value, right[name], err_msg=name)


def check_state(learned: Any, go_on: Callable[[Any], Any]) -> None:
    """Law 7: what is restored from a state, and the original, go on alike, to the last bit.

    >>> from eigenstream.scatters import VelocityScatter
    >>> rows = np.random.default_rng(0).standard_normal((100, 3))
    >>> check_state(VelocityScatter(3).update(rows[:30]), lambda scatter: scatter.update(rows[30:]))
    """
    state = learned.state()
    before = deepcopy(state)
    copy = type(learned).restored(state)
    assert_same_state(copy.state(), before)
    go_on(copy)
    assert_same_state(state, before)
    assert_same_state(learned.state(), before)
    go_on(learned)
    assert_same_state(copy.state(), learned.state())


def check_streaming(estimator: Any, X: Any, cuts: Iterable[int], angle: float = 1e-7) -> None:
    """Law 4, first half: ``partial_fit`` with any chunking learns what ``fit`` learns.

    >>> from eigenstream import StreamPCA
    >>> X = np.random.default_rng(0).standard_normal((20, 3)) * [3.0, 2.0, 1.0]
    >>> check_streaming(StreamPCA(n_components=2), X, cuts=[1, 2, 11])
    """
    whole = deepcopy(estimator).fit(X)
    grown = deepcopy(estimator)
    for part in chunked(X, cuts):
        grown.partial_fit(part)
    size = float(np.abs(whole.eigenvalues_).max(initial=0.0))
    np.testing.assert_allclose(grown.eigenvalues_, whole.eigenvalues_, atol=ROUNDING * size)
    np.testing.assert_allclose(grown.mean_, whole.mean_, atol=ROUNDING * np.abs(X).max())
    angles = principal_angles(grown.components_.T, whole.components_.T)
    assert angles.max() <= angle, f"subspaces differ by {angles.max():.3g} rad"
    assert grown.n_samples_seen_ == whole.n_samples_seen_ == len(X)


def check_transform(fitted: Any, X: Any) -> None:
    """Law 4, second half: rows are projected alike alone and together, and nothing changes.

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


def check_finite_everywhere(estimator: Any, X: Any) -> None:
    """Law 6: whatever finite data are learned, results are finite, and twice the same.

    >>> from eigenstream import StreamPCA
    >>> check_finite_everywhere(StreamPCA(n_components=2), np.ones((5, 3)))
    """
    first, second = (deepcopy(estimator).fit(X) for _ in range(2))
    for name in ("components_", "eigenvalues_", "mean_"):
        values = getattr(first, name)
        assert np.isfinite(values).all(), f"{name} is not finite"
        np.testing.assert_array_equal(values, getattr(second, name), err_msg=name)
    assert np.isfinite(first.transform(X)).all(), "transform is not finite"
    assert 0 <= first.rank_ <= X.shape[1], f"rank_ is {first.rank_}"
