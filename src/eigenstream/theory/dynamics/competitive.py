"""On-line competitive learning: the equations of motion of its order parameters, and its chain."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import odeint
from scipy.linalg import helmert

from eigenstream._checks import check_number, check_whole, real_array
from eigenstream.theory.dynamics._assignments import (
    pair_winners,
    several_winners,
    soft_pair,
    soft_several,
    soft_triple,
)
from eigenstream.theory.dynamics._checked import as_rates, as_times
from eigenstream.theory.dynamics._loops import (
    competitive_chain,
    competitive_drift,
    competitive_error,
    turned,
    turned_back,
    turned_drift,
)
from eigenstream.theory.dynamics._orthants import EXACT, many_winners, root_of, soft_normals
from eigenstream.theory.dynamics.base import (
    Annealing,
    Dynamics,
    Trajectory,
    as_annealing,
)
from eigenstream.theory.mixing import Float64s

__all__ = ["CompetitiveDynamics"]

#: Of LSODA. A specialisation may start from 1e-10: the absolute tolerance must lie far below.
RELATIVE, ABSOLUTE = 1e-8, 1e-14

#: Prototypes nearer than this, relative to their size, are one prototype to rounding.
COINCIDENT = 1e-15


class CompetitiveDynamics(Dynamics):
    """K prototypes learn from clusters: J_k += (eta / N) p_k (xi - J_k) ([DYN] eq. 2.2).

    An example comes from cluster n with probability w_n: xi = sum_m D_nm B_m + sqrt(v_n) noise in N
    dimensions, B_m orthonormal. p picks the nearest prototype, or is soft. The equations close on
    R_km = J_k.B_m and Q_kl = J_k.J_l ([DYN] eq. 2.6), for any numbers of prototypes and clusters:
    up to five winners and two or three that share exactly (to 1e-10, three to 1e-7), more over
    fixed quasi-random sets (to about 3e-4 for six winners or four that share).

    Parameters
    ----------
    centres : array (clusters, directions)
        D: the clusters' centres in the basis B.
    n_prototypes : int, optional
        As many as clusters by default.
    eta : float
        The learning rate times N.
    weights, variances : array (clusters,), optional
        Equal weights and ones by default.
    softness : float, optional
        p = softmax of -beta |xi - J_k|^2 / 2 with this beta; by default the winner takes all.
    annealing : Annealing, optional
        A schedule's rates, which multiply ``eta``.

    Examples
    --------
    Two prototypes stay together on a plateau, then each goes to a cluster:

    >>> model = CompetitiveDynamics(np.eye(2), eta=0.5)
    >>> R, Q = [[0.01, 0.0], [0.0, 0.01]], np.eye(2) * 0.1
    >>> course = model.solve(R, Q, [0, 20, 200])
    >>> course.R[:, 0, 0].round(3), course.error.round(3)
    (array([0.01 , 0.58 , 1.114]), array([-0.133, -0.5  , -0.613]))
    """

    def __init__(
        self,
        centres: Any,
        *,
        eta: float = 1.0,
        n_prototypes: int | None = None,
        weights: Any = None,
        variances: Any = None,
        softness: float | None = None,
        annealing: Annealing | None = None,
    ) -> None:
        self.centres = real_array(centres, "centres").astype(np.float64)
        if self.centres.ndim != 2 or not self.centres.size or not np.isfinite(self.centres).all():
            raise ValueError(
                "centres must be a table of finite numbers, a row a cluster, a column a direction; "
                f"got shape {self.centres.shape}."
            )
        clusters, self.n_directions = self.centres.shape
        self.eta = check_number(eta, "eta", above=0)
        self.n_students = clusters
        if n_prototypes is not None:
            self.n_students = check_whole(n_prototypes, "n_prototypes")
        self.weights = as_rates(1.0 / clusters if weights is None else weights, "weights", clusters)
        if abs(self.weights.sum() - 1.0) > 1e-9:
            raise ValueError(f"weights must add up to 1, they add up to {self.weights.sum():g}.")
        self.variances = as_rates(1.0 if variances is None else variances, "variances", clusters)
        self.softness = None if softness is None else check_number(softness, "softness", above=0)
        self.annealing = as_annealing(annealing)
        self._clusters = (self.centres, self.weights, self.variances)

    def averages(self, R: Any, Q: Any) -> tuple[Float64s, Float64s, Float64s]:
        """Return P, A and <p p^T>, each with a first axis of clusters.

        P_nk is the probability that prototype k wins in cluster n, A_nkl the density of a tie
        between k and l (soft: beta <p_k p_l>).

        >>> model = CompetitiveDynamics([[1.0], [-1.0]], eta=1)
        >>> P, _, _ = model.averages([[0.5], [-0.5]], [[0.26, -0.24], [-0.24, 0.26]])
        >>> P.round(4)
        array([[0.8413, 0.1587],
               [0.1587, 0.8413]])
        """
        return self._averages(*self._state(R, Q))

    def drift(self, R: Any, Q: Any, *, alpha: float = 0.0) -> tuple[Float64s, Float64s]:
        """Return dR/dalpha and dQ/dalpha at one state.

        >>> model = CompetitiveDynamics(np.eye(2), eta=0.5)
        >>> dR, _ = model.drift(np.zeros((2, 2)), np.eye(2))
        >>> dR
        array([[0.125, 0.125],
               [0.125, 0.125]])
        """
        return self._speed(*self._state(R, Q), self.rate(alpha))

    def error(self, R: Any, Q: Any) -> float:
        """Return the quantisation error (<min_k d_k> - <xi^2>) / 2 ([DYN] eq. 2.14).

        For soft prototypes it is the error with p as weights.

        >>> model = CompetitiveDynamics(np.eye(2), eta=0.5)
        >>> round(model.error(np.eye(2), np.eye(2)), 4)
        -0.6996
        """
        R, Q = np.array(R, np.float64), np.array(Q, np.float64)
        return float(competitive_error(R, Q, self._clusters, self._averages(R, Q)))

    def solve(self, R: Any, Q: Any, alphas: Any) -> Trajectory:
        """Integrate from R and Q at alpha = 0 by LSODA, and return the states at ``alphas``.

        Two prototypes with R_11 - R_21 = R_22 - R_12 = 0 exactly, and all else symmetric, never
        specialise: chance does that at finite N. Give such a start a seed of about 1 / sqrt(N).

        >>> model = CompetitiveDynamics(np.eye(2), eta=0.5)
        >>> R, Q = np.eye(2) * 0.5, np.eye(2) * 0.3
        >>> course = model.solve(R, Q, np.linspace(0, 100, 201))
        >>> course.R.shape, round(course.when(course.R[:, 0, 0], 0.9), 2)
        ((201, 2, 2), 4.33)
        """
        R, Q = self._state(R, Q)
        grid = as_times(alphas)
        # The integrator is accurate relative to each variable. In means and contrasts a small
        # difference between prototypes, from which they specialise, is a variable of its own.
        frame = helmert(R.shape[0], full=True), helmert(R.shape[1], full=True)

        def speed(values: Float64s, alpha: float) -> Any:
            R, Q = turned_back(values, frame)
            eta = self.eta * self.rate(alpha)
            return turned_drift(R, Q, self._clusters, self._averages(R, Q), eta, frame)

        times = grid if grid[0] == 0 else np.concatenate([[0.0], grid])
        course, report = odeint(
            speed,
            turned(R, Q, frame),
            times,
            rtol=RELATIVE,
            atol=ABSOLUTE,
            mxstep=100_000,
            full_output=True,
        )
        if report["message"] != "Integration successful.":
            raise ArithmeticError(
                f"the equations could not be integrated to alpha = {times[-1]:g} "
                f"({report['message']}): use a smaller eta, or end earlier."
            )
        states = [turned_back(values, frame) for values in course[len(times) - len(grid) :]]
        return self._trajectory(grid, *(np.array(part) for part in zip(*states, strict=True)))

    def _state(self, R: Any, Q: Any) -> tuple[Float64s, Float64s]:
        """Return a checked state, refusing prototypes that coincide unless all share an example."""
        R, Q = super()._state(R, Q)
        if self.softness is None:
            squares = np.diag(Q)[:, None] - 2 * Q + np.diag(Q)
            near = squares <= COINCIDENT * max(float(np.diag(Q).max()), 1.0)
            pairs = np.argwhere(np.triu(near, 1))
            if len(pairs):
                first, second = pairs[0].tolist()
                raise ValueError(
                    f"prototypes {first} and {second} coincide, and which of them wins is not "
                    "defined: move them apart, 1e-6 is enough."
                )
        return R, Q

    def _averages(self, R: Float64s, Q: Float64s) -> tuple[Float64s, Float64s, Float64s]:
        clusters, K = len(self.centres), self.n_students
        found = np.zeros((clusters, K)), np.zeros((clusters, K, K)), np.zeros((clusters, K, K))
        if self.softness is not None and K == 2:
            soft_pair(R, Q, self._clusters, self.softness, found)
        elif self.softness is not None and K == 3:
            soft_triple(R, Q, self._clusters, self.softness, found)
        elif self.softness is not None:
            rule = (self.softness, soft_normals(K, self.softness), root_of(Q))
            soft_several(R, Q, self._clusters, rule, found)
        elif K == 2:
            pair_winners(R, Q, self._clusters, found)
        elif K <= EXACT + 1:
            several_winners(R, Q, self._clusters, found)
        else:
            many_winners(R, Q, self._clusters, found)
        return found

    def _speed(self, R: Float64s, Q: Float64s, factor: float) -> tuple[Float64s, Float64s]:
        averages = self._averages(R, Q)
        dR, dQ = competitive_drift(R, Q, self._clusters, averages, self.eta * factor)
        return dR, dQ

    def _chain(self, n_features: int) -> Callable[..., None]:
        rule = (n_features, 0.0 if self.softness is None else self.softness)

        def chain(R: Float64s, Q: Float64s, factors: Float64s, generator: Any) -> None:
            rates = factors * (self.eta / n_features)
            competitive_chain(R, Q, self._clusters, rule, rates, generator)

        return chain
