"""What the order-parameter dynamics share: annealing, trajectories and their plateaus, many runs.

N-dimensional students J_k meet a few special directions B_m of the data. Their overlaps
R_km = J_k.B_m and Q_kl = J_k.J_l follow, for N -> infinity and t = examples / N, ordinary
differential equations [DYN]; at finite N they are a Markov chain of their own, so that neither the
equations nor an exact simulation ever touches a vector of N entries.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenstream._checks import check_number, check_numbers, check_whole, real_array
from eigenstream.theory.dynamics.states import POSSIBLE, check_state
from eigenstream.theory.mixing import Float64s

__all__ = ["Annealing", "Dynamics", "Plateau", "SimulatedRuns", "Trajectory"]

#: On a plateau the error moves by at most this share of its whole change in either direction.
FLAT = 0.01

#: So many steps of the chain are handed to the compiled loop at once, at most.
CHUNK = 1 << 16


@dataclass(frozen=True)
class Annealing:
    """A learning rate that changes: a schedule for data of ``n_features`` entries.

    Step s of a rule has the rate g(s) of the schedule. The theory multiplies rates by N, so its
    rate at time t is N g(t N), interpolated between two steps.

    >>> from eigenstream.schedules import Power
    >>> rate = Annealing(Power(1, 100), n_features=50)
    >>> rate([0.0, 2.0])
    array([0.5 , 0.25])
    """

    learning_rate: Any
    n_features: int

    def __post_init__(self) -> None:
        """Refuse what gives no rates, or none that are known before the data."""
        check_whole(self.n_features, "n_features")
        if isinstance(self.learning_rate, type) or not hasattr(self.learning_rate, "gains"):
            raise TypeError(
                f"learning_rate={self.learning_rate!r} is no schedule. Pass e.g. Power(1, 100)."
            )
        if hasattr(self.learning_rate, "averaging"):  # Auto divides by what it sees of the data
            raise TypeError(
                f"The rates of learning_rate={self.learning_rate!r} depend on the data. "
                "Pass Constant, Power, Exponential or Steps."
            )

    def __call__(self, t: Any) -> Any:
        """Return the rate at a time or at times."""
        place = np.asarray(t) * self.n_features
        first = int(place.min())
        gains = self.learning_rate.gains(first, int(place.max()) - first + 2)
        return self.n_features * np.interp(place - first, np.arange(len(gains)), gains)


@dataclass(frozen=True)
class Plateau:
    """A stretch on which the error stands still although it falls again later.

    ``rate`` is that of the fastest deviation where all stands stillest: to start with overlaps 1/e
    as large makes the plateau 1 / rate longer.
    """

    start: float
    length: float
    level: float
    rate: float


@dataclass(frozen=True, eq=False)
class Trajectory:
    """The order parameters over time; made by the ``solve`` of a model.

    ``R`` has shape (times, students, directions), ``Q`` (times, students, students), ``error``
    (times,): what ``dynamics.error`` says, less a constant, so that it is negative.
    """

    t: Float64s
    R: Float64s
    Q: Float64s
    error: Float64s
    dynamics: "Dynamics"

    def when(self, values: Any, level: float) -> float:
        """Return the first time at which values on this time grid cross a level; NaN if never.

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
        """Return the plateaus in order of time.

        The state moves slowest on a plateau, and a small deviation from it grows. The plateau lasts
        while the error stays within 1% of its whole change, and for at least 1 / rate.

        >>> from eigenstream.theory import PrincipalDynamics
        >>> model = PrincipalDynamics([0.6, 0.4], learning_rate=0.1)
        >>> R = [[0.06, 0.06], [0.06, 0.06 + 1e-8]]
        >>> [plateau] = model.solve(R, np.eye(2), np.linspace(0, 400, 801)).plateaus()
        >>> round(plateau.start), round(plateau.length), round(plateau.rate, 4)
        (50, 136, 0.091)
        """
        speeds = np.array([self._speed(at) for at in range(len(self.t))])
        falls = np.diff(speeds, prepend=np.inf) <= 0
        slowest = np.flatnonzero(falls[:-1] & ~falls[1:])
        found: list[Plateau] = []
        for rest in slowest[np.argsort(speeds[slowest])].tolist():
            at = self.t[rest]
            if not any(one.start <= at <= one.start + one.length for one in found):
                found += self._plateau(rest)
        return sorted(found, key=lambda one: one.start)

    def _plateau(self, rest: int) -> list[Plateau]:
        """Return the plateau around a time of the grid, or nothing."""
        away = np.abs(self.error - self.error[rest]) - FLAT * np.ptp(self.error)
        start = crossing(away[rest::-1], 0.0, self.t[rest::-1], never=self.t[0])
        end = crossing(away[rest:], 0.0, self.t[rest:])
        if np.isnan(end):
            return []
        length = end - start
        factor = self.dynamics.rate(float(self.t[rest]))
        rates = self.dynamics._deviation_rates(self.R[rest], self.Q[rest], factor)
        rate = float(rates[0].real)
        plateau = Plateau(start, length, float(self.error[rest]), rate)
        return [plateau] if rate * length >= 1.0 else []

    def _speed(self, at: int) -> float:
        """Return how fast the whole state moves at a time of the grid."""
        factor = self.dynamics.rate(float(self.t[at]))
        dR, dQ = self.dynamics._speed(self.R[at], self.Q[at], factor)
        return float((dR**2).sum() + (dQ**2).sum())


