"""Sanger's rule: equations of motion, fixed points, growth rates."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from eigenstream.core.checks import check_number, check_numbers, check_whole, warn_user
from eigenstream.theory.dynamics._advice import Advice, unit_advice
from eigenstream.theory.dynamics._loops import lawson, principal_chain, principal_drift
from eigenstream.theory.dynamics.base import Annealing, Dynamics, check_annealing
from eigenstream.theory.mixing import Float64s

__all__ = ["PrincipalDynamics"]

#: A step of the integrator, times the fastest rate of an overlap. Smaller steps are more accurate
#: and slower.
STEP = 0.05

#: The number of steps between two choices of the step size.
LOOK = 16

#: exp(-36) is the rounding of float64. A computed plateau with X = 0 lasts at most this over its
#: rate.
ROUNDING = 36.0


class PrincipalDynamics(Dynamics):
    """M units learn principal components: J_l += (rate_l / N) x_l (xi - sum_{k <= l} x_k J_k).

    The data are white noise with larger variance (1 + b_j)^2 along m orthonormal directions B_j
    ([1]_ section 3). Each J_l is divided by its length after each step. With one unit this is
    Oja's rule.

    Parameters
    ----------
    strengths : array-like of shape (n_directions,)
        The b_j > 0, in descending order. beta_j = b_j (b_j + 2) is the excess variance.
    learning_rate : float or array-like of shape (n_units,), default=1.0
        The learning rates times N.
    n_units : int, default=None
        By default the number of directions.
    annealing : Annealing, default=None
        The rates of a schedule, which multiply ``learning_rate``.

    Attributes
    ----------
    excess : array of shape (n_directions,)
        The beta_j.

    Notes
    -----
    Plateaus depend on the linear dependence of the overlaps, which ``solve`` preserves to rounding.
    From exactly dependent overlaps, rounding ends a plateau after about 36 / gamma_k. Later states
    are artefacts, and ``solve`` warns.

    References
    ----------
    .. [1] M. Biehl, A. Freking, M. Hölzer, G. Reents and E. Schlösser, "The Dynamics of
           On-line Learning by Competitive and by Principal Component Methods", 1998.

    Examples
    --------
    The first component is found early, the second only after a plateau:

    >>> model = PrincipalDynamics([0.6, 0.4], learning_rate=0.1)
    >>> R = np.array([[0.06, 0.06], [0.06, 0.06 + 1e-8]])
    >>> course = model.solve(R, np.eye(2), [0, 40, 300])
    >>> np.abs(course.R[:, [0, 1], [0, 1]]).round(2)
    array([[0.06, 0.06],
           [0.96, 0.02],
           [0.96, 0.95]])
    """

    unit_length = True

    def __init__(
        self,
        strengths: Any,
        *,
        learning_rate: Any = 1.0,
        n_units: int | None = None,
        annealing: Annealing | None = None,
    ) -> None:
        self.strengths = check_numbers(strengths, "strengths", above=0)
        if (np.diff(self.strengths) > 0).any():
            raise ValueError(f"strengths={strengths} increases. Pass the largest value first.")
        self.excess = self.strengths * (self.strengths + 2.0)
        self.n_directions = len(self.strengths)
        self.n_students = self.n_directions if n_units is None else check_whole(n_units, "n_units")
        self.learning_rate = check_numbers(
            learning_rate, "learning_rate", count=self.n_students, above=0
        )
        self.annealing = check_annealing(annealing)
        self._model = self.excess, self.learning_rate

    @classmethod
    def of_variances(
        cls, variances: ArrayLike, *, learning_rate: Any, noise: float = 1.0
    ) -> "PrincipalDynamics":
        """Return the model of data with these variances, and ``noise`` along all other directions.

        Parameters
        ----------
        variances : array-like of shape (n_directions,)
            The variances along the special directions, in descending order, above ``noise``.
        learning_rate : float or array-like of shape (n_directions,)
            The learning rates times N. The model uses units of the noise, where the rate is
            ``learning_rate * noise``.
        noise : float, default=1.0
            The variance along all other directions.

        Returns
        -------
        PrincipalDynamics

        Examples
        --------
        >>> PrincipalDynamics.of_variances(
        ...     [8.0, 4.5], learning_rate=0.1, noise=2.0
        ... ).strengths
        array([1. , 0.5])
        """
        check_number(noise, "noise", above=0)
        values = check_numbers(variances, "variances", above=noise)
        return cls(np.sqrt(values / noise) - 1.0, learning_rate=np.multiply(learning_rate, noise))

    def error(self, R: ArrayLike, Q: ArrayLike) -> float:
        """Return the estimation error (<|xi - sum_k x_k J_k|^2> - <xi^2>) / 2.

        It is eq. 3.8 of Biehl et al. (1998). Its value is -M/2 for orthonormal students without
        overlap with the directions.

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
        >>> PrincipalDynamics([1.0, 0.5]).error(np.zeros((2, 2)), np.eye(2))
        -1.0
        """
        R, Q = np.asarray(R, np.float64), np.asarray(Q, np.float64)
        C = Q + (R * self.excess) @ R.T
        return float(-np.trace(C) + 0.5 * (Q * C).sum())

    def _course(self, R: Float64s, Q: Float64s, grid: Float64s) -> tuple[Float64s, Float64s]:
        """Integrate by Lawson's method."""
        self._warn_of_rounding(R, float(grid[-1]))
        M, m = R.shape
        states = np.empty((len(grid), M, m)), np.empty((len(grid), M, M))
        now = 0.0
        for at, end in enumerate(grid.tolist()):
            while now < end:
                now = self._advance(R, Q, now, end)
            states[0][at], states[1][at] = R, Q
        return states

    def _advance(self, R: Float64s, Q: Float64s, now: float, end: float) -> float:
        """Take up to LOOK steps towards ``end`` in place, and return the time reached."""
        lr = float(self.learning_rate.max())
        fastest = lr * (1 + lr / 2) * float(1 + self.excess[0])
        most = max(self.rate(now), self.rate(min(end, now + LOOK * STEP / fastest)))
        h = STEP / (fastest * most)
        steps = min(int(np.ceil((end - now) / h)), LOOK)
        h = min(h, (end - now) / steps)
        lawson(R, Q, self._model, h, self.rate(now + h / 4 * np.arange(4 * steps + 1)))
        return end if h * steps >= (end - now) * (1 - 1e-12) else now + h * steps

    def _warn_of_rounding(self, R: Float64s, end: float) -> None:
        if self.annealing is not None or np.ptp(self.learning_rate) > 0:
            return
        for k in range(2, min(R.shape) + 1):
            rate = self.growth_rate(k)
            if rate <= 0 or end <= ROUNDING / rate:
                continue
            sizes = np.linalg.norm(R[:k], axis=1, keepdims=True)
            if np.linalg.svd(R[:k] / np.maximum(sizes, 1e-300))[1][-1] < 1e-15:
                warn_user(
                    f"The first {k} rows of R are linearly dependent, so only rounding lets unit "
                    f"{k} learn: states after 36 / gamma_{k} = {ROUNDING / rate:.3g} are "
                    "artefacts. Perturb R by about 1 / sqrt(N), or end earlier."
                )
                return

    @property
    def critical_rates(self) -> Float64s:
        """2 beta_l for each unit. At larger rates, unit l does not find direction l."""
        return 2.0 * self._own_excess()

    def growth_rate(self, unit: int | None = None) -> float:
        """Return gamma_k of a unit, or gamma of all overlaps near zero.

        Parameters
        ----------
        unit : int, default=None
            The unit, counted from 1. None returns gamma.

        Returns
        -------
        float
            The growth rate, in steps over N.

        Notes
        -----
        gamma_k = lr_k (beta_k - lr_k / 2) is the rate at which unit k leaves the plateau on which
        the previous units have settled. The length of the plateau is -ln X(0) / gamma_k. gamma is
        the growth rate of the determinant of the first two units before that, or of the overlap of
        a single unit. It is eq. 3.12 of Biehl et al. (1998).

        Examples
        --------
        >>> model = PrincipalDynamics([0.6, 0.4], learning_rate=0.1)
        >>> round(model.growth_rate(2), 4), round(model.growth_rate(), 4)
        (0.091, 0.242)
        """
        lr = self.learning_rate
        if unit is None:
            first = self._own_excess()[:2]
            return float(lr[:2] @ (first - lr[:2] / 2))
        k = check_whole(unit, "unit")
        if k > len(self._own_excess()):
            raise ValueError(f"unit={k} has no direction. Use unit <= {len(self._own_excess())}.")
        return float(lr[k - 1] * (self.excess[k - 1] - lr[k - 1] / 2))

    def fixed_point(self) -> tuple[Float64s, Float64s]:
        """Return R and Q of the aligned state, in which unit l holds direction l.

        It is eq. 3.9 of Biehl et al. (1998). The overlap of a unit above its critical rate is 0.

        Returns
        -------
        R : array of shape (n_students, n_directions)
            The overlaps of the aligned state.
        Q : array of shape (n_students, n_students)
            The products of the students.

        Examples
        --------
        >>> R, _ = PrincipalDynamics([1.0, 0.5], learning_rate=0.5).fixed_point()
        >>> R.round(4)
        array([[0.8563, 0.    ],
               [0.    , 0.8   ]])
        """
        beta = self._own_excess()
        lr = self.learning_rate[: len(beta)]
        R = np.zeros((self.n_students, self.n_directions))
        np.fill_diagonal(R, np.sqrt(np.maximum(beta - lr / 2, 0.0) / beta / (1.0 + lr / 2)))
        return R, np.eye(self.n_students)

    def is_stable(self) -> bool:
        """Return True if the aligned state is stable, by an exact criterion.

        Rates below every critical rate are not sufficient, in contrast to the paper. If unit j
        finds little of its direction, a later unit l may find it too. The pair (R_lj, Q_lj) is a
        2x2 block of the equations around the fixed point. It loses stability through its
        determinant.

        Returns
        -------
        bool
            True if every small deviation decays.

        Examples
        --------
        >>> PrincipalDynamics([2.0, 1.0], learning_rate=1.5).is_stable()
        True
        >>> model = PrincipalDynamics([2.0, 1.0], learning_rate=2.5)
        >>> model.critical_rates, model.is_stable()
        (array([16.,  6.]), False)
        """
        beta = self._own_excess()
        lr = self.learning_rate[: len(beta)]
        j, i = np.triu_indices(len(beta), 1)
        rates = (lr * (1 + beta))[j] + (lr * (1 + beta))[i]
        lost = ((1 + beta) * lr / (2 + lr))[j] - beta[i]
        margin = lr[j] * (beta[j] - beta[i]) * (1 + lr[i])
        return bool((lr < 2 * beta).all() and (lost * rates < margin).all())

    def advise(self, *, n_features: int) -> Advice:
        """Predict when the last unit learns, for data of ``n_features`` entries.

        The units start in random directions. The prediction holds for constant rates. See
        ``Advice``.

        Parameters
        ----------
        n_features : int
            The number N of entries of an example.

        Returns
        -------
        Advice
            The critical rate, the best rate and the numbers of examples.

        Examples
        --------
        >>> advice = PrincipalDynamics([0.9, 0.6], learning_rate=0.3).advise(
        ...     n_features=1000
        ... )
        >>> print(advice)
        Rate 0.3 is below the critical rate 3.12: specialised after about 8.56e+03 examples.
        ...
        """
        if self.annealing is not None:
            raise ValueError("Advice needs constant rates. Use simulate.")
        own = self._own_excess()
        leading = self.excess[: len(own) + 1]
        if (np.diff(leading) == 0).any():
            raise ValueError(
                f"The excess variances {leading.tolist()} repeat a value. Give different variances."
            )
        least = self.n_students + self.n_directions
        return unit_advice(self, check_whole(n_features, "n_features", least=least))

    def _own_excess(self) -> Float64s:
        """Return beta_l of the units that have a direction to learn."""
        return self.excess[: min(self.n_students, self.n_directions)]

    def _speed(self, R: Float64s, Q: Float64s, factor: float) -> tuple[Float64s, Float64s]:
        dR, dQ = principal_drift(R, Q, self.excess, factor * self.learning_rate)
        return dR, dQ

    def _walk(
        self, R: Float64s, Q: Float64s, factors: Float64s, n: int, generator: np.random.Generator
    ) -> None:
        principal_chain(R, Q, self._model, n, factors, generator)
