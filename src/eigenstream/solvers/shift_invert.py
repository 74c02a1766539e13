"""Few positive eigenvalues just above a crowd: Lanczos iterations on the inverse of a shifted T.

With K classes and a small weight T is the scatter of K class means less that of all the rest: at
most K - 1 eigenvalues are positive, some as small as 1e-6 of the largest negative one, and below
zero is a crowd. Iterations with T itself, which tell eigenvalues apart by their distance relative
to the whole spectrum, find no end there. Those of (T - shift)^-1, with a shift amid the positive
ones, take some hundred steps of two triangular solves each.
"""

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from scipy.linalg import blas, eigh, eigh_tridiagonal, lapack

from eigenstream._linalg import Float64s, length
from eigenstream.solvers.base import Eigenpairs, Split, canonical, values_of

EPS = float(np.finfo(np.float64).eps)

#: Steps before it is given up: at 4160 rows about as long as forming T and decomposing it.
STEPS = 400

#: Steps between two looks at what has converged.
LOOK = 8

#: The error of an eigenvector of the inverse, relative to its eigenvalue, that is as good as none:
#: times the norm of T, it is what is left of T v - lambda v.
CONVERGED = 1e-14

#: The first shift is this times what no eigenvalue exceeds, and each other try this times the last;
#: one that is off by more than a factor of FAR is worth another factorisation.
NEXT, FAR = 1e-3, 3.0

#: What the last wanted eigenvalue is taken for, relative to the first, while it is not seen.
LEAST = 3e-3


class Shifted:
    """T less a positive multiple of the identity, factored: by Cholesky, and Woodbury's formula."""

    def __init__(self, split: Split, shift: float) -> None:
        self.shift = shift
        root = split.below.copy(order="F")
        root[np.diag_indices_from(root)] += shift
        self.root, failed = lapack.dpotrf(root, lower=1, overwrite_a=1, clean=0)
        if failed:
            raise RuntimeError("what is to be penalised is not positive semidefinite.")
        self._middle = split.middle
        self._half = blas.dtrsm(1.0, self.root, split.columns, lower=1)

    @property
    def above(self) -> int:
        """How many eigenvalues of T exceed the shift, by Sylvester's law of inertia."""
        return int((values_of(self._half, self._middle) > 1.0).sum())

    @cached_property
    def solved(self) -> Float64s:
        """(C + shift)^-1 P."""
        return np.asarray(blas.dtrsm(1.0, self.root, self._half, lower=1, trans_a=1))

    @cached_property
    def _core(self) -> Float64s:
        product = np.eye(len(self._middle)) - self._middle @ (self._half.T @ self._half)
        try:
            return np.asarray(np.linalg.solve(product, self._middle))
        except np.linalg.LinAlgError as failure:
            raise RuntimeError("the shift is an eigenvalue.") from failure

    def inverse_times(self, vector: Float64s) -> Float64s:
        """Return (T - shift)^-1 @ vector."""
        half = blas.dtrsv(self.root, vector, lower=1)
        plain = blas.dtrsv(self.root, half, lower=1, trans=1, overwrite_x=1)
        return np.asarray(-plain - self.solved @ (self._core @ (self.solved.T @ vector)))


def largest(split: Split, n_components: int, most: int, cut: float) -> Eigenpairs:
    """Return the largest eigenpairs of T, at most n_components, whose eigenvalues exceed ``cut``.

    Those and no others, by counts of inertia, with residuals no larger than what is lost when T is
    formed from its parts; RuntimeError where that cannot be shown, or there is none. ``most`` is a
    number that positive eigenvalues cannot exceed.

    >>> from eigenstream.solvers.base import Split
    >>> few = Split(np.diag([1.0, 2.0, 3.0]), np.array([[2.0], [0.0], [0.0]]), np.eye(1))
    >>> largest(few, 2, most=1, cut=1e-12).values.round(12)
    array([3.])
    """
    wanted = min(n_components, most, len(split.below))
    shift, better = split.bound(), 0.0
    while better == 0.0:
        if shift <= cut:
            raise RuntimeError("no eigenvalue is seen to be positive.")
        shift = max(NEXT * shift, cut)
        shifted = Shifted(split, shift)
        better = _between(split, shifted, wanted, cut)
    if max(better / shift, shift / better) > FAR:
        del shifted  # as large as T
        shifted = Shifted(split, better)
    positive = None
    for values, vectors in _candidates(shifted, wanted, cut):
        found = len(values)
        if found < wanted:
            positive = Shifted(split, cut).above if positive is None else positive
            complete = found == positive
        else:
            last = max(float(values[-1]) - cut, cut)
            complete = found == most or Shifted(split, last).above == found
        if complete:
            return _refined(split, vectors, cut)
    raise RuntimeError(f"the eigenvectors have not converged after {STEPS} steps.")


