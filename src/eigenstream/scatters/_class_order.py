"""An order of classes by where their rows lie: names, units and the order of rows do not matter."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream._checks import is_sparse
from eigenstream._linalg import Float64s
from eigenstream._memory import chunk_rows

#: Decimal places, relative to the spread of all rows, in which classes must differ to be told
#: apart: more than sums of float32 rows lose in other chunks.
PLACES = 6


def order_of(
    far: Float64s, sizes: Float64s, mean_of: Callable[[int], Any] | None = None
) -> list[int]:
    """Return the numbers of classes, near ones first; where they tie, small ones, then by means.

    ``far`` is the mean squared distance of a class's rows from the mean of all rows, ``sizes`` are
    its weights, and ``mean_of`` returns where its own mean lies from that. Classes that agree in
    all of it, as mirrored ones do in the first two, stay as they are.

    >>> order_of(np.array([4.0, 1.0, 4.0]), np.ones(3), lambda k: np.array([2.0 - k]))
    [1, 2, 0]
    """
    unit = float(sizes @ far / sizes.sum()) if sizes.sum() > 0 else 0.0
    unit = unit if unit > 0 else 1.0
    places = np.round(far / unit, PLACES), np.round(sizes / max(float(sizes.sum()), 1e-300), 9)
    found: list[int] = np.lexsort(places[::-1]).tolist()
    if mean_of is None:
        return found
    runs: dict[Any, list[int]] = {}
    for k in found:
        runs.setdefault((places[0][k], places[1][k]), []).append(k)

    def by_mean(k: int) -> Any:
        return (np.round(mean_of(k) / np.sqrt(unit), PLACES) + 0.0).tolist()

    return [k for run in runs.values() for k in (sorted(run, key=by_mean) if run[1:] else run)]


def order_of_rows(
    rows: Any, codes: NDArray[np.intp], n_classes: int, weights: Any = None
) -> list[int]:
    """Return the numbers of classes in order, from all rows, in two passes over them."""
    w = np.ones(len(codes)) if weights is None else np.asarray(weights, np.float64)
    sizes = np.asarray(np.bincount(codes, w, n_classes), np.float64)
    if len(codes) == 0:
        return []
    step = chunk_rows(rows.shape[1])
    blocks = [slice(start, start + step) for start in range(0, len(codes), step)]

    def block(part: Any) -> Float64s:
        some = rows[part]
        return np.asarray(some.toarray() if is_sparse(some) else some, np.float64)

    # Shifted by a row, sums are of small numbers.
    mean = block(slice(0, 1))[0]
    mean = mean + sum(w[part] @ (block(part) - mean) for part in blocks) / sizes.sum()
    far = np.zeros(n_classes)
    for part in blocks:
        apart = block(part) - mean
        squares = np.einsum("ij,ij->i", apart, apart)
        far += np.bincount(codes[part], w[part] * squares, n_classes)

    def mean_of(k: int) -> Float64s:
        mine = np.flatnonzero(codes == k)
        return np.asarray(w[mine] @ (block(mine) - mean) / sizes[k])

    return order_of(far / sizes, sizes, mean_of)


def order_of_gram(
    G: Any, codes: NDArray[np.intp], n_classes: int, weights: Any = None
) -> list[int]:
    """Return the numbers of classes in order, from the inner products of their rows."""
    w = np.ones(len(codes)) if weights is None else np.asarray(weights, np.float64)
    sizes = np.asarray(np.bincount(codes, w, n_classes), np.float64)
    to_mean = np.asarray(G @ (w / w.sum()), np.float64)
    squares = np.diagonal(G) - 2.0 * to_mean + w @ to_mean / w.sum()
    return order_of(np.bincount(codes, w * squares, n_classes) / sizes, sizes)


def order_of_moments(weights: Sequence[float], means: Sequence[Any], squares: Any) -> list[int]:
    """Return the numbers of classes in order, from their weights, means and sums of squares.

    The squares are those of distances from the class's own mean.
    """
    sizes = np.asarray(weights, np.float64)
    some = np.where(sizes > 0, sizes, 1.0)
    mean = sum(w * m for w, m in zip(sizes, means, strict=True)) / max(float(sizes.sum()), 1e-300)
    apart = np.array([float((m - mean) @ (m - mean)) for m in means])
    return order_of(np.asarray(squares) / some + apart, sizes, lambda k: means[k] - mean)
