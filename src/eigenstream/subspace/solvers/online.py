"""The online solver, with one step of the Oja-Karhunen flow for each observation."""

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions

from eigenstream.core.storable import storable
from eigenstream.core.types import Constraints, RandomState
from eigenstream.online import OJA_FLOW, Plan, Progress
from eigenstream.online.plan import check_init
from eigenstream.rows.chunk import joined
from eigenstream.rows.fit import Fit
from eigenstream.schedules import Auto, LearningRate, Schedule, as_schedule
from eigenstream.subspace.pairs.couples import CoupleSums
from eigenstream.subspace.solvers.base import ADD, FRACTION, POSITIVE, Problem, Solver
from eigenstream.subspace.solvers.flow import FlowSums
from eigenstream.subspace.sums.accumulators import Moments
from eigenstream.subspace.sums.learner import Learner
from eigenstream.subspace.sums.terms import TimeTerms

#: The number of rows or pairs that the flow makes couples of at a time.
COUPLES = 64


@storable()
class Flow(Solver):
    """Online solver with one step of the Oja-Karhunen flow for each observation.

    Parameters
    ----------
    learning_rate : number, "auto", a schedule of ``eigenstream.schedules`` or a function
        The step size. "auto" does not depend on the scale of the data.
    init : {"data", "random"} or array of shape (n_components, n_features), default="data"
        The initial components. "data" orthonormalises the first observations.
    forgetting : float in [0, 1), default=0.0
        The relative loss of weight of earlier observations at each step.
    hook : callable, optional
        A function of the state, called every 1000 steps or every ``hook.every`` steps. Learning
        stops if it returns True. See ``eigenstream.subspace.FlowMonitor``.
    random_state : int, optional
        The seed of initial components that the data do not determine.

    Notes
    -----
    The flow does not estimate its share of the optimum. A subspace that moved little in the second
    half of the rows may still be below 0.99 of it. Compare a part of the rows with "dense".

    Examples
    --------
    >>> from eigenstream import Flow, StreamPCA
    >>> StreamPCA(2, solver=Flow(init="random")).solver.get_params()["init"]
    'random'
    """

    name = "flow"
    abilities = frozenset({ADD})
    _parameter_constraints: ClassVar[Constraints] = {
        "learning_rate": [POSITIVE, StrOptions({"auto"}), Schedule, callable],
        "forgetting": [FRACTION],
        "hook": [callable, None],
    }

    def __init__(
        self,
        learning_rate: LearningRate = "auto",
        *,
        init: ArrayLike = "data",
        forgetting: float = 0.0,
        hook: Callable[[Progress], object] | None = None,
        random_state: RandomState = 0,
    ) -> None:
        self.learning_rate, self.init, self.forgetting = learning_rate, init, forgetting
        self.hook, self.random_state = hook, random_state

    def _validate_params(self) -> None:
        super()._validate_params()
        as_schedule(self.learning_rate, "learning_rate")
        check_init(self.init)

    def begin(self, problem: Problem) -> Learner:
        """Return a learner that has seen nothing."""
        terms = problem.terms
        if isinstance(terms, TimeTerms):
            exact = getattr(self.hook, "exact", False) and Learner(terms, Moments(terms.n_features))
            plan = self._plan(problem, terms.lag, self.learning_rate, center=not terms.center.fixed)
            sums = FlowSums(terms.n_features, OJA_FLOW, plan, exact=exact or None)
            return sums.learner(terms.settled())  # the flow has its own running mean
        # Couples are independent, so a smaller step size suffices.
        rate = Auto(c=2.0) if isinstance(self.learning_rate, str) else self.learning_rate
        sums = CoupleSums(terms.n_features, OJA_FLOW, self._plan(problem, 1, rate, center=False))
        return Learner(terms, sums, block_rows=COUPLES, sample=problem.sample)

    def learn(self, learner: Learner, fit: Fit) -> Learner:
        """Learn from all rows, in random order for labelled rows in memory."""
        if not learner.terms.closes or fit.stream is not None:
            return super().learn(learner, fit)
        rows = joined([*fit.learning()])
        order = check_random_state(self.random_state).permutation(len(rows))
        for part in np.array_split(order, max(len(order) // 4096, 1)):
            learner.add(rows.chosen(part))
            if learner.stopped:
                break
        return learner

    def _plan(self, problem: Problem, lag: int, rate: LearningRate, *, center: bool) -> Plan:
        assert problem.weights is not None
        return Plan(
            problem.n_components,
            weights=problem.weights,
            lag=lag,
            center=center,
            learning_rate=rate,
            init=self.init,
            forgetting=self.forgetting or None,
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
            hook=self.hook,
            hook_every=getattr(self.hook, "every", 1000),
        )
