"""The online solver, with one step of the Oja-Karhunen flow for each observation."""

from collections.abc import Callable
from typing import ClassVar

from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions

from eigenstream.core.storable import storable
from eigenstream.core.types import Constraints, RandomState
from eigenstream.online import OJA_FLOW, Plan, Progress
from eigenstream.online.plan import check_init
from eigenstream.schedules import LearningRate, Schedule, as_schedule
from eigenstream.subspace.solvers.base import ADD, FRACTION, POSITIVE, Problem, Solver
from eigenstream.subspace.solvers.flow import FlowSums
from eigenstream.subspace.sums.accumulators import Moments
from eigenstream.subspace.sums.learner import Learner
from eigenstream.subspace.sums.terms import TimeTerms


@storable()
class Flow(Solver):
    """Online solver with one step of the Oja-Karhunen flow for each observation.

    ``StreamPCA`` and ``SlowSubspace`` have it.

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
        if not isinstance(terms, TimeTerms):
            raise ValueError(
                "solver='flow' learns from rows, not from labels, pairs or a background. "
                "Use solver=Dense() or Sketch()."
            )
        assert problem.weights is not None
        exact = getattr(self.hook, "exact", False) and Learner(terms, Moments(terms.n_features))
        plan = Plan(
            problem.n_components,
            weights=problem.weights,
            lag=terms.lag,
            center=not terms.center.fixed,
            learning_rate=self.learning_rate,
            init=self.init,
            forgetting=self.forgetting or None,
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
            hook=self.hook,
            hook_every=getattr(self.hook, "every", 1000),
        )
        sums = FlowSums(terms.n_features, OJA_FLOW, plan, exact=exact or None)
        return sums.learner(terms.settled())  # the flow has its own running mean
