"""What a sketch does with the small matrices of a block that would be many passes over them."""

from typing import Any

import numpy as np

from eigenstream.kernels.base import njit

__all__ = [
    "added_forms",
    "centre",
    "conjugate_step",
    "inner_of_terms",
    "magnitude",
    "mirror",
    "movement",
    "nearest_turn",
    "scaled_columns",
    "signed_sum",
    "squares_of_terms",
    "to_unit_length",
]

#: Rows and columns that are turned at a time.
TILE = 16

#: Squares below this are taken for zero.
TINY = 1e-290


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def added_forms(
    forms: Any, outside: Any, rewarded: Any, penalised: Any, scales: Any, size: int
) -> Any:
    """Return forms in ``size`` directions, with what a block adds to each; in one pass over all.

    The new directions have the mean from ``outside``, a number a form. ``scales``: how many times
    each form takes the block's rewarded terms, and its penalised ones, which may be of no size.
    What these have beyond the ``size`` is left aside.

    >>> forms, one = np.ones((1, 1, 1)), np.ones((3, 3))
    >>> added_forms(forms, np.array([5.0]), one, one[:0], np.array([[2.0, 0.0]]), 2)
    array([[[3., 2.],
            [2., 7.]]])
    """
    count, r = forms.shape[0], forms.shape[1]
    out = np.empty((count, size, size))
    for k in range(count):
        of_rewarded, of_penalised = scales[k, 0], scales[k, 1]
        for i in range(size):
            for j in range(size):
                out[k, i, j] = of_rewarded * rewarded[i, j]
            if penalised.shape[0]:
                for j in range(size):
                    out[k, i, j] += of_penalised * penalised[i, j]
            if i < r:
                for j in range(r):
                    out[k, i, j] += forms[k, i, j]
            else:
                out[k, i, i] += outside[k]
    return out


