"""The small problem of a block: new directions, the joint operator, and the cut back."""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import blas, lapack

from eigenstream._linalg import Float64s
from eigenstream.kernels.sketch import (
    TINY,
    conjugate_step,
    mirror,
    scaled_columns,
    to_unit_length,
)
from eigenstream.learners.sketch._plan import SketchPlan
from eigenstream.learners.sketch._terms import SketchTerms

#: The share of its square that a row must keep outside the frame and the directions before it to
#: give a direction of its own: far above rounding of the row's square, in either precision.
OWN = {8: 1e-12, 4: 1e-4}

#: Directions with less than such a share are orthogonal to the others to four digits only.
SMALL = 1e-10

#: Corrections with less than so many roundings of the rows' squares to them need a second look.
SHAKY = 1e3

#: A direction that rounding alone could have made so long, but for this factor, is not taken.
SOUND = 10.0

#: The share of its square that a correction must have beside those before it to be one of its own.
INDEPENDENT = 1e-10

#: Steps of conjugate gradients towards a correction: six change no share tried by .001.
STEPS = 3

#: What numbers are divided by at least, for each precision.
TINIEST = {np.dtype(kind): np.finfo(kind).tiny for kind in (np.float32, np.float64)}

#: Directions beyond the wanted ones, and of the lowest, that are moved in a reduced problem.
EXTRA, LOWEST = 10, 15


def moving(plan: SketchPlan, inside: Any) -> tuple[Any, int]:
    """Return the coordinates along directions that move in a reduced problem, the top ones first.

    And how many these are, with the ``plan.d`` wanted ones as the last of them.

    >>> plan = SketchPlan(2, (0.3, 0.7), lag=1)
    >>> moving(plan, np.arange(plan.highest + plan.lowest)[None])[0].tolist()
    [[8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 0, 1, 2, 3, 4, 5, 6, 7]]
    """
    r = inside.shape[1]
    high = min(plan.highest, plan.d + EXTRA, r)
    low = min(LOWEST, plan.lowest, r - high)
    return np.concatenate([inside[:, r - high :], inside[:, :low]], axis=1), high


class Directions(NamedTuple):
    """Orthonormal directions that the rows of a block add to the frame."""

    coordinates: Float64s  # of the block's rows along them
    triangle: Float64s
    chosen: Any
    scale: Float64s
    shaky: bool  # rounding shows in the directions

    def combinations(self, wanted: Float64s, inside: Any) -> tuple[Float64s, Float64s]:
        """Return weights of the rows (outside the frame) that sum to combinations of these.

        And what so many times the rows have ``inside`` the frame, by such coordinates.
        """
        out = np.zeros((wanted.shape[1], len(self.coordinates)))
        if len(self.chosen):
            solved = lapack.dtrtrs(self.triangle, wanted)[0]
            out[:, self.chosen] = (solved / self.scale[:, None]).T
        return out, out @ inside


def less_inside(gram: Any, inside: Any) -> Any:
    """Return the inner products of what rows have outside the frame, in the precision of these.

    Of the rows' own, the lower triangle is enough.

    >>> less_inside(np.array([[9.0, 0.0], [9.0, 9.0]]), np.array([[1.0], [2.0]])).tolist()
    [[8.0, 7.0], [7.0, 5.0]]
    """
    rest = np.array(gram, inside.dtype, order="C")
    if inside.size:
        # BLAS is column-major: the lower triangle of what lies row by row is its upper one.
        product = blas.dsyrk if rest.dtype == np.float64 else blas.ssyrk
        product(-1.0, inside.T, beta=1.0, c=rest.T, trans=1, lower=0, overwrite_c=1)
    mirror(rest)
    return rest


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


def of_rounding(sizes: Float64s, mean: Float64s) -> Float64s:
    """Return the squares that rounding to single precision has put into rows, on the average.

    Given their squares about a mean. A number is rounded by up to half an eps of it, all such
    errors alike: a third of the square.

    >>> bool(np.isclose(of_rounding(np.array([4.0]), np.zeros(9))[0], 4.0 / 3.0 * 2.0**-48))
    True
    """
    unit = 0.5 * float(np.finfo(np.float32).eps)
    return unit**2 / 3.0 * (np.sqrt(sizes) + float(np.linalg.norm(mean))) ** 2


def new_directions(
    rest: Float64s, sizes: Float64s, room: int, dtype: Any, rounded: Float64s | float = 0.0
) -> Directions:
    """Return directions from the Gram matrix of what lies outside the frame.

    Each row on a scale of its own, so that small ones beside large ones lose nothing. At most
    ``room`` directions, none of which rounding of the rows (by such squares) could have made.
    """
    share = OWN[dtype.itemsize]
    least = np.maximum(SOUND / share * rounded, TINY)
    scale = np.sqrt(np.maximum(sizes.astype(np.float64), least))
    own = rest / scale
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
    shaky = bool((triangle.diagonal() ** 2 < SMALL).any())
    return Directions(coordinates, triangle, chosen, scale[chosen], shaky)


