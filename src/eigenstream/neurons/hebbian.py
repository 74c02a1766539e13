"""Hebbian neurons: Oja's unit and Sanger's network, which find principal components."""

from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from eigenstream import online
from eigenstream._linalg import Float64s
from eigenstream._refusals import unchanged_on_error
from eigenstream._storable import storable
from eigenstream._streams import Course, fits_streams_by, maps_streams
from eigenstream.neurons._base import COUNT, Neurons
from eigenstream.schedules import Auto

FORMS = {
    "normalized": online.OJA_NORMALIZED,
    "linear": online.OJA_LINEAR,
    "hebb": online.HEBB,
}


@storable(_learner="OnlineLearner", _latest="f8 units D")
class OnlineNeurons(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Neurons):
    """Base of the estimators whose units learn by a Hebbian rule, one observation at a time."""

    _parameter_constraints: ClassVar[dict[str, Any]] = Neurons._parameter_constraints | {
        "learning_rate": "no_validation",
        "center": ["boolean"],
        "init": "no_validation",
    }
    #: The schedule of learning_rate="auto". Single units need another rate than frames of a flow.
    AUTO: ClassVar[Auto]

    n_components: int = 1
    learning_rate: Any
    center: bool
    init: Any
    tol: float

    _learner: online.OnlineLearner
    _latest: Float64s

    @abstractmethod
    def _rule(self) -> online.Rule:
        """Return the rule."""

    def _rates(self) -> Float64s | None:
        """Return one learning-rate factor a unit, or None for ones."""
        return None

    @fits_streams_by("_fit_stream")
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        checkpoint: Any = None,
        every: int | None = None,
        resume: bool = False,
    ) -> Self:
        """Learn from passes over ``X`` until the weights settle, or ``max_iter`` passes.

        A pass is one step a row, in the order given. Shuffle rows that are sorted, such as by
        class: later rows count more. ``converged_`` tells whether the last pass moved the weights
        by less than ``tol``, relative to their size.

        Parameters
        ----------
        X : array-like of shape (n, D), or a stream
        y : ignored
        <checkpoint, every, resume>
        """
        with unchanged_on_error(self):
            self._start()
            rows = self._rows(X, reset=True)
            while not self._ends():
                self._update(rows)
                self._compare()
        return self

    def _fit_stream(self, course: Course) -> None:
        """Learn from a stream in ``max_iter`` passes, chunk by chunk."""
        made, first = course.learned, not course.goes_on
        if first:
            made._start()
        passes = course.passes() if self.max_iter > 1 else None
        while not made._ends():
            for rows, _ in course.learning(passes):
                made._update(made._rows(rows, reset=first))
                first = False
            if first:
                raise ValueError(f"{course.stream!r} has no row to learn from.")
            made._compare()

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Continue with one pass over a chunk of rows; any chunking gives the same weights.

        ``converged_`` tells whether the chunk moved the weights by less than ``tol``, relative to
        their size. ``n_iter_`` counts the chunks.
        """
        with unchanged_on_error(self):
            first = self._start_or_continue()
            self._update(self._rows(X, reset=first))
            self._compare()
        return self

    def _start(self) -> None:
        super()._start()
        plan = online.Plan(
            self.n_components,
            center=self.center,
            learning_rate=self.AUTO if str(self.learning_rate) == "auto" else self.learning_rate,
            init=self.init,
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
            rates=self._rates(),
        )
        if self.record_every is not None:
            plan = replace(plan, hook=self._record, hook_every=self.record_every)
        self._learner = online.OnlineLearner(self._rule(), plan)

    def _record(self, progress: online.Progress) -> None:
        self._records.append((progress.step, progress.components))

    def _ends(self) -> bool:
        return self.converged_ or self.n_iter_ == self.max_iter

    def _update(self, rows: Any) -> None:
        if not self._learner.n_terms:
            self._latest = np.zeros((self.n_components, rows.shape[1]))
        self._learner.update(rows)

    def _compare(self) -> None:
        """Count a pass or a chunk, and compare the weights with those before it."""
        before, self._latest = self._latest, self.components_
        far = np.linalg.norm(self._latest - before)
        self.converged_ = bool(self.n_iter_ > 0 and far <= self.tol * np.linalg.norm(before))
        self.n_iter_ += 1

    @property
    def components_(self) -> Float64s:
        """The weight vectors, one a row; averaged over the steps with ``learning_rate="auto"``."""
        check_is_fitted(self)
        return np.array(self._learner.ahead().vectors, np.float64)

    @property
    def mean_(self) -> Float64s:
        """The mean that is subtracted from every row (zeros with ``center=False``)."""
        check_is_fitted(self)
        return self._learner.ahead().mean

    @property
    def n_steps_(self) -> int:
        """The number of learning steps."""
        check_is_fitted(self)
        return self._learner.n_terms

    @maps_streams
    def transform(self, X: Any) -> Any:
        """Return the units' responses <w, x - mean> to the rows, in the rows' own precision."""
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        learner = self._learner.ahead()
        weights = np.asarray(learner.vectors, rows.dtype)
        return rows @ weights.T - (weights @ learner.mean.astype(rows.dtype))

    @property
    def _n_features_out(self) -> int:
        return self.n_components

    def _rows(self, X: Any, *, reset: bool) -> Any:
        rows = super()._rows(X, reset=reset)
        if reset and self.n_components > rows.shape[1]:
            raise ValueError(
                f"n_components={self.n_components} exceeds the {rows.shape[1]} input features. "
                f"Choose n_components <= {rows.shape[1]}."
            )
        return rows

    def _loaded(self) -> None:
        """Let the learner record again, and check that it is that of these neurons."""
        if not self._begun:
            return
        begun = type(self)(**self.get_params(deep=False) | dict(self._begun))
        begun._check()
        learner, units = self._learner, begun.n_components
        if begun.record_every is not None:
            learner.plan = replace(learner.plan, hook=self._record, hook_every=begun.record_every)
        if (
            learner.rule is not begun._rule()
            or units != learner.plan.n_components
            or self._latest.shape != (units, len(learner.mean))
        ):
            raise ValueError(f"what was learned is not what {begun!r:.200} learns.")

    def __sklearn_tags__(self) -> Any:
        """Describe the estimator to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