@njit(cache=True, error_model="numpy", nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def centre(rows: Any, mean: Any, first: int, out: Any) -> None:
    """Write rows less the mean, from their ``first`` column on, to ``out`` in its precision.

    The difference is rounded, not the mean: that is the same in all rows, and adds up.

    >>> out = np.empty((1, 2), np.float32)
    >>> centre(np.array([[0, 1, 2]], np.float32), np.array([9.0, 1.0 + 1e-9, 1.0]), 1, out)
    >>> out.tolist()
    [[-1.000000082740371e-09, 1.0]]
    """
    width = out.shape[1]
    centre = mean[first : first + width]
    for i in range(out.shape[0]):
        row, less = rows[i, first : first + width], out[i]
        for j in range(width):
            less[j] = row[j] - centre[j]


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def mirror(matrix: Any) -> None:
    """Write the lower triangle of a square matrix over the upper one.

    >>> matrix = np.array([[1.0, 0.0], [2.0, 3.0]])
    >>> mirror(matrix)
    >>> matrix
    array([[1., 2.],
           [2., 3.]])
    """
    n = matrix.shape[0]
    for top in range(0, n, TILE):
        bottom = min(top + TILE, n)
        for left in range(0, bottom, TILE):
            if left < top and bottom - top == TILE:  # a whole tile: loops of fixed length
                for j in range(left, left + TILE):
                    for i in range(top, top + TILE):
                        matrix[j, i] = matrix[i, j]
            else:
                for i in range(top, bottom):
                    for j in range(left, min(left + TILE, i)):
                        matrix[j, i] = matrix[i, j]


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def signed_sum(C: Any, now: Any, past: Any, gains: Any, losses: Any, share: Any) -> Any:
    """Return H C: a row of C for each row of the block, and one for each of H's.

    The quadratic form of H is the sum over terms of gain x^2 - loss (x - y)^2, x the row ``now`` of
    a term and y its ``past``; less share (sum gain x)^2. No losses: no pasts either. All in the
    precision of C.

    >>> C, one = np.array([[1.0], [3.0]]), np.array([2.0])
    >>> now, past = np.array([1]), np.array([0])
    >>> signed_sum(C, now, past, one, one, 0.0)
    array([[4.],
           [2.]])
    >>> signed_sum(C, now, past[:0], one, one[:0], 0.5)
    array([[0.],
           [0.]])
    """
    columns = C.shape[1]
    out, total = np.zeros_like(C), np.zeros_like(C[0])
    for t in range(now.shape[0]):
        i, gain = now[t], gains[t]
        for j in range(columns):
            out[i, j] += gain * C[i, j]
            total[j] += gain * C[i, j]
    for t in range(past.shape[0]):
        i, k, loss = now[t], past[t], losses[t]
        for j in range(columns):
            lost = loss * (C[i, j] - C[k, j])
            out[i, j] -= lost
            out[k, j] += lost
    if share != 0.0:
        for j in range(columns):
            total[j] *= share
        for t in range(now.shape[0]):
            i, gain = now[t], gains[t]
            for j in range(columns):
                out[i, j] -= gain * total[j]
    return out


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def conjugate_step(held: Any, along: Any, size: Any, terms: Any, shrink: Any) -> bool:
    """Take a step of conjugate gradients, all columns at a time; False if one finds no minimum.

    Towards the solution of (1 - shrink H R) a = w, H of ``signed_sum`` of the ``terms``, symmetric
    in the inner product by R. ``held``, changed: what is left of w, the directions and R times
    these, the solution so far and R times that; at first w and zeros. ``along`` is R times what is
    left, ``size`` the squares of that before, changed; at first zeros.

    >>> held, one, none = np.zeros((5, 1, 1)), np.ones(1), np.zeros(1, np.int64)
    >>> held[0], along, terms = 3.0, np.array([[3.0]]), (none, none[:0], one, one[:0], 0.0)
    >>> conjugate_step(held, along, np.zeros(1), terms, 0.25), held[3]
    (True, array([[4.]]))
    """
    _turn_directions(held, along, size)
    image = signed_sum(held[2], terms[0], terms[1], terms[2], terms[3], terms[4])
    return bool(_move_along(held, image, size, shrink))


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _turn_directions(held: Any, along: Any, size: Any) -> None:
    """Turn the directions towards what is left, and note its squares."""
    rows, columns = along.shape
    fresh = np.zeros_like(size)
    for i in range(rows):
        for j in range(columns):
            fresh[j] += held[0, i, j] * along[i, j]
    for j in range(columns):
        turn = fresh[j] / size[j] if size[j] > 0.0 else size[j]
        size[j], fresh[j] = fresh[j], turn
    for i in range(rows):
        for j in range(columns):
            held[1, i, j] = held[0, i, j] + fresh[j] * held[1, i, j]
        for j in range(columns):
            held[2, i, j] = along[i, j] + fresh[j] * held[2, i, j]


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _move_along(held: Any, image: Any, size: Any, shrink: Any) -> bool:
    """Move along the directions as far as is best, given H R times these, which is written over."""
    rows, columns = image.shape
    length = np.zeros_like(size)
    for i in range(rows):
        for j in range(columns):
            image[i, j] = held[1, i, j] - shrink * image[i, j]
            length[j] += held[2, i, j] * image[i, j]
    for j in range(columns):
        if not length[j] >= 0.0:
            return False
        length[j] = size[j] / length[j] if length[j] > 0.0 else length[j]
    for i in range(rows):
        for j in range(columns):
            held[3, i, j] += length[j] * held[1, i, j]
        for j in range(columns):
            held[4, i, j] += length[j] * held[2, i, j]
        for j in range(columns):
            held[0, i, j] -= length[j] * image[i, j]
    return True


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def nearest_turn(matrix: Any, out: Any) -> bool:
    """Write the orthogonal matrix nearest to one whose singular values are at most 1.

    By steps that take each singular value s to s (3 - s^2) / 2: few, where none is near 0. False if
    it takes more than thirty.

    >>> out = np.empty((2, 2))
    >>> nearest_turn(np.array([[0.0, -0.5], [0.9, 0.0]]), out), out.round(12)
    (True, array([[ 0., -1.],
           [ 1.,  0.]]))
    """
    d = matrix.shape[0]
    gram, step = np.empty((d, d)), np.empty((d, d))
    out[:] = matrix
    for _ in range(30):
        gram[:] = 0.0
        for i in range(d):
            for j in range(d):
                for k in range(d):
                    gram[j, k] += out[i, j] * out[i, k]
        away = 0.0
        for j in range(d):
            for k in range(d):
                away += (gram[j, k] - (1.0 if j == k else 0.0)) ** 2
        step[:] = 0.0
        for i in range(d):
            for j in range(d):
                for k in range(d):
                    step[i, k] += out[i, j] * gram[j, k]
        for i in range(d):
            for j in range(d):
                out[i, j] = 1.5 * out[i, j] - 0.5 * step[i, j]
        if away < 1e-16:  # the step has squared what it is the square of
            return True
        if not away < 2.0 * d:  # larger values, or NaN
            return False
    return False


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def movement(across: Any, own: Any, turned: Any, turn: Any) -> tuple[Any, Any]:
    """Return how far gradients go along the frame's movement, and what of it is still to be gone.

    A number for each vector of the frame: the gradients' inner products with the older frame are
    ``across`` - ``own`` ``turned``, those of ``turn``, the older frame turned to the frame, with
    the frame are ``turn`` ``turned``^T. The second number is the square of what the older vector
    lacks of the frame.

    >>> one = np.ones((1, 1))
    >>> movement(3 * one, 2 * one, 0.5 * one, one)
    (array([2.]), array([0.75]))
    """
    d = turned.shape[0]
    along, lacks = np.zeros(d), np.empty(d)
    for i in range(d):
        found = 0.0
        for j in range(d):
            gradient, inner = np.float64(across[i, j]), 0.0
            for k in range(d):
                gradient -= own[i, k] * turned[k, j]
                inner += turn[i, k] * turned[j, k]
            along[i] += gradient * turn[i, j]
            found += inner * inner
        lacks[i] = max(1.0 - found, 0.0)
    return along, lacks


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"})  # type: ignore[untyped-decorator, unused-ignore]
def magnitude(matrix: Any) -> float:
    """Return the root of the sum of all squares, added up in double precision.

    >>> magnitude(np.array([[3.0], [4.0]], np.float32))
    5.0
    """
    total = 0.0
    for i in range(matrix.shape[0]):
        row = matrix[i]
        for j in range(row.shape[0]):
            total += np.float64(row[j]) * np.float64(row[j])
    return float(np.sqrt(total))


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def scaled_columns(matrix: Any, least: Any) -> Any:
    """Return columns divided by their largest entry, or by ``least`` if that is larger.

    >>> scaled_columns(np.array([[1.0, 0.0], [-2.0, 0.0]]), 1e-9)
    array([[ 0.5,  0. ],
           [-1. ,  0. ]])
    """
    rows, columns = matrix.shape
    out, size = np.empty_like(matrix), np.empty_like(matrix[0])
    size[:] = least
    for i in range(rows):
        row = matrix[i]
        for j in range(columns):
            size[j] = max(size[j], abs(row[j]))
    for i in range(rows):
        row, scaled = matrix[i], out[i]
        for j in range(columns):
            scaled[j] = row[j] / size[j]
    return out


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def squares_of_terms(
    gram: Any, now: Any, past: Any, weights: Any, past_weights: Any
) -> tuple[float, float]:
    """Return sum w |x|^2 and sum w' |x - y|^2, given the lower triangle of rows' inner products.

    x are the rows ``now``, y the rows ``past``, which come before them; none where nothing is
    penalised.

    >>> gram, one = np.array([[4.0, np.nan], [1.0, 9.0]]), np.ones(1)
    >>> squares_of_terms(gram, np.array([1]), np.array([0]), 2.0 * one, one)
    (18.0, 11.0)
    """
    whole, moved = 0.0, 0.0
    for t in range(now.shape[0]):
        whole += weights[t] * gram[now[t], now[t]]
    for t in range(past.shape[0]):
        i, k = now[t], past[t]
        size = np.float64(gram[i, i]) + np.float64(gram[k, k]) - 2.0 * np.float64(gram[i, k])
        moved += past_weights[t] * max(size, 0.0)
    return whole, moved


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def to_unit_length(
    inner: Any, steps: Any, sizes: Any, unit: float, sound: float
) -> tuple[Any, float]:
    """Scale inner products of combinations of rows to those of combinations of length 1.

    And return the scales, 0 of those that rounding could have made, and the largest share of a
    square that rounding has, of the others. ``steps`` are the weights of the rows, ``sizes`` their
    squares, of which rounding has ``unit`` each; ``sound`` times that is not enough. Infinite
    where a square is none.

    >>> inner, steps = np.array([[4.0, 2.0], [2.0, 9.0]]), np.eye(2)
    >>> to_unit_length(inner, steps, np.ones(2), 1e-9, 10.0)
    (array([0.5       , 0.33333333]), 2.5e-10)
    >>> inner.round(3)
    array([[1.   , 0.333],
           [0.333, 1.   ]])
    """
    rows, columns = steps.shape
    scale, worst = np.zeros(columns), 0.0
    for i in range(rows):
        row, size = steps[i], np.float64(sizes[i])
        for j in range(columns):
            scale[j] += size * np.float64(row[j]) ** 2
    for j in range(columns):
        size, rounding = inner[j, j], unit * scale[j]
        if not np.isfinite(size):
            worst = np.inf
        scale[j] = 0.0
        if size > max(sound * rounding, TINY):
            scale[j] = 1.0 / np.sqrt(size)
            worst = max(worst, rounding / size)
    for i in range(columns):
        for j in range(columns):
            inner[i, j] *= scale[i] * scale[j]
    return scale, worst


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def inner_of_terms(gram: Any, now: Any, past: Any) -> Any:
    """Return the inner products of terms x - y, in double precision, given those of the rows.

    x are the rows ``now``, y the rows ``past``; no pasts: of the x.

    >>> gram = np.array([[4.0, 1.0], [1.0, 9.0]])
    >>> now, past = np.array([1]), np.array([0])
    >>> inner_of_terms(gram, now, past), inner_of_terms(gram, now, past[:0])
    (array([[11.]]), array([[9.]]))
    """
    n = now.shape[0]
    out = np.empty((n, n))
    for s in range(n):
        row = gram[now[s]]
        for t in range(n):
            out[s, t] = row[now[t]]
    for s in range(past.shape[0]):
        row, before = gram[now[s]], gram[past[s]]
        for t in range(n):
            of_past = np.float64(row[past[t]]) - np.float64(before[past[t]])
            out[s, t] -= np.float64(before[now[t]]) + of_past
    return out