class Cut(NamedTuple):
    """The eigenpairs that are kept, ascending, in coordinates of frame and new directions."""

    values: Float64s
    vectors: Float64s
    whole: bool  # nothing was cut off


def kept_pairs(matrix: Float64s, lowest: int, highest: int) -> Cut:
    """Return the lowest and the highest eigenpairs, all where there are no more."""
    values, vectors = np.linalg.eigh(matrix)
    if len(matrix) <= lowest + highest:
        return Cut(values, vectors, whole=True)
    kept = np.r_[:lowest, len(matrix) - highest : len(matrix)]
    return Cut(values[kept], vectors[:, kept], whole=False)


class Corrections(NamedTuple):
    """Orthonormal directions outside the frame that the kept ones want to move in."""

    coordinates: Any  # of the block's rows along them
    weights: Any  # of the rows (outside the frame) that sum to them
    shaky: bool  # rounding shows in the directions

    def combinations(self, wanted: Float64s, inside: Any) -> tuple[Any, Any]:
        """Return what those of ``Directions`` do."""
        turn = wanted.T.astype(self.weights.dtype)
        return turn @ self.weights.T, turn @ (self.weights.T @ inside)


def conjugate_steps(rest: Any, gap: float, given: Any, along: Any, terms: SketchTerms) -> Any:
    """Return about a = (1 - H rest / gap)^(-1) given and rest a, given along = rest given.

    None where the matrix is seen to be indefinite.

    By conjugate gradients, all columns at a time. What a column stands for is the sum of the rows
    outside the frame with these weights, and in the inner product of such sums, by ``rest``, the
    matrix is symmetric.
    """
    dtype = given.dtype
    held, along = np.zeros((5, *given.shape), dtype), np.ascontiguousarray(along)
    held[0], left = given, held[0]
    size, of_terms = np.zeros_like(left[0]), terms.factors(dtype)
    shrink = dtype.type(terms.unit / gap)
    for step in range(STEPS):
        if step:
            along = rest @ left
        if not conjugate_step(held, along, size, of_terms, shrink):
            return None
    return held[3], held[4]


def corrections(
    rest: Any,
    sizes: Any,
    gap: float,
    pulls: Any,
    high: int,
    terms: SketchTerms,
    dtype: Any,
) -> Corrections | None:
    """Return where the kept directions want to go, of the space that a block's rows add.

    The full problem is nearly diagonal: to first order the eigenvector of a value lam_j moves by
    (lam_j - M)^(-1) Y^T H k_j, Y the rows outside the frame, k_j their coordinates along it (the
    ``pulls`` are the H k_j of those that move, the ``high`` top ones first), and M = Y^T H Y. For
    the top ones lam_d stands for all lam_j: with its ``gap`` to what the frame leaves they move by
    Y^T a_j, a_j = (gap - H Y Y^T)^(-1) H k_j: no basis of all rows is needed. The lowest move by
    Y^T H k_j, their gradient. None where the gap is not above what the block rewards, as after an
    outlier: nothing is small then; or where numbers leave the precision of ``rest``, which all is
    in that is of the block's size. The eigenpairs are those among these directions, whatever they
    are, so that they need only be about right.
    """
    if not gap > 0:
        return None
    steps = scaled_columns(pulls, TINIEST[rest.dtype])
    along = rest @ steps
    solved = conjugate_steps(rest, gap, steps[:, :high], along[:, :high], terms)
    if solved is None:
        return None
    steps[:, :high], along[:, :high] = solved
    inner = (steps.T @ along).astype(np.float64, copy=False)
    scale, least = to_unit_length(inner, steps, sizes, float(np.finfo(dtype).eps), SOUND)
    if not np.isfinite(least):
        return None
    sound = scale > 0.0
    if not sound.any():
        return Corrections(along[:, :0], steps[:, :0], False)
    if not sound.all():
        steps, along, inner = steps[:, sound], along[:, sound], inner[np.ix_(sound, sound)]
        scale = scale[sound]
    tol = max(INDEPENDENT, SOUND * least)
    triangle, failed = lapack.dpotrf(inner.T, lower=1)
    last = triangle.diagonal().min()
    if failed or not last**2 > tol:
        triangle, order, rank, _ = lapack.dpstrf(inner.T, tol=tol, lower=1)
        chosen, last = order[:rank] - 1, triangle.diagonal()[rank - 1]
        triangle = np.asfortranarray(np.tril(triangle[:rank, :rank]))
        steps, along, scale = steps[:, chosen], along[:, chosen], scale[chosen]
    back = (lapack.dtrtri(triangle, lower=1)[0].T * scale[:, None]).astype(rest.dtype, copy=False)
    return Corrections(along @ back, steps @ back, bool(last**2 < SHAKY * least))
