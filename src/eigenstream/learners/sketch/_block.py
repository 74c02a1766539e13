"""The small problem of a block: new directions, the joint operator, and the cut back."""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import blas, lapack

from eigenstream._linalg import Float64s
from eigenstream.learners.sketch._plan import SketchPlan
from eigenstream.learners.sketch._terms import SketchTerms

#: The share of its own square that a row must keep outside the frame and the directions before it
#: to give a direction of its own, and the share of the row's square below which what is left over
#: is rounding; for rows in double and in single precision. Their product stands above rounding of
#: the row's square, in single precision only just: see SHAKY.
PRECISIONS = {8: (1e-5, 1e-7), 4: (1e-3, 1e-3)}

#: Directions with less than so many roundings of the row's square to them need a second look.
SHAKY = 1e3

#: A direction that rounding alone could have made so long, but for this factor, is not taken.
SOUND = 10.0

#: The share of its square that a correction must have beside those before it to be one of its own.
INDEPENDENT = 1e-10

#: Steps of conjugate gradients towards a correction: six change no share tried by .001.
STEPS = 3

#: Squares below this are taken for zero.
TINY = 1e-290

#: Directions beyond the wanted ones, and of the lowest, that are moved in a reduced problem.
EXTRA, LOWEST = 10, 15


class Directions(NamedTuple):
    """Orthonormal directions that the rows of a block add to the frame."""

    coordinates: Float64s  # of the block's rows along them
    triangle: Float64s
    chosen: Any
    scale: Float64s
    shaky: bool  # rounding shows in the directions

    def combination(self, wanted: Float64s, terms: SketchTerms) -> Float64s:
        """Return weights of the rows (outside the frame) that sum to combinations of these."""
        out = np.zeros((len(self.coordinates), wanted.shape[1]))
        if len(self.chosen):
            solved = lapack.dtrtrs(self.triangle, wanted)[0]
            out[self.chosen] = solved / self.scale[:, None]
        return terms.transposed_differences(out)


def less_inside(gram: Any, inside: Float64s) -> Any:
    """Return the inner products of what rows have outside the frame, in the place of the rows' own.

    >>> less_inside(np.array([[9.0, 9.0], [9.0, 9.0]]), np.array([[1.0], [2.0]])).tolist()
    [[8.0, 7.0], [7.0, 5.0]]
    """
    known = np.ascontiguousarray(inside, gram.dtype).T
    if not len(known):
        return gram
    product = blas.dgemm if gram.dtype == np.float64 else blas.sgemm
    return product(-1.0, known, known, 1.0, gram.T, trans_a=1, overwrite_c=1).T


def of_differences(rest: Float64s, terms: SketchTerms) -> Float64s:
    """Return the inner products of velocities where rows have a past, else of the rows."""
    return terms.differences(np.ascontiguousarray(terms.differences(rest).T))


def crowded(own: Float64s, room: int) -> float:
    """Return how many times its mean along all directions a vector has along others; at least 1.

    By the inner products of independent vectors: 1 if they point everywhere alike in ``room``
    dimensions, k if they lie in a k-th of them.
    """
    squares = own**2
    size = own.diagonal().copy()
    known = size > TINY
    n, total = int(known.sum()), float(size.sum())
    if n < 2:
        return 1.0
    along = (squares.sum(axis=1)[known] - squares.diagonal()[known]) / size[known]
    return max(room * float(along.mean()) / (total * (n - 1) / n), 1.0)


def new_directions(
    rest: Float64s,
    sizes: Float64s,
    terms: SketchTerms,
    room: int,
    dtype: Any,
) -> Directions:
    """Return directions from the Gram matrix of what lies outside the frame.

    A velocity where a row has a past, else the row: each on a scale of its own, so that slow
    streams, and small rows beside large ones, lose nothing. At most ``room`` directions.
    """
    share, floor = PRECISIONS[dtype.itemsize]
    own = of_differences(rest.astype(np.float64, copy=False), terms)
    scale = np.sqrt(np.maximum(np.maximum(own.diagonal(), floor * sizes), TINY))
    own /= scale
    own /= scale[:, None]
    m, order = len(own), np.arange(len(own))
    factor, failed = lapack.dpotrf(own.T, lower=0)
    if not failed and m <= room and factor.diagonal().min() ** 2 > share:
        rank, coordinates = m, factor.T * scale[:, None]
    else:
        factor, order, rank, _ = lapack.dpstrf(own.T, tol=share, lower=0)
        # dpstrf takes its first pivot whatever its size.
        rank, order = min(rank, room) if own.diagonal().max() > share else 0, order - 1
        coordinates = np.empty((m, rank))
        coordinates[order] = np.tril(factor.T[:, :rank]) * scale[order, None]
    triangle, chosen = factor[:rank, :rank], order[:rank]
    own_share = (triangle.diagonal() * scale[chosen]) ** 2
    shaky = bool((own_share < SHAKY * np.finfo(dtype).eps * sizes[chosen]).any())
    return Directions(terms.sums(coordinates), triangle, chosen, scale[chosen], shaky)


class Cut(NamedTuple):
    """The eigenpairs that are kept, ascending, in coordinates of frame and new directions."""

    values: Float64s
    vectors: Float64s
    whole: bool  # nothing was cut off