def _refined(split: Split, vectors: Float64s, cut: float) -> Eigenpairs:
    """Return the eigenpairs of T in a span, where errors of the eigenvalues are squares."""
    images = split.times(vectors)
    values, turn = eigh(vectors.T @ images)
    vectors, images = vectors @ turn, images @ turn
    missed = max(length(column) for column in (images - vectors * values).T)
    if missed > cut + len(vectors) * EPS * split.bound():
        raise RuntimeError(f"T moves the eigenvectors found by {missed:.3g} out of their span.")
    return canonical(values, vectors)


def _between(split: Split, shifted: Shifted, wanted: int, cut: float) -> float:
    """Return half the geometric mean of the largest and the last wanted eigenvalue, estimated.

    That is by what T looks like in the span of (C + shift)^-1 P, where the eigenvectors nearly are
    if the shift is not far from their eigenvalues; 0 if nothing positive is seen there.
    """
    basis = np.linalg.qr(shifted.solved)[0]
    values = np.linalg.eigvalsh(basis.T @ split.times(basis))[::-1]
    if values[0] <= cut:
        return 0.0
    last = values[min(wanted, len(values)) - 1]
    return 0.5 * float(np.sqrt(values[0] * max(last, LEAST * values[0], cut)))


def _candidates(shifted: Shifted, wanted: int, cut: float) -> Iterator[tuple[Float64s, Float64s]]:
    """Yield the largest eigenpairs above ``cut``, at most ``wanted``, when all have converged.

    Some may have been overlooked as yet: then go on.
    """
    size = len(shifted.solved)
    random = np.random.default_rng(0)
    # The wanted vectors are made of inverses of C + eigenvalue, applied to P: a start of that kind.
    start = shifted.solved @ random.standard_normal(shifted.solved.shape[1])
    steps = min(STEPS, size)
    basis = np.empty((size, steps + 1), order="F")
    basis[:, 0] = start / length(start)
    diagonal, beside = np.empty(steps), np.empty(steps)
    yielded = np.empty(0)
    for k in range(steps):
        seen = basis[:, : k + 1]
        image = shifted.inverse_times(seen[:, k])
        diagonal[k] = image @ seen[:, k]
        for _ in range(2):  # once leaves what rounding has left
            image -= seen @ (seen.T @ image)
        beside[k] = length(image)
        over = k + 1 == size or bool(beside[k] <= EPS * np.abs(diagonal[: k + 1]).max())
        if over or k % LOOK == LOOK - 1:
            inverse, small = eigh_tridiagonal(diagonal[: k + 1], beside[:k], check_finite=False)
            values = shifted.shift + 1.0 / np.where(inverse == 0.0, np.inf, inverse)
            top = np.argsort(-values, kind="stable")[:wanted]
            top = top[values[top] > cut]
            # The rest of an invariant subspace is nothing but rounding.
            error = (0.0 if over else beside[k]) * np.abs(small[-1, top])
            fresh = len(top) != len(yielded) or bool(np.abs(values[top] - yielded).max() > cut)
            if len(top) and fresh and (error <= CONVERGED * np.abs(inverse[top])).all():
                yielded = values[top]
                yield yielded, seen @ small[:, top]
        if over:
            return
        basis[:, k + 1] = image / beside[k]
