"""The online solver: the Oja-Karhunen flow of a contrast, with canonical answers at any time."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from eigenstream._checks import check_flag, check_whole, warn_user
from eigenstream._linalg import Float64s
from eigenstream._storable import storable
from eigenstream.online import OJA_FLOW, OnlineLearner, Plan, Progress, check_options
from eigenstream.subspace.operators import Eigenpairs, canonical

__all__ = ["FlowMonitor", "FlowSolution", "FlowSolver", "Progress", "check_options"]


@dataclass(frozen=True)
class FlowSolution:
    """What the flow knows at one moment, pending rows included."""

    pairs: Eigenpairs
    mean: Float64s
    n_terms: int
    n_rows: int
    gain: float
    weight: float  # of the terms
    total: float  # the mean of the rewarded |u|^2: the trace of the rewarded scatter

    @property
    def components(self) -> Float64s:
        """The directions, one a row, in canonical order and sign."""
        return self.pairs.vectors.T

    @property
    def eigenvalues(self) -> Float64s:
        """Estimates of the eigenvalues of T in the subspace, descending."""
        return self.pairs.values


class FlowMonitor:
    """A hook that records the course of an online fit, and may end it.

    Parameters
    ----------
    every : int
        Steps between two records.
    exact : bool
        Keep the scatters beside the flow and record the principal angle to their exact answer:
        a diagnostic that costs what solver="dense" costs, and one eigensolve a record.
    stop : function of a Progress, optional
        A true answer ends the running ``fit`` or ``partial_fit``.

    Attributes
    ----------
    history : list of Progress

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream import Flow, StreamPCA
    >>> monitor = FlowMonitor(every=500, exact=True)
    >>> X = np.random.default_rng(0).standard_normal((3000, 8)) * np.arange(8, 0, -1)
    >>> pca = StreamPCA(2, solver=Flow(hook=monitor)).fit(X)
    >>> monitor.history[0].angle > monitor.history[-1].angle
    True
    """

    def __init__(
        self,
        every: int = 1000,
        *,
        exact: bool = False,
        stop: Callable[[Progress], Any] | None = None,
    ) -> None:
        self.every = check_whole(every, "every")
        self.exact = check_flag(exact, "exact")
        if stop is not None and not callable(stop):
            raise TypeError(f"stop must be a function of one Progress, got {stop!r}.")
        self.stop = stop
        self.history: list[Progress] = []

    def __call__(self, progress: Progress) -> bool:
        """Record; say whether to stop."""
        self.history.append(progress)
        return bool(self.stop is not None and self.stop(progress))


#: Warn of a row with this share of the rewarded terms that is also this many times as large as the
#: mean. Smaller, and heavy tails give warnings; larger, and outliers mislead in silence.
OUTLIER_SHARE, OUTLIER_SIZE = 0.05, 50.0


@storable(_learner="OnlineLearner")
class FlowSolver:
    """Learns the top eigenspace of a contrast from a stream, one observation at a time.

    Parameters
    ----------
    n_components : int
    weights : (reward, penalty)
        T = reward * E[x x^T] - penalty * E[v v^T] with the velocity v = x_t - x_(t - lag).
    lag : int
        Rows between an observation and its past. The first ``lag`` rows of a sequence serve only
        as pasts. 0 without a penalty.
    center : bool
        Centre each observation by the mean of those before it, so weighted that the terms add
        up to the exact scatter about the final mean.
    learning_rate : number, "auto", schedule or function of the step, default="auto"
    init : "data", "random" or array of shape (n_components, n_features)
        "data": the first observations, orthonormalised.
    forgetting : float in (0, 1), optional
        The share by which the past loses weight at each step: in the mean, the eigenvalues, the
        adaptive gain and the average. For streams that drift.
    random_state : int, RandomState or None
    block_size : int, optional
        Steps between two lifts; chosen from the shapes by default. It changes nothing but rounding
        and, at the scale of one block, when the averaged iterate is brought up to date.
    hook : function of a Progress, optional
        Called every ``hook_every`` steps; a true answer stops the running ``update``, whose
        remaining rows are dropped.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream.subspace.flow_solver import FlowSolver
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.standard_normal((4000, 5)) * [1, 3, 1, 1, 1]
    >>> flow = FlowSolver(1).update(rows[:1500]).update(rows[1500:])
    >>> solution = flow.solution()
    >>> bool(abs(solution.components[0, 1]) > 0.99), solution.n_terms
    (True, 4000)
    """

    def __init__(
        self,
        n_components: int,
        *,
        weights: tuple[float, float] = (1.0, 0.0),
        lag: int = 0,
        center: bool = True,
        learning_rate: Any = "auto",
        init: Any = "data",
        forgetting: float | None = None,
        random_state: Any = None,
        block_size: int | None = None,
        hook: Callable[[Progress], Any] | None = None,
        hook_every: int = 1000,
    ) -> None:
        plan = Plan(
            n_components,
            weights=weights,
            lag=lag,
            center=center,
            learning_rate=learning_rate,
            init=init,
            forgetting=forgetting,
            seed=int(check_random_state(random_state).randint(2**31 - 1)),
            block_size=block_size,
            hook=hook,
            hook_every=hook_every,
        )
        self._learner = OnlineLearner(OJA_FLOW, plan)

    def update(
        self,
        rows: Any,
        weights: Any = None,
        *,
        new_sequence: bool = False,
        exact: Callable[[], Any] | None = None,
    ) -> Self:
        """Learn from a chunk of rows that follows the rows seen so far; return the solver.

        Any chunking gives the same result. A step that is not finite raises
        ``UnstableStepError`` and leaves what the last good block had learned. ``exact`` returns
        columns whose angle to the learned ones the hook is shown.
        """
        check_flag(new_sequence, "new_sequence")
        self._learner.update(rows, weights, new_sequence=new_sequence, exact=exact)
        return self

    def solution(self) -> FlowSolution:
        """Return the subspace after all rows seen; the solver is not changed."""
        learner = self._learner.ahead()
        if not learner.steps:
            raise ValueError(
                f"no terms yet: {learner.n_rows} row(s) seen, none with a past "
                f"{self.plan.lag} row(s) back."
            )
        vectors = np.asarray(learner.vectors, np.float64).T
        # The frame is orthonormal to the rounding of the data's precision; make it so in double.
        vectors = vectors @ (1.5 * np.eye(vectors.shape[1]) - 0.5 * (vectors.T @ vectors))
        if learner.answer.lags:
            warn_user(
                f"the stream is too short for learning_rate='auto': after {learner.steps} steps "
                "the average is still far from the last subspace, which is returned. Give more "
                "rows, make more passes, or use solver='dense'."
            )
        values, rotation = np.linalg.eigh(learner.answer.estimate())
        power, weight = learner.sums
        share = learner.largest / power if power > 0 else 0.0
        if share > OUTLIER_SHARE and share * learner.steps > OUTLIER_SIZE:
            warn_user(
                f"one row is {share * learner.steps:.0f} times as large as the mean row, and the "
                "flow may have followed it. Remove outliers, or use solver='dense'."
            )
        return FlowSolution(
            canonical(values, vectors @ rotation),
            learner.mean.copy(),
            learner.steps,
            learner.n_rows,
            learner.gain,
            weight,
            power / weight if weight > 0 else 0.0,
        )

    @property
    def plan(self) -> Plan:
        """The parameters."""
        return self._learner.plan

    @property
    def n_rows(self) -> int:
        """The number of rows seen."""
        return self._learner.n_rows

    @property
    def sequence_rows(self) -> int:
        """The number of rows of the running sequence."""
        return self._learner.sequence_rows

    @property
    def n_velocities(self) -> int:
        """The number of terms whose pasts had a positive weight."""
        return self._learner.n_velocities

    @property
    def n_terms(self) -> int:
        """The number of terms seen: steps taken and pending."""
        return self._learner.n_terms

    @property
    def stopped(self) -> bool:
        """Whether the hook has stopped the last ``update``."""
        return self._learner.stopped

    def _loaded(self) -> None:
        if self._learner.rule is not OJA_FLOW:
            raise ValueError("the learner of a flow has another rule.")