def kept_pairs(matrix: Float64s, lowest: int, highest: int) -> Cut:
    """Return the lowest and the highest eigenpairs, all where there are no more."""
    values, vectors = np.linalg.eigh(matrix)
    n = len(values)
    if n <= lowest + highest:
        return Cut(values, vectors, True)
    kept = np.concatenate([np.arange(lowest), np.arange(n - highest, n)])
    return Cut(values[kept], vectors[:, kept], False)


class Corrections(NamedTuple):
    """Orthonormal directions outside the frame that the kept ones want to move in."""

    coordinates: Float64s  # of the block's rows along them
    weights: Float64s  # of the rows (outside the frame) that sum to them
    shaky: bool  # rounding shows in the directions

    def combination(self, wanted: Float64s, _: SketchTerms) -> Float64s:
        """Return weights of the rows (outside the frame) that sum to combinations of these."""
        return np.asarray(self.weights @ wanted)


def conjugate_steps(rest: Any, gap: float, wanted: Any, along: Any, terms: SketchTerms) -> Any:
    """Return about a = (1 - H rest / gap)^(-1) wanted and rest a, given along = rest wanted.

    None where the matrix is seen to be indefinite.

    By conjugate gradients, all columns at a time. What a column stands for is the sum of the rows
    outside the frame with these weights, and in the inner product of such sums, by ``rest``, the
    matrix is symmetric.
    """
    dtype, tiny = wanted.dtype.type, float(np.finfo(wanted.dtype).tiny)
    found, image_found = np.zeros_like(wanted), np.zeros_like(wanted)
    left = towards = wanted
    moved = along
    size = np.einsum("ij,ij->j", left, along)
    for step in range(STEPS):
        image = towards - terms.signed(moved) * dtype(1.0 / gap)
        curved = np.einsum("ij,ij->j", moved, image)
        if not (curved >= 0).all():
            return None
        length = size / np.maximum(curved, tiny)
        found += length * towards
        image_found += length * moved
        if step + 1 < STEPS:
            left = left - length * image
            along = rest @ left
            before, size = size, np.einsum("ij,ij->j", left, along)
            turn = size / np.maximum(before, tiny)
            towards, moved = left + turn * towards, along + turn * moved
    return found, image_found


def corrections(
    rest: Float64s,
    sizes: Float64s,
    gap: float,
    pulls: Float64s,
    terms: SketchTerms,
    plan: SketchPlan,
    dtype: Any,
) -> Corrections | None:
    """Return where the kept directions want to go, of the space that a block's rows add.

    The full problem is nearly diagonal: to first order the eigenvector of a value lam_j moves by
    (lam_j - M)^(-1) Y^T H k_j, Y the rows outside the frame, k_j their coordinates along it (the
    ``pulls`` are the H k_j), and M = Y^T H Y. For the top ones lam_d stands for all lam_j: with its
    ``gap`` to what the frame leaves they move by Y^T a_j, a_j = (gap - H Y Y^T)^(-1) H k_j: no
    basis of all rows is needed. The lowest move by Y^T H k_j, their gradient. None where the gap is
    not above what the block rewards, as after an outlier: nothing is small then. Rows in single
    precision have a_j found in it: the eigenpairs are those among these directions, whatever they
    are, so that they need only be about right.
    """
    if not gap > 0:
        return None
    low, r = min(LOWEST, plan.lowest), pulls.shape[1]
    high = min(plan.highest, plan.d + EXTRA)
    moving = np.concatenate([np.arange(r - high, r), np.arange(low)])
    steps = pulls[:, moving]
    steps /= np.maximum(np.abs(steps).max(axis=0), TINY)
    given = steps.astype(rest.dtype, copy=False)
    along = rest @ given
    wanted, image = np.ascontiguousarray(given[:, :high]), np.ascontiguousarray(along[:, :high])
    solved = conjugate_steps(rest, gap, wanted, image, terms)
    if solved is None:
        return None
    steps[:, :high], along[:, :high] = solved
    along = along.astype(np.float64, copy=False)
    size = np.einsum("ij,ij->j", steps, along)
    # What rounding of the rows' inner products makes of that.
    rounding = float(np.finfo(dtype).eps) * (sizes @ steps**2)
    sound = size > np.maximum(SOUND * rounding, TINY)
    scale = 1.0 / np.sqrt(size[sound])
    steps, along, least = steps[:, sound] * scale, along[:, sound] * scale, 0.0
    if not len(scale):
        return Corrections(along, steps, False)
    least = float((rounding[sound] / size[sound]).max())
    inner, tol = (steps.T @ along).T, max(INDEPENDENT, SOUND * least)
    if sound.all():
        triangle, failed = lapack.dpotrf(inner, lower=1)
        last = triangle.diagonal().min()
        if not failed and last**2 > tol:
            back = lapack.dtrtri(triangle, lower=1)[0].T
            return Corrections(along @ back, steps @ back, bool(last**2 < SHAKY * least))
    triangle, order, rank, _ = lapack.dpstrf(inner, tol=tol, lower=1)
    chosen, last = order[:rank] - 1, triangle.diagonal()[rank - 1]
    back = lapack.dtrtri(np.asfortranarray(triangle[:rank, :rank]), lower=1)[0].T
    shaky = bool(last**2 < SHAKY * least)
    return Corrections(along[:, chosen] @ np.triu(back), steps[:, chosen] @ np.triu(back), shaky)
