"""The base of the solvers: their parameters, their abilities, and the learner that they begin.

A solver object has its own parameters, as in ``SlowSubspace(solver=Sketch(oversampling=4))``. In a
grid search their names are ``solver__oversampling`` and so on.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

from sklearn.utils._param_validation import Interval, Options, StrOptions

from eigenstream.core.documented import Documented
from eigenstream.core.types import Transformer
from eigenstream.rows.fit import Fit
from eigenstream.subspace.sums.learner import Learner, Watcher
from eigenstream.subspace.sums.terms import Sums, Terms, Weights

#: The abilities of solvers: ``partial_fit``, ``merge``, and solving the sums again for other
#: weights, scales or all components.
ADD, MERGE, MATRIX = "add", "merge", "matrix"
#: The abilities that ratios, and alpha="auto" of a time series, need.
RATIOS, ALPHA = "ratios", "alpha"
#: The ability that gaps and a mean for each sequence need.
PAIRWISE = "pairwise"

COUNT = Interval(Integral, 1, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")
FRACTION = Interval(Real, 0, 1, closed="left")
FLAG = Options(bool, {True, False})
CRITERION = StrOptions({"difference", "ratio"})


class Need(NamedTuple):
    """The text of a parameter value or a call, the ability that it requires, and an alternative."""

    words: str
    ability: str
    otherwise: str = ""


@dataclass(frozen=True)
class Problem:
    """The request of an estimator to its solver, made once before the first row."""

    #: Makes the terms of the rows. It has seen no row.
    terms: Terms
    n_components: Any
    #: The weights of T, or None if they are estimated from the data.
    weights: Weights | None
    sample: Any = None
    #: Returns the exact sums, by default ``Moments``.
    sums: Callable[[], Sums] | None = None
    #: The shrinkage of ratios, or None for T.
    shrinkage: float | None = None
    #: The watchers of the rows, by name.
    watchers: dict[str, Watcher] = field(default_factory=dict)
    #: True if exact sums are stored for two halves of the rows.
    halved: bool = False


class Solver(Documented):
    """Base of the solvers. A subclass has a ``name``, its ``abilities`` and ``_sums``.

    Examples
    --------
    >>> from eigenstream.subspace import Dense, Krylov
    >>> "merge" in Dense.abilities, "merge" in Krylov.abilities
    (True, False)
    """

    #: The name of the solver with its default parameters.
    name: ClassVar[str]
    #: "add" allows ``partial_fit``, "merge" allows ``merge``, and "matrix" allows other weights of
    #: the same sums. "ratios" and "alpha" allow ratios and alpha="auto", "pairwise" allows gaps.
    abilities: ClassVar[frozenset[str]] = frozenset()
    #: The abilities that require two passes or more.
    of_passes: ClassVar[frozenset[str]] = frozenset()
    #: True if the solver only estimates eigenvalues.
    estimates: ClassVar[bool] = False
    forgetting: float = 0.0
    passes: int = 1

    def fits(self, n_features: int, n_rows: int | None) -> bool:
        """Return whether "auto" may use this solver; ``n_rows`` is None for rows read once."""
        return False

    def own_map(self) -> Transformer:
        """Return the feature map of the solver, or None."""
        return None

    def begin(self, problem: Problem) -> Learner:
        """Return a learner that has seen nothing."""
        return Learner(
            problem.terms,
            self._sums(problem),
            sample=problem.sample,
            forgetting=self.forgetting,
        )

    def learn(self, learner: Learner, fit: Fit) -> Learner:
        """Learn from all rows, and return the learner."""
        learned: Learner = fit.learn(learner)
        return learned

    def _sums(self, problem: Problem) -> Sums:
        raise NotImplementedError
