"""The solvers and their abilities.

A solver object has its own parameters, as in ``SlowSubspace(solver=Sketch(oversampling=4))``. In a
grid search their names are ``solver__oversampling`` and so on.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import repeat
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from eigenstream._checks import warn_user
from eigenstream._documented import Documented
from eigenstream._machine import physical_memory
from eigenstream._storable import storable
from eigenstream._streams import is_stream
from eigenstream._types import Constraints, RandomState, Transformer
from eigenstream.online import OJA_FLOW, Plan, Progress
from eigenstream.online.plan import check_init
from eigenstream.rows.chunk import joined
from eigenstream.rows.fit import Fit
from eigenstream.schedules import Auto, LearningRate, Schedule, as_schedule
from eigenstream.subspace.pairs.couples import CoupleSums
from eigenstream.subspace.solvers.flow import FlowOperator, FlowSums
from eigenstream.subspace.solvers.frame import BLOCK_VALUES, MOST_CLOSING, Frame, block_rows
from eigenstream.subspace.solvers.kernels import KernelMap, RowSpan
from eigenstream.subspace.solvers.ratio_frame import RatioFrame
from eigenstream.subspace.sums.accumulators import Moments
from eigenstream.subspace.sums.learner import Learner, Sums
from eigenstream.subspace.sums.operators import MatrixOperator, Passes, PassOperator
from eigenstream.subspace.sums.row_moments import RowMoments
from eigenstream.subspace.sums.terms import Terms, TimeTerms, Weights

#: The methods that stand for abilities: ``partial_fit``, ``merge``, and solving the sums again for
#: other weights, ratios, scales or all components.
ADD, MERGE, MATRIX = "add", "merge", "matrix"
#: The ability that ratios and alpha="auto" of a time series need.
RATIOS = "ratios"
#: The ability that gaps and a mean for each sequence need.
PAIRWISE = "check_gaps"

#: A sketch warns of a smaller estimated share of the optimum. With ``tol``, it makes at most this
#: number of passes.
LEAST_SHARE, MOST_PASSES = 0.9, 10

#: A sketch of ratios warns if their sum still changes by more than this share between passes.
MOST_CHANGE = 0.03

#: The share of the memory that D x D matrices may take before "auto" avoids them, and the number of
#: such matrices that a dense solve holds at once.
MEMORY_SHARE, DENSE_MATRICES = 0.25, 4

#: Rows with at least this number of columns for each row are solved in their span. Each row has up
#: to two terms, and n_features / 2 terms are stored as vectors.
THIN = 4

#: The number of rows or pairs that the flow makes couples of at a time.
COUPLES = 64

#: The factor of penalised directions that a sketch of classes keeps. More cost time and memory.
OF_CLASSES = 3

#: The values with which a sketch has the ratios of classes, for an error.
OF_NUMBERS = ", or Sketch(passes=2) with n_components=10, shrinkage=0.5, mixing=0, scale=False"

COUNT = Interval(Integral, 1, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")
FRACTION = Interval(Real, 0, 1, closed="left")


def fits_dense(n_features: int, n_rows: int | None = None) -> bool:
    """Return whether D x D matrices, or the terms of a few rows, fit in their share of memory.

    ``n_rows`` is None if there may be any number of rows.
    """
    size = n_features
    if n_rows is not None and THIN * n_rows <= n_features:
        size = THIN * n_rows
    return DENSE_MATRICES * 8.0 * n_features * size <= MEMORY_SHARE * physical_memory()


@dataclass(frozen=True)
class Task:
    """The task of a solver. ``weights`` is None if they are estimated from the data."""

    n_components: Any
    weights: Weights | None
    sample: Any = None
    #: Returns the exact sums, by default ``Moments``.
    sums: Callable[[], Sums] | None = None
    #: The shrinkage of ratios, or None for T.
    shrinkage: float | None = None


class Solver(Documented):
    """Base of the solvers. A subclass has a ``name``, its abilities and ``_sums``.

    Examples
    --------
    >>> from eigenstream.subspace import Dense, Krylov
    >>> Dense.can("merge"), Krylov.can("merge")
    (True, False)
    """

    _parameter_constraints: ClassVar[Constraints] = {}
    #: The name of the solver with its default parameters.
    name: ClassVar[str]
    #: The classes of the sums and of their operator. Their methods are the solver's abilities:
    #: ``add`` for ``partial_fit``, ``merge``, and ``matrix`` for other weights of the same sums.
    abilities: ClassVar[tuple[type, ...]] = ()
    forgetting: float = 0.0
    passes: int = 1

    @classmethod
    def can(cls, method: str) -> bool:
        """Return whether the sums or the operator have a method.

        Parameters
        ----------
        method : str
            The name of the method, such as "merge".

        Returns
        -------
        bool
            True if one of them has it.
        """
        return any(map(hasattr, cls.abilities, repeat(method)))

    def _able(self, method: str) -> bool:
        """Return whether ``can`` holds with the parameters of this solver."""
        return self.can(method)

    def fits(self, n_features: int, n_rows: int | None) -> bool:
        """Return whether "auto" may use this solver; ``n_rows`` is None for rows read once."""
        return False

    def own_map(self) -> Transformer:
        """Return the feature map of the solver, or None."""
        return None

    def begin(self, terms: Terms, task: Task) -> Learner:
        """Return a learner that has seen nothing."""
        return Learner(
            terms,
            self._sums(terms, task),
            block_rows=self._block_rows(terms, task),
            sample=task.sample,
            forgetting=self.forgetting,
        )

    def learn(self, learner: Learner, fit: Fit) -> Learner:
        """Learn from all rows, and return the learner."""
        learned: Learner = fit.learn(learner)
        return learned

    def _block_rows(self, terms: Terms, task: Task) -> int | None:
        return None

    def _sums(self, terms: Terms, task: Task) -> Sums:
        raise NotImplementedError


@storable()
class Dense(Solver):
    """Exact solver that stores a D x D matrix for each part.

    It can merge, and it can solve for other weights without reading the data again.

    Parameters
    ----------
    forgetting : float in [0, 1), default=0.0
        The relative loss of weight of earlier rows with each new row. For a half-life of h rows,
        pass 1 - 0.5 ** (1 / h), about 0.7 / h.

    Examples
    --------
    >>> from eigenstream import Dense, StreamPCA
    >>> StreamPCA(2, solver=Dense(forgetting=0.01)).solver.get_params()[
    ...     "forgetting"
    ... ]
    0.01
    """

    name = "dense"
    abilities = (Moments, RowMoments, MatrixOperator)
    _parameter_constraints: ClassVar[Constraints] = {"forgetting": [FRACTION]}

    def __init__(self, forgetting: float = 0.0) -> None:
        self.forgetting = forgetting

    def fits(self, n_features: int, n_rows: int | None) -> bool:
        """Return whether "auto" may take this solver."""
        return fits_dense(n_features, n_rows)

    def _sums(self, terms: Terms, task: Task) -> Sums:
        return Moments(terms.n_features) if task.sums is None else task.sums()


@storable()
class Sketch(Solver):
    """Approximate solver that stores a few vectors and exact traces.

    It reads the rows once and is accurate on long stationary streams. Ratios and ``alpha="auto"``
    of a time series need at least two passes.

    Parameters
    ----------
    oversampling : float, default=3.0
        The number of directions kept at each end of the spectrum, in units of n_components.
    tol : float in (0, 1), optional
        ``fit`` reads the rows again until the estimated share of the optimum that is missed is at
        most tol, at most 10 times. It warns if the share stays larger, or if the rows can be read
        only once. For ratios and ``alpha="auto"``, tol is the relative change of the sum of the
        ratios in the last pass, by default 0.03.
    passes : int, default=1
        The number of times that ``fit`` reads the rows, without tol. Use 2 or 3 for ratios.
    forgetting : float in [0, 1), default=0.0
        The relative loss of weight of earlier rows with each new row. For a half-life of h rows,
        pass 1 - 0.5 ** (1 / h), about 0.7 / h.

    Examples
    --------
    >>> from eigenstream import Sketch, StreamPCA
    >>> StreamPCA(2, solver=Sketch(passes=2)).solver.get_params()["passes"]
    2
    """

    name = "sketch"
    abilities = (Frame, RatioFrame)
    _parameter_constraints: ClassVar[Constraints] = {
        "oversampling": [POSITIVE],
        "tol": [Interval(Real, 0, 1, closed="neither"), None],
        "passes": [COUNT],
        "forgetting": [FRACTION],
    }

    def __init__(
        self,
        oversampling: float = 3.0,
        *,
        tol: float | None = None,
        passes: int = 1,
        forgetting: float = 0.0,
    ) -> None:
        self.oversampling, self.tol = oversampling, tol
        self.passes, self.forgetting = passes, forgetting

    def _able(self, method: str) -> bool:
        """Return whether ``can`` holds with the parameters of this solver."""
        return self.can(method) and (method != RATIOS or self.passes > 1)

    def fits(self, n_features: int, n_rows: int | None) -> bool:
        """Return whether "auto" may take this solver."""
        return n_rows is None

    def learn(self, learner: Learner, fit: Fit) -> Learner:
        """Learn from all rows, in one pass or several."""
        again = self.passes > 1 or (self.tol is not None and fit.rows.rereadable)
        if not again or fit.turn == 0:
            learner = super().learn(learner, fit)
        if not isinstance(learner.sums, Frame):
            return learner
        most = (MOST_PASSES if self.tol is not None else self.passes) if again else 1
        missed = learner.missed()
        # A resumed fit may start in a later pass.
        for turn in range(max(fit.turn, 1), most):
            if self.tol is not None and missed is not None and missed <= self.tol:
                break
            learner.further = fit.learn(learner.repeat(), turn)
            learner.adopt()
            missed = learner.missed()
        if missed is not None:
            self._warn_of(missed, ratios=isinstance(learner.sums, RatioFrame))
        return learner

    def _warn_of(self, missed: float, *, ratios: bool) -> None:
        """Warn if much of the optimum is missed, or if ratios still change."""
        most = self.tol or (MOST_CHANGE if ratios else 1.0 - LEAST_SHARE)
        if missed <= most:
            return
        doubt = f"the sketch reached an estimated {max(1.0 - missed, 0.0):.0%} of the optimum"
        if ratios:
            doubt = f"the sum of the ratios changed by {missed:.0%} in the last pass of the sketch"
        warn_user(
            f"{doubt}. Use Sketch(passes={self.passes + 1}) or more passes, more rows, or "
            "solver='dense'."
        )

    def _block_rows(self, terms: Terms, task: Task) -> int | None:
        if self._whole(terms, task):
            return None
        return block_rows(terms.n_features, sum(self._vectors(terms, task)))

    def _sums(self, terms: Terms, task: Task) -> Sums:
        if self._whole(terms, task):
            return Moments(terms.n_features)
        n_vectors = self._vectors(terms, task)
        if task.weights is None:
            return RatioFrame(terms.n_features, task.n_components, n_vectors[1], task.shrinkage)
        return Frame(terms.n_features, task.weights, task.n_components, *n_vectors)

    def _vectors(self, terms: Terms, task: Task) -> tuple[int, int]:
        """Return the numbers of the largest and of the smallest eigenvectors to keep."""
        d, c = task.n_components, self.oversampling
        n_beside = int(np.clip((c - 1.0) * d, 8, max(20 * (c - 1.0), 8)))
        if task.weights is None:
            return d + 2 * n_beside, n_beside
        highest = d + n_beside
        lowest = int(np.clip(c * d, 8, max(20 * c, 8)))
        # Directions that separate classes are found among the least penalised ones.
        lowest *= OF_CLASSES if terms.closes else 1
        return highest, lowest if task.weights[1] else 0

    def _whole(self, terms: Terms, task: Task) -> bool:
        """Return whether full matrices are no larger than a frame and its block."""
        n = terms.n_features
        n_matrices = 1 if task.weights and not task.weights[1] else 2
        small = n_matrices * n**2 <= BLOCK_VALUES and not terms.closes
        return small or n <= sum(self._vectors(terms, task)) + MOST_CLOSING * terms.closes


@storable()
class Krylov(Solver):
    """Iterative solver that reads the rows several times and forms no matrix.

    Parameters
    ----------
    tol : float, default=0.0
        The relative error of the eigenvalues at which the iterations stop; 0 is machine precision.

    Examples
    --------
    >>> from eigenstream import Krylov, StreamPCA
    >>> StreamPCA(2, solver=Krylov(tol=1e-6)).solver.get_params()["tol"]
    1e-06
    """

    name = "krylov"
    abilities = (PassOperator,)
    _parameter_constraints: ClassVar[Constraints] = {
        "tol": [Interval(Real, 0, None, closed="left")]
    }

    def __init__(self, tol: float = 0.0) -> None:
        self.tol = tol

    def fits(self, n_features: int, n_rows: int | None) -> bool:
        """Return whether "auto" may take this solver."""
        return n_rows is not None

    def learn(self, learner: Learner, fit: Fit) -> Learner:
        """Learn from all rows."""
        learner = super().learn(learner, fit)  # means, and the number of terms
        learner.sums.source = fit
        return learner

    def _sums(self, terms: Terms, task: Task) -> Passes:
        return Passes(self.tol)


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

    Examples
    --------
    >>> from eigenstream import Flow, StreamPCA
    >>> StreamPCA(2, solver=Flow(init="random")).solver.get_params()["init"]
    'random'
    """

    name = "flow"
    abilities = (FlowSums, FlowOperator)
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

    def begin(self, terms: Terms, task: Task) -> Learner:
        """Return a learner that has seen nothing."""
        if isinstance(terms, TimeTerms):
            exact = getattr(self.hook, "exact", False) and Learner(terms, Moments(terms.n_features))
            plan = self._plan(task, terms.lag, self.learning_rate, center=not terms.center.fixed)
            sums = FlowSums(terms.n_features, OJA_FLOW, plan, exact=exact or None)
            return sums.learner(terms.settled())  # the flow has its own running mean
        # Couples are independent, so a smaller step size suffices.
        rate = Auto(c=2.0) if isinstance(self.learning_rate, str) else self.learning_rate
        sums = CoupleSums(terms.n_features, OJA_FLOW, self._plan(task, 1, rate, center=False))
        return Learner(terms, sums, block_rows=COUPLES, sample=task.sample)

    def learn(self, learner: Learner, fit: Fit) -> Learner:
        """Learn from all rows, in random order for labelled rows in memory."""
        if not learner.terms.closes or is_stream(fit.source):
            return super().learn(learner, fit)
        whole = joined([*fit.learning()])
        order = check_random_state(self.random_state).permutation(len(whole))
        for part in np.array_split(order, max(len(order) // 4096, 1)):
            learner.add(whole.chosen(part))
            if learner.stopped:
                break
        return learner

    def _plan(self, task: Task, lag: int, rate: LearningRate, *, center: bool) -> Plan:
        assert task.weights is not None
        return Plan(
            task.n_components,
            weights=task.weights,
            lag=lag,
            center=center,
            learning_rate=rate,
            init=self.init,
            forgetting=self.forgetting or None,
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
            hook=self.hook,
            hook_every=getattr(self.hook, "every", 1000),
        )


@storable()
class Kernel(Solver):
    """Exact solver in the space of a kernel, for up to about 10^4 rows.

    Parameters
    ----------
    kernel : {"rbf", "linear"}, default="rbf"
        "rbf" is exp(-gamma |x - y|^2). "linear" suits rows with many more features than rows.
    gamma : float, optional
        The coefficient of "rbf". By default 0.7 over the median squared distance of the rows.

    Examples
    --------
    >>> from eigenstream import Kernel, PairSubspace
    >>> PairSubspace(2, solver=Kernel("rbf", 0.1)).solver.get_params()["gamma"]
    0.1
    """

    name = "kernel"
    abilities = (MatrixOperator,)
    _parameter_constraints: ClassVar[Constraints] = {
        "kernel": [StrOptions({"rbf", "linear"})],
        "gamma": [POSITIVE, None],
    }

    def __init__(self, kernel: str = "rbf", gamma: float | None = None) -> None:
        self.kernel, self.gamma = kernel, gamma

    def own_map(self) -> KernelMap | RowSpan:
        """Return the map of the kernel."""
        return RowSpan() if self.kernel == "linear" else KernelMap(self.gamma)

    def _sums(self, terms: Terms, task: Task) -> Moments:
        return Moments(terms.n_features)


#: The solvers by name. "auto" uses the first that fits and has the required abilities.
SOLVERS: dict[str, type[Solver]] = {
    kind.name: kind for kind in (Dense, Sketch, Krylov, Flow, Kernel)
}


# ---- the abilities that parameters require ---------------------------------------------------


class Need(NamedTuple):
    """A parameter value or a call in words, the method that it uses, and an alternative."""

    words: str
    method: str
    otherwise: str = ""


def needs_of(estimator: BaseEstimator) -> list[Need]:
    """Return the methods that the parameters of an estimator use."""
    params = estimator.get_params(deep=False)
    needs = []
    ratios, otherwise = RATIOS, ", or criterion='difference'"
    if "mixing" in params:  # a sketch compares no values on held-out classes
        numbers = (params[name] for name in ("n_components", "shrinkage", "scale"))
        if "preprocessor" in params:
            ratios = MATRIX
        elif params["mixing"] != 0 or not all(isinstance(number, Real) for number in numbers):
            ratios, otherwise = MATRIX, otherwise + OF_NUMBERS
    if params.get("criterion", "difference") != "difference":
        needs.append(Need("criterion='ratio'", ratios, otherwise))
    else:
        for name in ("alpha", "eta"):
            if not isinstance(params.get(name, 1.0), int | float):
                words = f"{name}={params[name]!r}"
                method = ratios if params[name] == "auto" else MATRIX
                needs.append(Need(words, method, f", or give {name} as a number"))
    if params.get("scale", False) not in (False, "auto"):
        needs.append(Need(f"scale={params['scale']!r}", MATRIX))
    n = params["n_components"]
    if n is None or isinstance(n, float):
        needs.append(Need(f"n_components={n!r}", MATRIX, ", or a whole number"))
    return needs


def chosen_solver(
    estimator: BaseEstimator, n_features: int, n_rows: int | None, *calls: Need
) -> Solver:
    """Return the estimator's solver, or raise if it lacks a required ability.

    ``n_rows`` is None for rows that can be read only once. ``calls`` are further requirements, such
    as ``Need("partial_fit", "add")``.
    """
    needs = [*needs_of(estimator), *calls]
    solver = estimator.solver
    if isinstance(solver, str) and solver == "auto":
        if any(need.method == PAIRWISE or need.words.startswith("scale") for need in needs):
            n_rows = None  # These need all matrices.
        for kind in SOLVERS.values():
            if all(kind()._able(need.method) for need in needs) and kind().fits(n_features, n_rows):
                return kind()
        sketch = any(need.method == RATIOS for need in needs)
        raise ValueError(
            f"{needs[0].words if needs else 'solver=auto'} needs matrices of {n_features} x "
            f"{n_features}, which do not fit in memory. Use fewer columns, "
            f"{'solver=Sketch(passes=3), ' * sketch}or solver='dense' for at most "
            f"{n_features // THIN} rows."
        )
    solver = SOLVERS[solver]() if isinstance(solver, str) else solver
    solver._validate_params()
    for need in needs:
        if not solver._able(need.method):
            passes = "passes=2" if need.method == RATIOS else ""
            able = [
                f"{kind.__name__}({passes if kind is Sketch else ''})"
                for kind in SOLVERS.values()
                if kind.can(need.method)
            ]
            raise ValueError(
                f"{need.words} is not supported by solver={solver.name!r}. "
                f"Use solver={' or '.join(able)}{need.otherwise}."
            )
    return cast(Solver, solver)
