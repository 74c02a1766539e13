"""On-line competitive learning: the equations of motion of its order parameters, and its chain."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import odeint
from scipy.linalg import block_diag, helmert

from eigenstream.core.checks import (
    check_number,
    check_numbers,
    check_vectors,
    check_whole,
    real_array,
)
from eigenstream.theory.dynamics._averages import rank_averages, soft_pair, soft_several, winners
from eigenstream.theory.dynamics._loops import competitive_chain
from eigenstream.theory.dynamics.base import Annealing, Dynamics, check_annealing
from eigenstream.theory.mixing import Float64s

__all__ = ["CompetitiveDynamics"]

#: Tolerances of LSODA. A specialisation may start from 1e-10, far above the absolute tolerance.
RELATIVE, ABSOLUTE = 1e-8, 1e-14

#: Prototypes with a smaller squared distance, relative to their size, coincide to rounding.
COINCIDENT = 1e-15

#: The most prototypes with shares by rank. The time grows with the factorial of their number.
MOST_RANKED = 4


class CompetitiveDynamics(Dynamics):
    """K prototypes learn from clusters: J_k += (learning_rate / N) p_k (xi - J_k).

    An example comes from cluster n with probability w_n. It is
    xi = sum_m D_nm B_m + sqrt(v_n) noise in N dimensions, with orthonormal B_m. The vector p
    selects the nearest prototype, or is soft ([1]_ eq. 2.2).

    Parameters
    ----------
    centres : array-like of shape (n_clusters, n_directions)
        D: the centres of the clusters in the basis B.
    learning_rate : float, default=1.0
        The learning rate times N.
    n_prototypes : int, default=None
        By default the number of clusters.
    weights : array-like of shape (n_clusters,), default=None
        The probabilities of the clusters; equal by default.
    variances : array-like of shape (n_clusters,), default=None
        The variances of the clusters; 1 by default.
    softness : float, default=None
        The factor beta of the soft assignment p = softmax(-beta |xi - J_k|^2 / 2). By default the
        nearest prototype alone learns.
    neighborhood : array-like, default=None
        The shares of prototypes other than the nearest, at least 0. Entry (k, s) of a matrix is
        the share p_k if prototype s is the nearest, as in a self-organising map. Entry r of a
        vector is the share of the prototype with r nearer ones, as in neural gas.
    annealing : Annealing, default=None
        The rates of a schedule, which multiply ``learning_rate``.

    Notes
    -----
    In an exactly symmetric state with R_11 - R_21 = R_22 - R_12 = 0, two prototypes never
    specialise. At finite N noise breaks the symmetry. Start with a difference of about 1 / sqrt(N).

    The equations close on R_km = J_k.B_m and Q_kl = J_k.J_l ([1]_ eq. 2.6), for any numbers of
    prototypes and clusters. Averages are exact to rounding for up to three winners and two soft
    prototypes. More prototypes use fixed quasi-random sets, with an error of about 3e-4 for six
    winners or four soft prototypes. Maps use the averages of winners. Shares by rank need a sum
    over all orders of at most four prototypes.

    References
    ----------
    .. [1] M. Biehl, A. Freking, M. Hölzer, G. Reents and E. Schlösser, "The Dynamics of On-line
           Learning by Competitive and by Principal Component Methods", 1998.

    Examples
    --------
    Two prototypes stay together on a plateau, then each moves to one cluster:

    >>> model = CompetitiveDynamics(np.eye(2), learning_rate=0.5)
    >>> R, Q = [[0.01, 0.0], [0.0, 0.01]], np.eye(2) * 0.1
    >>> course = model.solve(R, Q, [0, 20, 200])
    >>> course.R[:, 0, 0].round(3), course.error.round(3)
    (array([0.01 , 0.58 , 1.114]), array([-0.133, -0.5  , -0.613]))

    A chain of three units on three clusters, with a neighbourhood of width 0.5:

    >>> places = np.arange(3)
    >>> shares = np.exp(-((places[:, None] - places) ** 2) / (2 * 0.5**2))
    >>> chain = CompetitiveDynamics(
    ...     2 * np.eye(3), learning_rate=0.3, neighborhood=shares
    ... )
    >>> course = chain.solve(0.1 * np.eye(3), 0.1 * np.eye(3), [0, 100])
    >>> course.R[-1].round(2)
    array([[ 1.84,  0.22, -0.05],
           [ 0.2 ,  1.61,  0.2 ],
           [-0.05,  0.22,  1.84]])
    """

    def __init__(
        self,
        centres: Any,
        *,
        learning_rate: float = 1.0,
        n_prototypes: int | None = None,
        weights: Any = None,
        variances: Any = None,
        softness: float | None = None,
        neighborhood: Any = None,
        annealing: Annealing | None = None,
    ) -> None:
        self.centres = check_vectors(centres, "centres")
        clusters, self.n_directions = self.centres.shape
        self.learning_rate = check_number(learning_rate, "learning_rate", above=0)
        self.n_students = clusters
        if n_prototypes is not None:
            self.n_students = check_whole(n_prototypes, "n_prototypes")
        positive: Any = {"count": clusters, "above": 0}
        self.weights = check_numbers(
            1.0 / clusters if weights is None else weights, "weights", **positive
        )
        if abs(self.weights.sum() - 1.0) > 1e-9:
            raise ValueError(f"weights has the sum {self.weights.sum():g}. The sum must be 1.")
        self.variances = check_numbers(
            1.0 if variances is None else variances, "variances", **positive
        )
        self.softness = None if softness is None else check_number(softness, "softness", above=0)
        self.neighborhood = self._shares(neighborhood)
        self.annealing = check_annealing(annealing)
        self._clusters = (self.centres, self.weights, self.variances)

    def error(self, R: ArrayLike, Q: ArrayLike) -> float:
        """Return the quantisation error (<min_k d_k> - <xi^2>) / 2.

        It is eq. 2.14 of Biehl et al. (1998), also with a neighborhood. For soft prototypes it is
        the error with p as weights.

        Parameters
        ----------
        R : array-like of shape (n_students, n_directions)
            The overlaps of the students with the directions.
        Q : array-like of shape (n_students, n_students)
            The products of the students.

        Returns
        -------
        float
            The error at this state.

        Examples
        --------
        >>> model = CompetitiveDynamics(np.eye(2), learning_rate=0.5)
        >>> round(model.error(np.eye(2), np.eye(2)), 4)
        -0.6996
        """
        R, Q = np.array(R, np.float64), np.array(Q, np.float64)
        P, A, _ = self._averages(R, Q)
        share, _, pulls = self._pulls(R, Q, P, slopes_of_ties(A))
        return float(-0.5 * share @ np.diag(Q) - np.trace(pulls))

    def _course(self, R: Float64s, Q: Float64s, grid: Float64s) -> tuple[Float64s, Float64s]:
        """Integrate by LSODA."""
        # The integrator is accurate relative to each variable. Prototypes specialise from a small
        # difference. In a basis of means and contrasts this difference is a separate variable.
        K, M = R.shape
        over = helmert(K, full=True)
        frame = block_diag(helmert(M, full=True), over)

        def turned(R: Float64s, Q: Float64s) -> Float64s:
            return np.asarray(over @ np.hstack([R, Q]) @ frame.T, np.float64).ravel()

        def turned_back(values: Float64s) -> tuple[Float64s, Float64s]:
            overlaps = over.T @ values.reshape(*values.shape[:-1], K, -1) @ frame
            return overlaps[..., :M], overlaps[..., M:]

        def speed(values: Float64s, t: float) -> Float64s:
            return turned(*self._speed(*turned_back(values), self.rate(t)))

        times = grid if grid[0] == 0 else np.concatenate([[0.0], grid])
        options: Any = {"rtol": RELATIVE, "atol": ABSOLUTE, "mxstep": 100_000, "full_output": True}
        course, report = odeint(speed, turned(R, Q), times, **options)
        if report["message"] != "Integration successful.":
            raise ArithmeticError(
                f"LSODA failed before t = {times[-1]:g}: {report['message']} "
                "Use a smaller learning rate, or end earlier."
            )
        return turned_back(course[len(times) - len(grid) :])

    def _state(self, R: ArrayLike, Q: ArrayLike) -> tuple[Float64s, Float64s]:
        """Return a checked state; without softness, coinciding prototypes raise ValueError."""
        R, Q = super()._state(R, Q)
        if self.softness is None:
            squares = np.diag(Q)[:, None] - 2 * Q + np.diag(Q)
            coincident = squares <= COINCIDENT * max(float(np.diag(Q).max()), 1.0)
            if np.triu(coincident, 1).any():
                raise ValueError(
                    "Two prototypes coincide, so the winner is not defined. Move them apart, for "
                    "example by 1e-6."
                )
        return R, Q

    def _averages(self, R: Float64s, Q: Float64s) -> tuple[Float64s, Float64s, Float64s]:
        """Return P, A and <p p^T>; the first axis is the cluster.

        P_nk is the probability that prototype k wins in cluster n. A_nkl is the density of a tie
        between k and l, or beta <p_k p_l> for soft prototypes. They do not depend on the
        neighborhood, and p is that of the winner alone.
        """
        fields, K = self.centres @ R.T - 0.5 * np.diag(Q), self.n_students
        if self.softness is None:
            averages = [winners(h, v * Q) for h, v in zip(fields, self.variances, strict=True)]
            P, A = (np.array(part) for part in zip(*averages, strict=True))
            return P, A, P[:, :, None] * np.eye(K)
        shares = soft_pair if K == 2 else soft_several
        spreads = self.variances[:, None, None] * Q
        products = np.array(
            [shares(*field, self.softness) for field in zip(fields, spreads, strict=True)]
        )
        return products.sum(axis=2), self.softness * products * (1 - np.eye(K)), products

    def _responses(self, R: Float64s, Q: Float64s) -> tuple[Float64s, Float64s, Float64s]:
        """Return <p_k>, <dp_k / dx_l> and <p_k p_l> of each cluster."""
        shares = self.neighborhood
        if shares is not None and shares.ndim == 1:
            fields = self.centres @ R.T - 0.5 * np.diag(Q)
            averages = [
                rank_averages(h, v * Q, shares) for h, v in zip(fields, self.variances, strict=True)
            ]
            p, slopes, products = (np.array(part) for part in zip(*averages, strict=True))
            return p, slopes, products
        P, A, products = self._averages(R, Q)
        slopes = slopes_of_ties(A)
        if shares is None:
            return P, slopes, products
        return P @ shares.T, shares @ slopes, (shares * P[:, None, :]) @ shares.T

    def _speed(self, R: Float64s, Q: Float64s, factor: float) -> tuple[Float64s, Float64s]:
        p, slopes, products = self._responses(R, Q)
        share, push, pulls = self._pulls(R, Q, p, slopes)
        noise = np.tensordot(self.weights * self.variances, products, 1)
        lr = self.learning_rate * factor
        return lr * (push - share[:, None] * R), lr * (pulls + pulls.T) + lr**2 * noise

    def _pulls(
        self, R: Float64s, Q: Float64s, p: Float64s, slopes: Float64s
    ) -> tuple[Float64s, Float64s, Float64s]:
        """Return <p_k>, <p_k xi> along the directions and <(x_i - Q_ik) p_k>, by parts."""
        weighted = self.weights[:, None] * p
        ties = np.tensordot(self.weights * self.variances, slopes, 1)
        share = weighted.sum(axis=0)
        push = weighted.T @ self.centres + ties @ R
        pulls = R @ (self.centres.T @ weighted) + Q @ ties.T - Q * share
        return share, push, pulls

    def _shares(self, neighborhood: Any) -> Float64s | None:
        """Return the checked shares of the neighborhood."""
        if neighborhood is None:
            return None
        K = self.n_students
        shares = real_array(neighborhood, "neighborhood").astype(np.float64)
        fits = shares.shape in ((K,), (K, K))
        if not (fits and np.isfinite(shares).all() and (shares >= 0).all() and shares.any()):
            raise ValueError(
                f"neighborhood must be a ({K}, {K}) matrix or {K} shares by rank, finite and at "
                f"least 0. It has shape {shares.shape}, or NaN, negative shares or only zeros."
            )
        if self.softness is not None:
            raise ValueError(
                "neighborhood and softness are both set. Pass softness=None for a neighborhood."
            )
        if shares.ndim == 1 and K > MOST_RANKED:
            raise ValueError(
                f"neighborhood has {K} shares by rank, which need {K}! orders. Use at most "
                f"{MOST_RANKED} prototypes or a matrix."
            )
        return shares

    def _walk(
        self, R: Float64s, Q: Float64s, factors: Float64s, n: int, generator: np.random.Generator
    ) -> None:
        shares = np.eye(self.n_students) if self.neighborhood is None else self.neighborhood
        softness = 0.0 if self.softness is None else self.softness
        rule = (n, softness, np.atleast_2d(shares), shares.ndim == 1)
        competitive_chain(R, Q, self._clusters, rule, factors * (self.learning_rate / n), generator)


def slopes_of_ties(A: Float64s) -> Float64s:
    """Return <dp_k / dx_l> of each cluster from the densities of ties."""
    slopes: Float64s = A.sum(axis=2)[:, :, None] * np.eye(A.shape[1]) - A
    return slopes
