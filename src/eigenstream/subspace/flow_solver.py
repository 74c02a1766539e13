"""The online solver: the Oja-Karhunen flow for the largest eigenvectors of T."""

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
    """The state of the flow after all rows so far, pending rows included."""

    pairs: Eigenpairs
    mean: Float64s
    n_terms: int
    n_rows: int
    gain: float
    weight: float  # of the terms
    total: float  # the mean of the rewarded |u|^2: the trace of the rewarded scatter

    @property
    def components(self) -> Float64s:
        """The directions as rows, in canonical order and sign."""
        return self.pairs.vectors.T

    @property
    def eigenvalues(self) -> Float64s:
        """Estimates of the eigenvalues of T in the subspace, descending."""
        return self.pairs.values


class FlowMonitor:
    """Hook that records the progress of an online fit, and may stop it.

    Parameters
    ----------
    every : int, default=1000
        The number of steps between two records.
    exact : bool, default=False
        Record the principal angle to the exact answer. This diagnostic costs the time of
        solver="dense" and one eigendecomposition for each record.
    stop : function of a Progress, optional
        ``fit`` or ``partial_fit`` stops if it returns True.

    Attributes
    ----------
    history : list of Progress
        The records.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream import Flow, StreamPCA
    >>> monitor = FlowMonitor(every=500, exact=True)
    >>> X = np.random.default_rng(0).standard_normal((3000, 8)) * np.arange(8, 0, -1)
    >>> pca = StreamPCA(2, solver=Flow(hook=monitor)).fit(X)
    >>> [record.step for record in monitor.history]
    [500, 1000, 1500, 2000, 2500, 3000]
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
            raise TypeError(f"stop={stop!r} is not callable. Pass a function of one Progress.")
        self.stop = stop
        self.history: list[Progress] = []

    def __call__(self, progress: Progress) -> bool:
        """Store a record, and return True to stop the fit."""
        self.history.append(progress)
        return bool(self.stop is not None and self.stop(progress))


#: Warn if the largest row has more than this share of the sum of squares, and is this many times as
#: large as the mean. Smaller values warn of heavy tails; larger ones miss outliers.
OUTLIER_SHARE, OUTLIER_SIZE = 0.05, 50.0


@storable(_learner="OnlineLearner")
class FlowSolver:
    """Online solver for the largest eigenvectors of T, one observation at a time.

    Parameters
    ----------
    n_components : int
        The number of components.
    weights : (reward, penalty), default=(1.0, 0.0)
        T = reward * E[x x^T] - penalty * E[v v^T] with the velocity v = x_t - x_(t - lag).
    lag : int, default=0
        The number of rows between an observation and its past. The first ``lag`` rows of a sequence
        have no terms. Use 0 without a penalty.
    center : bool, default=True
        Subtract the running mean. The terms are weighted so that their sum is the exact scatter
        about the final mean.
    learning_rate : number, "auto", schedule or function of the step, default="auto"
        The step size.
    init : {"data", "random"} or array of shape (n_components, n_features), default="data"
        The initial components. "data" orthonormalises the first observations.
    forgetting : float in (0, 1), optional
        The relative loss of weight of earlier observations at each step, for streams that drift. It
        applies to the mean, the eigenvalues, the adaptive gain and the average.
    random_state : int, RandomState or None
        The seed of initial components that the data do not determine.
    block_size : int, optional
        The number of steps between two updates of the full vectors. It changes the result only by
        rounding, and the times at which the average is updated.
    hook : function of a Progress, optional
        Called every ``hook_every`` steps. If it returns True, ``update`` stops and drops the
        remaining rows.
    hook_every : int, default=1000
        The number of steps between two calls of the hook.

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
        """Learn from the next rows, and return the solver.

        The result does not depend on the chunking. A step that is not finite raises
        ``UnstableStepError`` and restores the state before its block. ``exact`` is a function that
        returns reference columns; the hook receives their angle to the learned ones.
        """
        check_flag(new_sequence, "new_sequence")
        self._learner.update(rows, weights, new_sequence=new_sequence, exact=exact)
        return self

    def solution(self) -> FlowSolution:
        """Return the subspace after all rows so far, without changing the solver."""
        learner = self._learner.ahead()
        if not learner.steps:
            raise ValueError(
                f"After {learner.n_rows} row(s) there are no terms yet, because lag="
                f"{self.plan.lag}. Pass more rows."
            )
        vectors = np.asarray(learner.vectors, np.float64).T
        # The vectors are orthonormal in the precision of the data. Correct them to float64.
        vectors = vectors @ (1.5 * np.eye(vectors.shape[1]) - 0.5 * (vectors.T @ vectors))
        if learner.answer.lags:
            warn_user(
                f"learning_rate='auto' did not converge in {learner.steps} steps, so the result "
                "may be inaccurate. Pass more rows or make more passes, or use solver='dense'."
            )
        values, rotation = np.linalg.eigh(learner.answer.estimate())
        power, weight = learner.sums
        share = learner.largest / power if power > 0 else 0.0
        if share > OUTLIER_SHARE and share * learner.steps > OUTLIER_SIZE:
            warn_user(
                f"The square of one row is {share * learner.steps:.0f} times the mean, so the "
                "result may follow this row. Remove outliers, or use solver='dense'."
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
        """The number of rows of the current sequence."""
        return self._learner.sequence_rows

    @property
    def n_velocities(self) -> int:
        """The number of velocities of positive weight."""
        return self._learner.n_velocities

    @property
    def n_terms(self) -> int:
        """The number of terms so far, including pending ones."""
        return self._learner.n_terms

    @property
    def stopped(self) -> bool:
        """True if the hook has stopped the last ``update``."""
        return self._learner.stopped

    def _loaded(self) -> None:
        if self._learner.rule is not OJA_FLOW:
            raise ValueError("The stored flow has a different update rule. Save the model again.")
