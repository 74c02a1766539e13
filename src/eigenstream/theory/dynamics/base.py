"""Shared parts of the order-parameter dynamics: annealing, trajectories, plateaus, many runs.

Students J_k in N dimensions learn from data with a few special directions B_m. The overlaps are
R_km = J_k.B_m and Q_kl = J_k.J_l. For N -> infinity they follow ordinary differential equations
[DYN]. The time is examples / N. At finite N they are a Markov chain. Neither the equations nor an
exact simulation needs a vector of N entries.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from eigenstream.core.checks import check_number, check_numbers, check_whole, real_array
from eigenstream.core.linalg import brief
from eigenstream.core.types import RandomState
from eigenstream.theory.dynamics.states import POSSIBLE, check_state
from eigenstream.theory.mixing import Float64s

__all__ = ["Annealing", "Dynamics", "Plateau", "SimulatedRuns", "Trajectory"]

#: On a plateau the error changes by at most this share of its total change. Larger values find
#: longer plateaus.
FLAT = 0.01

#: The most steps of the chain in one call of the compiled loop. More steps need more memory.
CHUNK = 1 << 16


@dataclass(frozen=True)
class Annealing:
    """A learning rate that changes during learning.

    Parameters
    ----------
    learning_rate : schedule
        A schedule of ``eigenstream.schedules`` with rates that do not depend on the data.
    n_features : int
        The number N of entries of a row.

    Notes
    -----
    Step n of a rule has the rate g_n of the schedule. The theory multiplies rates by N. The
    rate at time t is therefore N g_n with n = N t, interpolated linearly between two steps.

    Examples
    --------
    >>> from eigenstream.schedules import Power
    >>> rate = Annealing(Power(1, 100), n_features=50)
    >>> rate([0.0, 2.0])
    array([0.5 , 0.25])
    """

    learning_rate: Any
    n_features: int

    def __post_init__(self) -> None:
        """Check that the schedule gives rates that do not depend on the data."""
        check_whole(self.n_features, "n_features")
        rate = self.learning_rate
        if isinstance(rate, type) or not hasattr(rate, "gains") or hasattr(rate, "averaging"):
            raise TypeError(
                f"learning_rate={rate!r} has no rates that do not depend on the data. Pass "
                "Constant, Power, Exponential or Steps."
            )

    def __call__(self, t: ArrayLike) -> Any:
        """Return the rate at a time or at times."""
        place = np.asarray(t) * self.n_features
        first = int(place.min())
        gains = self.learning_rate.gains(first, int(place.max()) - first + 2)
        return self.n_features * np.interp(place - first, np.arange(len(gains)), gains)


@dataclass(frozen=True)
class Plateau:
    """An interval in which the error is nearly constant, although it falls again later.

    Attributes
    ----------
    start, length : float
        The time and the duration.
    level : float
        The error on the plateau.
    rate : float
        The growth rate of the fastest deviation at the slowest point. Initial overlaps smaller by
        the factor e lengthen the plateau by 1 / rate.
    """

    start: float
    length: float
    level: float
    rate: float


@dataclass(frozen=True, eq=False)
class Trajectory:
    """The order parameters over time; made by the ``solve`` of a model.

    Attributes
    ----------
    t : array of shape (n_times,)
        Times in steps over N.
    R : array of shape (n_times, n_students, n_directions)
        The overlaps of the students with the directions.
    Q : array of shape (n_times, n_students, n_students)
        The products of the students.
    error : array of shape (n_times,)
        The result of ``dynamics.error``. It is negative if the students explain some variance.
    dynamics : Dynamics
        The model.
    """

    t: Float64s
    R: Float64s
    Q: Float64s
    error: Float64s
    dynamics: "Dynamics"

    __repr__ = brief

    def when(self, values: ArrayLike, level: float) -> float:
        """Return the first time at which values cross a level; NaN if they do not.

        Parameters
        ----------
        values : array-like of shape (n_times,)
            A function of the state on the time grid of the trajectory.
        level : float
            The level.

        Returns
        -------
        float

        Examples
        --------
        >>> from eigenstream.theory import PrincipalDynamics
        >>> model = PrincipalDynamics([1.0], learning_rate=0.5)
        >>> course = model.solve([[0.1]], [[1.0]], np.linspace(0, 10, 101))
        >>> round(course.when(course.R[:, 0, 0], 0.5), 3)
        1.317
        """
        values = real_array(values, "values")
        if values.shape != self.t.shape:
            raise ValueError(
                f"values has shape {values.shape}. Pass one number for each of the "
                f"{len(self.t)} times."
            )
        return crossing(values, check_number(level, "level"), self.t)

    def plateaus(self) -> list[Plateau]:
        """Return the plateaus in temporal order.

        On a plateau the state moves most slowly, and a small deviation from it grows. The plateau
        lasts while the error stays within 1% of its total change, and for at least 1 / rate.

        Returns
        -------
        list of Plateau

        Examples
        --------
        >>> from eigenstream.theory import PrincipalDynamics
        >>> model = PrincipalDynamics([0.6, 0.4], learning_rate=0.1)
        >>> R = [[0.06, 0.06], [0.06, 0.06 + 1e-8]]
        >>> [plateau] = model.solve(
        ...     R, np.eye(2), np.linspace(0, 400, 801)
        ... ).plateaus()
        >>> round(plateau.start), round(plateau.length), round(plateau.rate, 4)
        (50, 136, 0.091)
        """
        speeds = np.array([self._speed(at) for at in range(len(self.t))])
        falls = np.diff(speeds, prepend=np.inf) <= 0
        slowest = np.flatnonzero(falls[:-1] & ~falls[1:])
        plateaus: list[Plateau] = []
        for step in slowest[np.argsort(speeds[slowest])].tolist():
            at = self.t[step]
            if not any(
                plateau.start <= at <= plateau.start + plateau.length for plateau in plateaus
            ):
                plateaus += self._plateau(step)
        return sorted(plateaus, key=lambda plateau: plateau.start)

    def _plateau(self, step: int) -> list[Plateau]:
        """Return the plateau around a time of the grid, or nothing."""
        deviation = np.abs(self.error - self.error[step]) - FLAT * np.ptp(self.error)
        start = crossing(deviation[step::-1], 0.0, self.t[step::-1], never=self.t[0])
        end = crossing(deviation[step:], 0.0, self.t[step:])
        if np.isnan(end):
            return []
        length = end - start
        rates = self.dynamics.deviation_rates(self.R[step], self.Q[step], t=float(self.t[step]))
        rate = float(rates[0].real)
        plateau = Plateau(start, length, float(self.error[step]), rate)
        return [plateau] if rate * length >= 1.0 else []

    def _speed(self, at: int) -> float:
        """Return the squared speed of the state at a time of the grid."""
        factor = self.dynamics.rate(float(self.t[at]))
        dR, dQ = self.dynamics._speed(self.R[at], self.Q[at], factor)
        return float((dR**2).sum() + (dQ**2).sum())


@dataclass(frozen=True, eq=False)
class SimulatedRuns:
    """Many runs of the exact chain at finite N; made by the ``simulate`` of a model.

    Attributes
    ----------
    t : array of shape (n_times,)
        Times in steps over N.
    R : array of shape (runs, n_times, n_students, n_directions)
        The overlaps of the students with the directions.
    Q : array of shape (runs, n_times, n_students, n_students)
        The products of the students.
    n_features : int
        The number N of entries of an example.
    """

    t: Float64s
    R: Float64s
    Q: Float64s
    n_features: int

    __repr__ = brief

    @property
    def mean(self) -> tuple[Float64s, Float64s]:
        """The means of R and Q over the runs."""
        return self.R.mean(axis=0), self.Q.mean(axis=0)


def crossing(values: Float64s, level: float, times: Float64s, never: float = np.nan) -> float:
    """Return the first time at which values cross a level, by linear interpolation."""
    below = values < level
    turns = np.flatnonzero(below[1:] != below[:-1])
    if not turns.size:
        return float(never)
    i = turns[0]
    share = (level - values[i]) / (values[i + 1] - values[i])
    return float(times[i] + share * (times[i + 1] - times[i]))


class Dynamics(ABC):
    """A model of data and rule with its order parameters; subclasses define the equations."""

    #: The numbers of students and of special directions, and the annealing or None.
    n_students: int
    n_directions: int
    annealing: Annealing | None
    #: True if the students have length 1, so that the diagonal of Q is constant.
    unit_length = False

    def drift(self, R: ArrayLike, Q: ArrayLike, *, t: float = 0.0) -> tuple[Float64s, Float64s]:
        """Return dR/dt and dQ/dt at one state.

        They are eqs. 2.6 and 3.6 of Biehl et al. (1998).

        Parameters
        ----------
        R : array-like of shape (n_students, n_directions)
            The overlaps of the students with the directions.
        Q : array-like of shape (n_students, n_students)
            The products of the students.
        t : float, default=0.0
            The time, for annealed rates.

        Returns
        -------
        dR : array of shape (n_students, n_directions)
            The derivative of R.
        dQ : array of shape (n_students, n_students)
            The derivative of Q.

        Examples
        --------
        >>> from eigenstream.theory import CompetitiveDynamics
        >>> model = CompetitiveDynamics(np.eye(2), learning_rate=0.5)
        >>> dR, _ = model.drift(np.zeros((2, 2)), np.eye(2))
        >>> dR
        array([[0.125, 0.125],
               [0.125, 0.125]])
        """
        return self._speed(*self._state(R, Q), self.rate(t))

    @abstractmethod
    def error(self, R: ArrayLike, Q: ArrayLike) -> float:
        """Return the error at one state, minus half the mean square of the data.

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
        """

    def solve(self, R: ArrayLike, Q: ArrayLike, t: ArrayLike) -> Trajectory:
        """Integrate from R and Q at t = 0 and return the states at the given times.

        Parameters
        ----------
        R : array-like of shape (n_students, n_directions)
            The overlaps of the students with the directions.
        Q : array-like of shape (n_students, n_students)
            The products of the students.
        t : array-like of shape (n_times,)
            Times in steps over N.

        Returns
        -------
        Trajectory
            The states and errors at these times.

        Examples
        --------
        >>> import numpy as np
        >>> from eigenstream.theory import PrincipalDynamics
        >>> model = PrincipalDynamics([1.0], learning_rate=0.5)
        >>> course = model.solve([[0.1]], [[1.0]], np.linspace(0, 20, 5))
        >>> course.R[:, 0, 0].round(1)
        array([0.1, 0.9, 0.9, 0.9, 0.9])
        """
        R, Q = self._state(R, Q)
        grid = check_times(t)
        states = self._course(R, Q, grid)
        errors = [self.error(*state) for state in zip(*states, strict=True)]
        return Trajectory(grid, *states, np.array(errors), self)

    @abstractmethod
    def _course(self, R: Float64s, Q: Float64s, grid: Float64s) -> tuple[Float64s, Float64s]:
        """Integrate from a checked state at t = 0, and return the states at the times."""

    @abstractmethod
    def _walk(
        self, R: Float64s, Q: Float64s, factors: Float64s, n: int, generator: np.random.Generator
    ) -> None:
        """Take a step of the chain for each factor of the rate, in place."""

    def rate(self, t: ArrayLike) -> Any:
        """Return the factor of the annealing at one or more times.

        Parameters
        ----------
        t : float or array-like
            Times in steps over N.

        Returns
        -------
        float or array
            The factor, 1 without annealing.
        """
        return np.ones(np.shape(t)) if self.annealing is None else self.annealing(t)

    def _state(self, R: ArrayLike, Q: ArrayLike) -> tuple[Float64s, Float64s]:
        """Return one state as new arrays, after checking its shape and that vectors can have it."""
        state = check_state(R, Q, self.n_students, self.n_directions)
        if self.unit_length and np.abs(np.diag(state[1]) - 1.0).max() > POSSIBLE:
            raise ValueError(
                f"Q has the diagonal {np.diag(state[1]).tolist()}. This rule needs students of "
                "length 1: divide them by their lengths."
            )
        return state

    def simulate(
        self,
        R: ArrayLike,
        Q: ArrayLike,
        t: ArrayLike,
        *,
        n_features: int,
        runs: int = 20,
        random_state: RandomState = 0,
    ) -> SimulatedRuns:
        """Run the exact chain of the order parameters for data of ``n_features`` entries.

        The chain has the law of the rule on vectors, because the projections of an example are
        Gaussian given R and Q. The cost of a step does not depend on N.

        Parameters
        ----------
        R : array-like of shape (n_students, n_directions) or (runs, n_students, n_directions)
            The overlaps at the start: one start for all runs, or one for each run.
        Q : array-like of shape (n_students, n_students) or (runs, n_students, n_students)
            The products of the students at the start.
        t : array-like of shape (n_times,)
            Times in steps over N. Each is rounded to a whole number of steps.
        n_features : int
            The number N of entries of an example.
        runs : int, default=20
            The number of independent runs.
        random_state : int, RandomState or None, default=0
            The seed of the runs.

        Returns
        -------
        SimulatedRuns
            The states of every run at the times.

        Examples
        --------
        >>> from eigenstream.theory import PrincipalDynamics
        >>> model = PrincipalDynamics([1.0], learning_rate=0.5)
        >>> few = model.simulate([[0.1]], [[1.0]], [4.0], n_features=10_000, runs=5)
        >>> R, _ = few.mean
        >>> bool(
        ...     abs(R[0, 0, 0] - model.solve([[0.1]], [[1.0]], [4.0]).R[0, 0, 0])
        ...     < 0.02
        ... )
        True
        """
        grid = check_times(t)
        runs = check_whole(runs, "runs", least=2)
        least = self.n_students + self.n_directions
        n = check_whole(n_features, "n_features", least=least)
        R, Q = real_array(R, "R"), real_array(Q, "Q")
        if R.ndim == 2 and Q.ndim == 2:
            R, Q = np.broadcast_to(R, (runs, *R.shape)), np.broadcast_to(Q, (runs, *Q.shape))
        if R.shape[:1] != (runs,) or Q.shape[:1] != (runs,):
            raise ValueError(
                f"R has shape {R.shape} and Q {Q.shape}. Pass one start, or one for each of "
                f"{runs} runs."
            )
        starts = [self._state(*start) for start in zip(R, Q, strict=True)]
        R, Q = (np.array(part) for part in zip(*starts, strict=True))
        generators, done, states = np.random.default_rng(random_state).spawn(runs), 0, []
        for edge in np.rint(grid * n).astype(np.int64).tolist():
            while done < edge:
                factors = self.rate((done + np.arange(min(CHUNK, edge - done))) / n)
                for run, generator in enumerate(generators):
                    self._walk(R[run], Q[run], factors, n, generator)
                done += len(factors)
            states.append((R.copy(), Q.copy()))
        R, Q = (np.stack(part, axis=1) for part in zip(*states, strict=True))
        return SimulatedRuns(grid, R, Q, n)

    def deviation_rates(self, R: ArrayLike, Q: ArrayLike, *, t: float = 0.0) -> Float64s:
        """Return the growth rates of small deviations from a state, in descending order.

        They are the eigenvalues of the Jacobian of the equations (central differences) in the free
        variables: R, Q above its diagonal, and the diagonal unless students have length 1.

        Parameters
        ----------
        R : array-like of shape (n_students, n_directions)
            The overlaps of the students with the directions.
        Q : array-like of shape (n_students, n_students)
            The products of the students.
        t : float, default=0.0
            The time, for annealed rates.

        Returns
        -------
        array of shape (n_variables,)
            The growth rates, complex if some are.

        Examples
        --------
        >>> from eigenstream.theory import PrincipalDynamics
        >>> model = PrincipalDynamics([1.0], learning_rate=0.5)
        >>> model.deviation_rates(*model.fixed_point()).round(3)
        array([-2.75])
        """
        # Rounding may put a state of a solution on an edge, so it is not checked.
        R, Q, factor = np.asarray(R, np.float64), np.asarray(Q, np.float64), self.rate(t)
        upper = np.triu_indices(self.n_students, k=1 if self.unit_length else 0)
        free = np.concatenate([R.ravel(), Q[upper]])

        def speed(values: Float64s) -> Float64s:
            moved, square = values[: R.size].reshape(R.shape), Q.copy()
            square[upper] = values[R.size :]
            square.T[upper] = values[R.size :]
            dR, dQ = self._speed(moved, square, factor)
            return np.concatenate([dR.ravel(), dQ[upper]])

        h = 1e-5 * max(1.0, float(np.abs(free).max()))
        steps = h * np.eye(free.size)
        columns = [(speed(free + step) - speed(free - step)) / (2 * h) for step in steps]
        rates = np.linalg.eigvals(np.array(columns).T)
        return np.real_if_close(rates[np.argsort(-rates.real)])

    @abstractmethod
    def _speed(self, R: Float64s, Q: Float64s, factor: float) -> tuple[Float64s, Float64s]:
        """Return the drift at an unchecked state."""


def check_times(t: ArrayLike) -> Float64s:
    """Return a grid of increasing times of at least 0.

    >>> check_times([2, 1])
    Traceback (most recent call last):
        ...
    ValueError: t=[2.0, 1.0] is no time grid. Pass increasing times of at least 0.
    """
    grid = check_numbers(t, "t")
    if grid[0] < 0 or (np.diff(grid) <= 0).any():
        raise ValueError(f"t={grid.tolist()} is no time grid. Pass increasing times of at least 0.")
    return grid


def check_annealing(value: object) -> Annealing | None:
    """Return an annealing or None.

    >>> check_annealing(0.5)
    Traceback (most recent call last):
        ...
    TypeError: annealing must be Annealing(learning_rate, n_features) or None, got 0.5.
    """
    if value is None or isinstance(value, Annealing):
        return value
    raise TypeError(
        f"annealing must be Annealing(learning_rate, n_features) or None, got {value!r}."
    )