@storable()
class OjaNeuron(OnlineNeurons):
    """One linear neuron that learns the first principal component [OJA].

    Parameters
    ----------
    form : {"normalized", "linear", "hebb"}, default="normalized"
        "normalized": w = (w + lr y x) / |w + lr y x|, with the response y = <w, x>.
        "linear": w += lr y (x - y w), the same to first order in lr.
        "hebb": w += lr y x, which grows without bound: to see why the others hold |w| back.
    learning_rate : number, "auto", schedule or function of the step, default="auto"
        Learning rates. The linear form is stable for lr y^2 well below 2 only: a rate that makes
        it explode raises ``UnstableStepError``.
    center : bool, default=True
        Centre each observation by the mean of those before it.
    init : "random", "data" or array of shape (units, n_features), default="random"
    max_iter : int, default=10
        Largest number of passes over the data in ``fit``.
    tol : float, default=1e-2
        Relative change of the weights in a pass (or in a ``partial_fit``) below which they have
        converged.
    record_every : int, optional
        Record the weights in ``history_`` every ``record_every`` steps.
    random_state : int, RandomState or None

    Attributes
    ----------
    components_ : array of shape (1, n_features)
    mean_, n_iter_, converged_, n_steps_, history_

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream.neurons import OjaNeuron
    >>> X = np.random.default_rng(0).standard_normal((2000, 3)) * [1, 4, 1]
    >>> neuron = OjaNeuron(random_state=0).fit(X)
    >>> bool(abs(neuron.components_[0, 1]) > 0.99), neuron.converged_
    (True, True)
    """

    #: Of five rates and two powers the one whose worst case was best, on 14 streams.
    AUTO = Auto(c=1.0, averaging=1.0)

    _parameter_constraints: ClassVar[dict[str, Any]] = OnlineNeurons._parameter_constraints | {
        "form": [StrOptions(set(FORMS))]
    }

    def __init__(
        self,
        *,
        form: str = "normalized",
        learning_rate: Any = "auto",
        center: bool = True,
        init: Any = "random",
        max_iter: int = 10,
        tol: float = 1e-2,
        record_every: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.form = form
        self.learning_rate = learning_rate
        self.center = center
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.record_every = record_every
        self.random_state = random_state

    def _rule(self) -> online.Rule:
        return FORMS[self.form]


@storable()
class SangerNetwork(OnlineNeurons):
    """A layer of linear units that learns the principal components in order [SANGER].

    Unit k learns from what the units up to it leave: w_k += lr_k y_k (x - sum_{l<=k} y_l w_l). No
    orthonormalisation: each unit uses its own response and those before it only.

    Parameters
    ----------
    n_components : int, default=2
    normalize : bool, default=False
        Divide each weight vector by its norm after every step ([DYN] eq. 3.3).
    unit_rates : array of shape (n_components,), optional
        One factor on the learning rate a unit; ones by default.
    learning_rate : number, "auto", schedule or function of the step, default="auto"
        Learning rates. Stable for lr |y|^2 well below 2 only: a rate that makes it explode raises
        ``UnstableStepError``.
    center : bool, default=True
        Centre each observation by the mean of those before it.
    init : "random", "data" or array of shape (units, n_features), default="random"
    max_iter : int, default=10
        Largest number of passes over the data in ``fit``.
    tol : float, default=1e-2
        Relative change of the weights in a pass (or in a ``partial_fit``) below which they have
        converged.
    record_every : int, optional
        Record the weights in ``history_`` every ``record_every`` steps.
    random_state : int, RandomState or None

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
    mean_, n_iter_, converged_, n_steps_, history_

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream.neurons import SangerNetwork
    >>> X = np.random.default_rng(0).standard_normal((3000, 4)) * [1, 5, 3, 1]
    >>> network = SangerNetwork(2, random_state=0).fit(X)
    >>> np.abs(network.components_).argmax(axis=1)
    array([1, 2])
    """

    #: Later units learn from what the earlier ones leave: they need longer steps than a single one.
    AUTO = Auto(c=4.0, averaging=1.0)

    _parameter_constraints: ClassVar[dict[str, Any]] = OnlineNeurons._parameter_constraints | {
        "n_components": [COUNT],
        "normalize": ["boolean"],
        "unit_rates": "no_validation",
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        normalize: bool = False,
        unit_rates: Any = None,
        learning_rate: Any = "auto",
        center: bool = True,
        init: Any = "random",
        max_iter: int = 10,
        tol: float = 1e-2,
        record_every: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.normalize = normalize
        self.unit_rates = unit_rates
        self.learning_rate = learning_rate
        self.center = center
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.record_every = record_every
        self.random_state = random_state

    def _rule(self) -> online.Rule:
        return online.SANGER_NORMALIZED if self.normalize else online.SANGER

    def _rates(self) -> Float64s | None:
        if self.unit_rates is None:
            return None
        rates = np.asarray(self.unit_rates)
        if (
            rates.shape != (self.n_components,)
            or rates.dtype.kind not in "iuf"
            or not (np.isfinite(rates) & (rates >= 0)).all()
        ):
            raise ValueError(
                f"unit_rates must hold one factor that is not negative a unit, "
                f"{self.n_components} in all; got {self.unit_rates!r}."
            )
        return rates.astype(np.float64)
