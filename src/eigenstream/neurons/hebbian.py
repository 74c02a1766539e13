"""Hebbian neurons that find principal components: Oja's unit and Sanger's network."""

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from eigenstream.core.checks import check_numbers, warn_user
from eigenstream.core.documented import COUNT, Transforming, documented, documented_by, words
from eigenstream.core.linalg import Float64s, orthonormalized
from eigenstream.core.storable import storable
from eigenstream.core.types import (
    Checkpoint,
    Constraints,
    LabelsLike,
    Matrix,
    RandomState,
    RowsLike,
    Values,
)
from eigenstream.neurons._base import RATE, Neurons
from eigenstream.neurons._steps import HebbianUnits, hebbian_steps
from eigenstream.online.blocks import automatic
from eigenstream.online.plan import check_start
from eigenstream.rows.chunk import Chunk
from eigenstream.rows.door import as_floats, chunk_of, validated
from eigenstream.rows.fit import KEEPING, Fit, fit_of, keeper_of
from eigenstream.rows.guard import changes
from eigenstream.rows.prepared import fits_rows, learns_rows, maps_streams, reads_rows
from eigenstream.schedules import Auto, LearningRate, Schedule, as_schedule

#: Two flags: a unit subtracts the responses of the units up to itself, and it is normalised.
FORMS = {"normalized": (False, True), "linear": (True, False), "hebb": (False, False)}

#: A product with the covariance turns converged weights by at most this angle in degrees. A smaller
#: limit warns of weights that fluctuate with the learning rate.
MOST_TURN = 8.0

#: A shorter remainder of a product is a rounding error.
EXACT = 1e-10


class Witness:
    """The product of the weights with the covariance of rows, which a pass adds up."""

    stopped = False

    def __init__(self, weights: Float64s, mean: Float64s) -> None:
        self.weights, self.mean, self.n_rows = weights, mean, 0
        self.products, self.variance = np.zeros(weights.shape), 0.0

    def add(self, chunk: Chunk) -> None:
        """Add the rows of positive weight."""
        rows = chunk.of_positive_weight().rows - self.mean
        self.products += (rows @ self.weights.T).T @ rows
        self.variance += float(np.einsum("ij,ij->", rows, rows))
        self.n_rows += len(rows)

    def absorb(self, later: "Witness", **_: object) -> None:
        """Add the sums of later rows."""
        self.products = self.products + later.products
        self.variance += later.variance
        self.n_rows += later.n_rows

    def ratios(self) -> Float64s:
        """Return the share of the variance along the weights of each unit."""
        along = np.einsum("ij,ij->i", self.products, self.weights)
        squares = np.einsum("ij,ij->i", self.weights, self.weights)
        return np.asarray(along / np.maximum(squares * self.variance, 1e-300))

    def turns(self) -> Float64s:
        """Return the angle in degrees by which a product turns the weights of each unit.

        Earlier components are subtracted from the product. The angle is zero at the principal
        components, and also for directions of equal variance, which have no order.

        >>> witness = Witness(np.array([[1.0, 1.0]]), np.zeros(2))
        >>> witness.add(Chunk(np.array([[0.0, 1.0]])))
        >>> witness.turns()
        array([45.])
        """
        angles = np.zeros(len(self.weights))
        units = self.weights / np.maximum(np.linalg.norm(self.weights, axis=1), 1e-300)[:, None]
        for k, (unit, product) in enumerate(zip(units, self.products, strict=True)):
            earlier = np.linalg.qr(units[:k].T)[0]
            rest = product - earlier @ (earlier.T @ product)
            length = float(np.linalg.norm(rest))
            if length > EXACT * np.linalg.norm(product):
                angles[k] = np.degrees(np.arccos(min(abs(float(unit @ rest)) / length, 1.0)))
        return angles


