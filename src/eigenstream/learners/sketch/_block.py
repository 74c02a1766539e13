"""The small problem of a block: new directions, the joint operator, and the cut back."""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack

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
    crowding: float  # see ``crowded``; 1 where nobody has asked

    def combination(self, wanted: Float64s, terms: SketchTerms) -> Float64s:
        """Return weights of the rows (outside the frame) that sum to combinations of these."""
        out = np.zeros((len(self.coordinates), wanted.shape[1]))
        if len(self.chosen):
            solved = lapack.dtrtrs(self.triangle, wanted)[0]
            out[self.chosen] = solved / self.scale[:, None]
        return terms.transposed_differences(out)


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
    independent: bool = False,
) -> Directions:
    """Return directions from the Gram matrix of what lies outside the frame.

    A velocity where a row has a past, else the row: each on a scale of its own, so that slow
    streams, and small rows beside large ones, lose nothing. At most ``room`` directions.
    """
    share, floor = PRECISIONS[dtype.itemsize]
    own = terms.differences(np.ascontiguousarray(terms.differences(rest).T))
    crowding = crowded(own[terms.now][:, terms.now], room) if independent else 1.0
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
    return Directions(terms.sums(coordinates), triangle, chosen, scale[chosen], shaky, crowding)


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


def corrections(
    values: Float64s,
    outside: float,
    inside: Float64s,
    new: Float64s,
    terms: SketchTerms,
    plan: SketchPlan,
) -> Float64s | None:
    """Return an orthonormal basis of where the kept directions want to go, among the new ones.

    The full problem is nearly diagonal: to first order the eigenvector of a value lam_j moves by
    (lam_j - M_NN)^(-1) M_Nj, M_NN the operator on the new directions. For the top ones lam_d
    stands for all lam_j, so that one Cholesky factorisation serves; the lowest move by M_Nj, their
    gradient. None where lam_d is not above M_NN, as after an outlier: nothing is small then.
    """
    r = len(values)
    signed = terms.signed(new)
    gap = new.T @ signed
    np.negative(gap, out=gap)
    gap.reshape(-1)[:: len(gap) + 1] += values[r - plan.d] - outside
    factor, failed = lapack.dpotrf(gap.T, lower=1, clean=0, overwrite_a=1)
    if failed:
        return None
    low = min(LOWEST, plan.lowest)
    moving = np.concatenate([np.arange(low), np.arange(r - min(plan.highest, plan.d + EXTRA), r)])
    steps = np.asfortranarray(signed.T @ inside[:, moving])
    steps[:, low:] = lapack.dpotrs(factor, steps[:, low:], lower=1)[0]
    steps /= np.maximum(np.abs(steps).max(axis=0), TINY)
    steps /= np.sqrt(np.maximum(np.einsum("ij,ij->j", steps, steps), TINY))
    triangle, order, rank, _ = lapack.dpstrf((steps.T @ steps).T, tol=1e-10, lower=1)
    chosen = np.asfortranarray(steps[:, order[:rank] - 1].T)
    basis = lapack.dtrtrs(np.asfortranarray(triangle[:rank, :rank]), chosen, lower=1)[0]
    return np.asarray(basis.T)