@dataclass(frozen=True, eq=False)
class SimulatedRuns:
    """Many runs of the exact chain at finite N; made by the ``simulate`` of a model.

    ``R`` has shape (runs, times, students, directions), ``Q`` (runs, times, students, students).
    """

    t: Float64s
    R: Float64s
    Q: Float64s
    n_features: int

    @property
    def mean(self) -> tuple[Float64s, Float64s]:
        """The means of R and Q over the runs."""
        return self.R.mean(axis=0), self.Q.mean(axis=0)


def crossing(values: Float64s, level: float, times: Float64s, never: float = np.nan) -> float:
    """Return the first time at which values cross a level, between times on a line."""
    below = values < level
    turns = np.flatnonzero(below[1:] != below[:-1])
    if not turns.size:
        return float(never)
    i = turns[0]
    share = (level - values[i]) / (values[i + 1] - values[i])
    return float(times[i] + share * (times[i + 1] - times[i]))


class Dynamics(ABC):
    """Order parameters that learn: a model of data and rule; subclasses say how they move."""

    #: The numbers of students and of special directions, and the annealing, if there is any.
    n_students: int
    n_directions: int
    annealing: Annealing | None
    #: Whether the students keep length 1, so that the diagonal of Q is no variable.
    unit_length = False

    def drift(self, R: Any, Q: Any, *, t: float = 0.0) -> tuple[Float64s, Float64s]:
        """Return dR/dt and dQ/dt at one state ([DYN] eqs. 2.6 and 3.6).

        >>> from eigenstream.theory import CompetitiveDynamics
        >>> model = CompetitiveDynamics(np.eye(2), learning_rate=0.5)
        >>> dR, _ = model.drift(np.zeros((2, 2)), np.eye(2))
        >>> dR
        array([[0.125, 0.125],
               [0.125, 0.125]])
        """
        return self._speed(*self._state(R, Q), self.rate(t))

    @abstractmethod
    def error(self, R: Any, Q: Any) -> float:
        """Return the error at one state, less half the mean square of the data."""

    @abstractmethod
    def solve(self, R: Any, Q: Any, t: Any) -> Trajectory:
        """Integrate from R and Q at t = 0 and return the states at the times asked for."""

    @abstractmethod
    def _walk(self, R: Float64s, Q: Float64s, factors: Any, n: int, generator: Any) -> None:
        """Take a step of the chain for each factor of the rate, in place."""

    def rate(self, t: Any) -> Any:
        """Return the factor on the learning rate that the annealing gives at a time or at times."""
        return np.ones(np.shape(t)) if self.annealing is None else self.annealing(t)

    def _state(self, R: Any, Q: Any) -> tuple[Float64s, Float64s]:
        """Return one state as arrays of our own, of the right shape and possible."""
        state = check_state(R, Q, self.n_students, self.n_directions)
        if self.unit_length and np.abs(np.diag(state[1]) - 1.0).max() > POSSIBLE:
            raise ValueError(
                f"Q has the diagonal {np.diag(state[1]).tolist()}, and this rule keeps students "
                "at length 1. Divide the students by their lengths."
            )
        return state

    def simulate(
        self, R: Any, Q: Any, t: Any, *, n_features: int, runs: int = 20, random_state: Any = 0
    ) -> SimulatedRuns:
        """Run the exact chain of the order parameters for data of ``n_features`` entries.

        Its law is that of the rule itself on vectors, at a cost that does not depend on N: given R
        and Q, an example's projections are Gaussian. ``R`` and ``Q`` are one start for all runs, or
        one each (a first axis of length ``runs``). A time is rounded to a whole number of steps.

        >>> from eigenstream.theory import PrincipalDynamics
        >>> model = PrincipalDynamics([1.0], learning_rate=0.5)
        >>> few = model.simulate([[0.1]], [[1.0]], [4.0], n_features=10_000, runs=5)
        >>> R, _ = few.mean
        >>> bool(abs(R[0, 0, 0] - model.solve([[0.1]], [[1.0]], [4.0]).R[0, 0, 0]) < 0.02)
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
        generators, done, kept = np.random.default_rng(random_state).spawn(runs), 0, []
        for edge in np.rint(grid * n).astype(np.int64).tolist():
            while done < edge:
                factors = self.rate((done + np.arange(min(CHUNK, edge - done))) / n)
                for run, generator in enumerate(generators):
                    self._walk(R[run], Q[run], factors, n, generator)
                done += len(factors)
            kept.append((R.copy(), Q.copy()))
        R, Q = (np.stack(part, axis=1) for part in zip(*kept, strict=True))
        return SimulatedRuns(grid, R, Q, n)

    def deviation_rates(self, R: Any, Q: Any, *, t: float = 0.0) -> Any:
        """Return the growth rates of small deviations from a state, the largest first.

        They are the eigenvalues of the equations' Jacobian (central differences) in the variables
        that are free: R, and Q above its diagonal, with it unless students keep length 1.

        >>> from eigenstream.theory import PrincipalDynamics
        >>> model = PrincipalDynamics([1.0], learning_rate=0.5)
        >>> model.deviation_rates(*model.fixed_point()).round(3)
        array([-2.75])
        """
        return self._deviation_rates(*self._state(R, Q), self.rate(t))

    def _deviation_rates(self, R: Float64s, Q: Float64s, factor: float) -> Any:
        """Return the same of a state that is not checked: rounding may put it on an edge."""
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
        """Return the drift at a state that is not checked."""

    def _trajectory(self, t: Float64s, R: Float64s, Q: Float64s) -> Trajectory:
        errors = [self.error(*state) for state in zip(R, Q, strict=True)]
        return Trajectory(t, R, Q, np.array(errors), self)


def check_times(t: Any) -> Float64s:
    """Return a time grid: not negative, increasing.

    >>> check_times([2, 1])
    Traceback (most recent call last):
        ...
    ValueError: t=[2.0, 1.0] is no time grid. Pass increasing times from 0 on.
    """
    grid = check_numbers(t, "t")
    if grid[0] < 0 or (np.diff(grid) <= 0).any():
        raise ValueError(f"t={grid.tolist()} is no time grid. Pass increasing times from 0 on.")
    return grid


def check_annealing(value: Any) -> Annealing | None:
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