@storable(_units="HebbianUnits", _latest="f8 units D", explained_variance_ratio_="f8 units?")
class OnlineNeurons(Transforming, Neurons):
    """Base of the estimators whose units learn by a Hebbian rule, one observation at a time.

    Parameters
    ----------
    center : bool, default=True
        Subtract from each row the mean of the rows before it.
    init : "random" or array of shape (n_components, n_features), default="random"
        The initial weights: random directions, or given weights.
    max_iter : int, default=10
        The largest number of passes of ``fit``.
    tol : float, default=1e-2
        ``fit`` ends if a pass changes the weights by at most this share of their norm.

    Attributes
    ----------
    mean_ : array of shape (n_features,)
        The mean that is subtracted from each row. Zeros with ``center=False``.
    n_steps_ : int
        The number of learning steps.
    explained_variance_ratio_ : array of shape (n_components,)
        The share of the variance of the rows of ``fit`` along the weights of each unit. Not
        available after ``partial_fit``, and after a single pass over a stream that cannot be read
        again.
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "learning_rate": [words("auto"), *RATE],
        "center": ["boolean"],
        "init": [words("random"), "array-like"],
    }
    #: The schedule of learning_rate="auto".
    AUTO: ClassVar[Auto]

    n_components: int = 1
    learning_rate: LearningRate
    unit_rates: ArrayLike | None = None
    center: bool
    init: ArrayLike
    tol: float

    _units: HebbianUnits
    #: The components after the last complete pass.
    _latest: Float64s

    @property
    @abstractmethod
    def _form(self) -> tuple[bool, bool]:
        """The two flags of the form of ``hebbian_steps``."""

    @fits_rows
    @documented_by(KEEPING)
    def fit(
        self,
        X: RowsLike,
        y: LabelsLike = None,
        *,
        checkpoint: Checkpoint = None,
        every: int | None = None,
        resume: bool = False,
    ) -> Self:
        """Learn from passes over the rows until the weights converge.

        A pass takes one step for each row in the given order. Shuffle rows that are sorted, such as
        by class, because later rows have more influence. The fit ends after ``max_iter`` passes at
        the latest. A warning names components that are far from converged: a product with the
        covariance turns them by more than 8 degrees.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or a stream
            The rows.
        y : None
            Ignored. It exists for compatibility with scikit-learn.
        <checkpoint, every, resume>

        Returns
        -------
        self : object
            The fitted estimator.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import SangerNetwork
        >>> X = load_iris().data
        >>> SangerNetwork(2, random_state=0).fit(X).components_.shape
        (2, 4)
        """
        keeper = keeper_of(checkpoint, every, resume)
        self._start()
        fit = fit_of(self, X, keeper=keeper)
        if self.max_iter > 1:
            fit.several(f"fit of {type(self).__name__}")
        resumption = fit.take_up()
        if resumption is None:
            self._begin(fit.rows.width)
        elif resumption.complete:
            return self
        while not self.converged_ and self.n_iter_ < self.max_iter:
            for chunk in fit.learning(fit.pass_number):
                self._learn(chunk.of_positive_weight().rows)
            if not self._steps:
                raise ValueError(f"{fit.source!r} has no rows. Pass a stream with rows.")
            before, self._latest = self._latest, self.components_
            change = np.linalg.norm(self._latest - before)
            self.converged_ = bool(self.n_iter_ > 0 and change <= self.tol * np.linalg.norm(before))
            self.n_iter_ += 1
        if fit.rows.rereadable:
            self._examine(fit)
        fit.end()
        return self

    def _examine(self, fit: Fit) -> None:
        """Set the explained variances, and warn of components that are far from converged."""
        witness = fit.learn(Witness(self._latest, self.mean_), None)
        self.explained_variance_ratio_ = witness.ratios()
        turns = witness.turns()
        worst = int(turns.argmax())
        if turns[worst] > MOST_TURN:
            warn_user(
                f"Component {worst + 1} is far from converged: a product with the covariance "
                f"turns it by {turns[worst]:.0f} degrees. Use StreamPCA, or fewer components."
            )

    @learns_rows
    def partial_fit(self, X: RowsLike, y: LabelsLike = None) -> Self:
        """Learn from one pass over a chunk of rows.

        The result does not depend on the chunking. ``n_iter_`` counts the chunks.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            The rows.
        y : None
            Ignored. It exists for compatibility with scikit-learn.

        Returns
        -------
        self : object
            The fitted estimator.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import SangerNetwork
        >>> X = load_iris().data
        >>> model = SangerNetwork(2, random_state=0).partial_fit(X[::2])
        >>> model.partial_fit(X[1::2]).n_steps_
        150
        """
        self._continue(X)
        return self

    @changes
    def _continue(self, X: RowsLike) -> None:
        first = self._start_or_continue()
        chunk = chunk_of(self, X, reset=first)
        if first:
            self._begin(chunk.rows.shape[1])
        self._learn(chunk.rows)
        self.n_iter_ += 1

    def _begin(self, n_features: int) -> None:
        """Set units that have learned nothing."""
        check_start(self.init, self.n_components, n_features, orthonormal=False)
        random = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        if isinstance(self.init, str):
            normal = random.standard_normal((n_features, self.n_components))
            weights: Float64s = np.array(orthonormalized(normal).T, np.float64, order="C")
        else:
            weights = np.array(self.init, np.float64, order="C")
        rate = self._schedule()
        pace = automatic(rate.c if isinstance(rate, Auto) else 0.0, 1.0)
        self._units = HebbianUnits(weights, weights.copy(), np.zeros(n_features), pace)
        self._latest = np.zeros_like(weights)

    def _schedule(self) -> Schedule:
        """Return the schedule of the learning rate."""
        return self.AUTO if str(self.learning_rate) == "auto" else as_schedule(self.learning_rate)

    def _learn(self, rows: Matrix) -> None:
        """Take a step for each row."""
        rate, factors = self._schedule(), np.ones(self.n_components)
        if self.unit_rates is not None:
            factors = check_numbers(self.unit_rates, "unit_rates", count=len(factors), least=0)
        averaging = rate.averaging if isinstance(rate, Auto) else None
        power = -1.0 if averaging is None else float(averaging)
        rows = np.require(rows, np.float64, ["C", "W"])
        for part in self._recorded(len(rows)):
            rates = rate.gains(self._steps, part.stop - part.start)
            rule = factors, self._form, self.center, power
            n_done = hebbian_steps(*self._units, rows[part], self._steps, rates, *rule)
            self._check_stable(n_done, rates)
            if averaging is None:
                self._units.average[:] = self._units.weights

    def _parts(self) -> tuple[Float64s]:
        return (self.components_,)

    @property
    def components_(self) -> Float64s:
        """The weights, one unit in each row, averaged over the steps with "auto"."""
        check_is_fitted(self)
        return self._mean_weights(self._units)

    @property
    def mean_(self) -> Float64s:
        """The mean that is subtracted from each row; zeros with ``center=False``."""
        check_is_fitted(self)
        return self._units.mean.copy()

    def _mean_weights(self, units: HebbianUnits) -> Float64s:
        average = units.average.copy()
        if self._form[1]:
            average /= np.linalg.norm(average, axis=1, keepdims=True)
        return average

    @maps_streams
    def transform(self, X: RowsLike) -> Values:
        """Return the responses <w, x - mean> of the units.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or a stream
            The rows.

        Returns
        -------
        array of shape (n, n_components)
            The responses, in the dtype of the rows.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import SangerNetwork
        >>> X = load_iris().data
        >>> SangerNetwork(2, random_state=0).fit(X).transform(X).shape
        (150, 2)
        """
        rows, weights, mean = self._rows_to_read(X)
        return rows @ weights.T - weights @ mean

    @reads_rows
    def score(self, X: RowsLike, y: LabelsLike = None) -> float:
        """Return the share of the variance of rows in the span of the components.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            The rows.
        y : None
            Ignored. It exists for compatibility with scikit-learn.

        Returns
        -------
        float
            The share, at most 1. Larger is better.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import OjaNeuron
        >>> X = load_iris().data
        >>> round(OjaNeuron(random_state=0).fit(X[::2]).score(X[1::2]), 2)
        0.92
        """
        rows, weights, mean = self._rows_to_read(X)
        basis, centred = np.linalg.qr(weights.T)[0], rows - mean
        total = float(np.linalg.norm(centred) ** 2)
        return float(np.linalg.norm(centred @ basis) ** 2) / total if total > 0 else 1.0

    def _rows_to_read(self, X: RowsLike) -> tuple[Matrix, Values, Values]:
        """Return rows, and in their dtype the weights and the mean."""
        check_is_fitted(self)
        rows, units = as_floats(validated(self, X, reset=False, sparse=False)), self._units
        return rows, self._mean_weights(units).astype(rows.dtype), units.mean.astype(rows.dtype)

    @property
    def _n_features_out(self) -> int:
        return self.n_components


@storable()
@documented
@dataclass(eq=False, repr=False)
class OjaNeuron(OnlineNeurons):
    """One linear neuron that learns the first principal component [1]_.

    Parameters
    ----------
    form : {"normalized", "linear", "hebb"}, default="normalized"
        With the response y = <w, x>, "normalized" is w = (w + lr y x) / |w + lr y x|. "linear" is
        w += lr y (x - y w), which is equal to first order in lr. "hebb" is w += lr y x, which grows
        without bound.
    learning_rate : number, "auto", schedule or function of the step, default="auto"
        The learning rate lr. "linear" is stable only for lr y^2 well below 2. Larger rates raise
        ``UnstableStepError``.
    <center, init, max_iter, tol, record_every, random_state>

    Attributes
    ----------
    components_ : array of shape (1, n_features)
        The weights, averaged over the steps with ``learning_rate="auto"``.
    <mean_, explained_variance_ratio_, n_iter_, n_steps_, converged_, history_>

    References
    ----------
    .. [1] E. Oja, "A Simplified Neuron Model as a Principal Component Analyzer", Journal of
       Mathematical Biology 15, 1982.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream.neurons import OjaNeuron
    >>> X = np.random.default_rng(0).standard_normal((2000, 3)) * [1, 4, 1]
    >>> neuron = OjaNeuron(random_state=0).fit(X)
    >>> bool(abs(neuron.components_[0, 1]) > 0.99), neuron.converged_
    (True, True)
    """

    AUTO = Auto(c=1.0, averaging=1.0)

    _parameter_constraints: ClassVar[Constraints] = {"form": [words(*FORMS)]}

    _: KW_ONLY
    form: str = "normalized"
    learning_rate: LearningRate = "auto"
    center: bool = True
    init: ArrayLike = "random"
    max_iter: int = 10
    tol: float = 1e-2
    record_every: int | None = None
    random_state: RandomState = None

    @property
    def _form(self) -> tuple[bool, bool]:
        return FORMS[self.form]


@storable()
@documented
@dataclass(eq=False, repr=False)
class SangerNetwork(OnlineNeurons):
    """Layer of linear units that learns the principal components in order [1]_.

    Unit k takes the steps w_k += lr_k y_k (x - sum_{l<=k} y_l w_l). It uses only the responses of
    the units up to k, so no step needs an orthonormalisation.

    Parameters
    ----------
    n_components : int, default=2
        The number of units.
    normalize : bool, default=False
        Divide each weight vector by its norm after every step ([2]_ eq. 3.3).
    learning_rate : number, "auto", schedule or function of the step, default="auto"
        The learning rate lr. It is stable only for lr |y|^2 well below 2. Larger rates raise
        ``UnstableStepError``.
    unit_rates : array of shape (n_components,), default=None
        A factor of the learning rate for each unit ([2]_ eq. 3.3). All are 1 by default.
    <center, init, max_iter, tol, record_every, random_state>

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The weights, averaged over the steps with ``learning_rate="auto"``.
    <mean_, explained_variance_ratio_, n_iter_, n_steps_, converged_, history_>

    References
    ----------
    .. [1] T. D. Sanger, "Optimal Unsupervised Learning in a Single-Layer Linear Feedforward Neural
       Network", Neural Networks 2, 1989.
    .. [2] M. Biehl, A. Freking, M. Hölzer, G. Reents and E. Schlösser, "The Dynamics of On-line
       Learning by Competitive and by Principal Component Methods", 1998.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream.neurons import SangerNetwork
    >>> X = np.random.default_rng(0).standard_normal((3000, 4)) * [1, 5, 3, 1]
    >>> network = SangerNetwork(2, random_state=0).fit(X)
    >>> np.abs(network.components_).argmax(axis=1)
    array([1, 2])
    """

    #: Later units learn from the residual of earlier ones, and need longer steps.
    AUTO = Auto(c=4.0, averaging=1.0)

    _parameter_constraints: ClassVar[Constraints] = {
        "n_components": [COUNT],
        "normalize": ["boolean"],
        "unit_rates": ["array-like", None],
    }

    n_components: int = 2
    _: KW_ONLY
    normalize: bool = False
    learning_rate: LearningRate = "auto"
    unit_rates: ArrayLike | None = None
    center: bool = True
    init: ArrayLike = "random"
    max_iter: int = 10
    tol: float = 1e-2
    record_every: int | None = None
    random_state: RandomState = None

    @property
    def _form(self) -> tuple[bool, bool]:
        return True, self.normalize
