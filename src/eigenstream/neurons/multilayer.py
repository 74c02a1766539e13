"""Multilayer perceptrons: layers of units that learn by backpropagation."""

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from eigenstream.core.checks import check_whole, warn_user
from eigenstream.core.documented import COUNT, NOT_NEGATIVE, documented, words
from eigenstream.core.linalg import Float64s, blas_threads
from eigenstream.core.storable import storable
from eigenstream.core.types import Constraints, RandomState, RowsLike
from eigenstream.neurons._base import Start, SupervisedNeurons, SupervisedRows, stalled
from eigenstream.neurons._steps import (
    ACTIVATIONS,
    Network,
    backpropagation_steps,
    mean_loss,
    network_answers,
)
from eigenstream.neurons._targets import Classifying, Regressing
from eigenstream.rows.prepared import maps_streams
from eigenstream.schedules import LearningRate

#: The size of the largest product of a batch above which several threads are faster.
SHARED = 1e8

#: The largest root mean square of a column. Larger values saturate units: a multilayer perceptron
#: of raw wine data, with values of 800, learns nothing. Fewer rows than hidden units raise no
#: warning: such a network learns scaled rows by heart.
LARGEST = 10.0

#: The share of rows that ``early_stopping=True`` holds out.
HELD_OUT = 0.1


@storable(
    loss_="number?",
    validation_losses_="list[number]?",
    _units="Network",
    _waiting="SupervisedRows | None",
)
@dataclass(eq=False, repr=False)
class _Backpropagating(SupervisedNeurons):
    """Base of the multilayer perceptrons.

    Parameters
    ----------
    hidden_layer_sizes : int or tuple of int, default=(32,)
        The number of units of each hidden layer.
    activation : {"tanh", "logistic", "relu"}, default="tanh"
        The activation function phi of the hidden units.
    batch_size : int, default=1
        The number of rows in a step. ``partial_fit`` keeps the rows after the last whole batch for
        the next chunk. Until then, predictions use them as a smaller batch.
    learning_rate : number, schedule or function of the step, default=0.01
        The learning rate lr.
    momentum : float, default=0.0
        The share of the previous step that is added to a step, in Nesterov's form.
    l2 : float, default=0.0
        The penalty l2 |w|^2 / 2 n that is added to the mean loss of a step on n rows, without the
        intercepts. It is ``alpha`` of scikit-learn.
    early_stopping : bool or float, default=False
        The share of rows that ``fit`` holds out, 0.1 if True. ``fit`` then ends when the loss of
        these rows no longer improves, and returns the weights with the smallest loss. Of a stream,
        the rows are held out of its first 64 MB.
    max_iter : int, default=200
        The largest number of passes of ``fit``.
    tol : float, default=1e-4
        A pass makes progress if it improves the best loss by this amount.
    n_iter_no_change : int, default=10
        ``fit`` ends after more than this number of consecutive passes without progress.

    Attributes
    ----------
    coefs_ : list of arrays of shape (n_inputs, n_units)
        The weights from each layer to the next.
    intercepts_ : list of arrays of shape (n_units,)
        The intercepts of each layer after the first.
    loss_ : float
        The last entry of ``loss_curve_``.
    validation_losses_ : list of float
        The mean loss of the held-out rows after each pass of ``fit`` with ``early_stopping``.
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "hidden_layer_sizes": "no_validation",
        "activation": [words(*ACTIVATIONS)],
        "batch_size": [COUNT],
        "momentum": [Interval(Real, 0, 1, closed="left")],
        "l2": [NOT_NEGATIVE],
        "early_stopping": ["boolean", Interval(Real, 0, 1, closed="neither")],
    }

    hidden_layer_sizes: int | Sequence[int] = (32,)
    activation: str = "tanh"
    _: KW_ONLY
    batch_size: int = 1
    learning_rate: LearningRate = 0.01
    momentum: float = 0.0
    l2: float = 0.0
    early_stopping: bool | float = False
    max_iter: int = 200
    shuffle: bool = True
    tol: float = 1e-4
    n_iter_no_change: int = 10
    record_every: int | None = None
    random_state: RandomState = None

    def _output(self) -> str:
        """Return the answers of the last layer, one of ``OUTPUTS``."""
        raise NotImplementedError

    def _hidden(self) -> tuple[int, ...]:
        sizes: Any = self.hidden_layer_sizes
        if isinstance(sizes, str) or not np.iterable(sizes):
            sizes = (sizes,)
        return tuple(check_whole(size, "hidden_layer_sizes") for size in sizes)

    def _new_units(self, random: np.random.RandomState) -> Network:
        """Draw the weights within the bounds of Glorot and Bengio, in scikit-learn's order."""
        sizes = self.n_features_in_, *self._hidden(), self._n_units
        self._waiting: SupervisedRows | None = None  # the rows kept for the next batch
        net = Network.zeros(sizes, self.activation, self._output(), self.momentum)
        for coefs, intercepts in net.layers():
            bound = np.sqrt((2.0 if self.activation == "logistic" else 6.0) / sum(coefs.shape))
            coefs[:] = random.uniform(-bound, bound, coefs.shape)
            intercepts[:] = random.uniform(-bound, bound, intercepts.shape)
        return net

    def _learn_passes(self, start: Start, random: np.random.RandomState) -> bool:
        """Hold out rows of the first block for early stopping, and warn of large columns."""
        first = next(iter(start()))
        sizes = np.sqrt(np.einsum("ij,ij->j", first.rows, first.rows) / len(first.rows))
        if sizes.max() > LARGEST and len(first.rows) >= max(self._hidden(), default=0):
            warn_user(
                f"Column {sizes.argmax()} of X has a root mean square of {sizes.max():.3g}. Units "
                f"saturate above about {LARGEST:g}. Standardise the columns with StandardScaler."
            )
        self._validation, self._best = None, self._units
        if not self.early_stopping:
            return super()._learn_passes(start, random)
        n, share = len(first.rows), HELD_OUT if self.early_stopping is True else self.early_stopping
        order, n_out = random.permutation(n), max(round(share * n), 1)
        if n_out == n:
            raise ValueError(f"early_stopping={share!r} leaves none of {n} rows to learn from.")
        self._validation = first.chosen(order[:n_out])
        self.validation_losses_: list[float] = []

        def remaining() -> Iterator[SupervisedRows]:
            blocks = iter(start())
            yield next(blocks).chosen(np.sort(order[n_out:]))
            yield from blocks

        converged = super()._learn_passes(remaining, random)
        self._units = self._best
        return converged

    def _has_converged(self) -> bool:
        if self._validation is None:
            return stalled(self.loss_curve_, self.tol) > self.n_iter_no_change
        self.validation_losses_.append(mean_loss(self._units, self._validation))
        if self.validation_losses_[-1] <= min(self.validation_losses_):
            self._best = self._units.copy()
        return stalled(self.validation_losses_, self.tol) > self.n_iter_no_change

    def _conclude(self, start: Start) -> str:
        self.loss_ = self.loss_curve_[-1]
        del self._validation, self._best
        return super()._conclude(start)

    def _advance(self, block: SupervisedRows, order: NDArray[np.int64]) -> float:
        net, n_steps = self._units, -(-len(order) // self.batch_size)
        gains = self._schedule().gains(self._steps, n_steps)
        work = self.batch_size * float(np.prod(np.sort(net.sizes)[-2:]))
        with blas_threads(1 if work < SHARED else np.iinfo(np.int32).max):
            done, loss = backpropagation_steps(net, block, order, gains, self.batch_size, self.l2)
        if not np.isfinite(net.weights).all():
            done = min(done, len(gains) - 1)
        remedy = "Use a smaller learning rate, or scale the data or the targets to about one."
        self._check_stable(done, gains, remedy)
        return float(loss)

    def _learn_chunk(self, block: SupervisedRows) -> None:
        """Learn from whole batches, and keep the remaining rows."""
        if self._waiting is not None:
            pairs = zip(self._waiting, block, strict=True)
            block = SupervisedRows(*(np.concatenate(pair) for pair in pairs))
        n_rows, n_rest = len(block.rows), len(block.rows) % self.batch_size
        if n_rest < n_rows:
            super()._learn_chunk(block.chosen(slice(n_rows - n_rest)))
            self.loss_ = self.loss_curve_[-1]
        rest = np.arange(n_rows - n_rest, n_rows)
        self._waiting = block.chosen(rest) if n_rest else None

    def _ready(self) -> Network:
        """Return the network after a step on the rows kept for the next batch."""
        check_is_fitted(self)
        net: Network = self._units
        if self._waiting is not None:
            net, n = net.copy(), len(self._waiting.rows)
            backpropagation_steps(
                net, self._waiting, np.arange(n), self._schedule().gains(self._steps, 1), n, self.l2
            )
        return net

    def _parts(self) -> tuple[list[Float64s], list[Float64s]]:
        return _copies(self._units)

    @property
    def coefs_(self) -> list[Float64s]:
        """The weights from each layer to the next, of shape (n_inputs, n_units)."""
        return _copies(self._ready())[0]

    @property
    def intercepts_(self) -> list[Float64s]:
        """The intercepts of each layer after the first."""
        return _copies(self._ready())[1]

    @property
    def n_steps_(self) -> int:
        """The number of steps, one for each batch."""
        check_is_fitted(self)
        return int(self._steps) + (self._waiting is not None)

    def _loaded(self) -> None:
        if not self._begun:
            return
        outputs = {int(self._units.sizes[-1])}
        if self._waiting is not None:
            outputs.add(self._waiting.targets.shape[1])
        if outputs != {self._n_units} or self._units.sizes[0] != self.n_features_in_:
            raise ValueError("The layers do not match the rows and targets.")

    def _respond(self, rows: Float64s) -> Float64s:
        return network_answers(self._ready(), rows)


@storable()
@documented
class MultilayerPerceptron(Classifying, _Backpropagating):
    """Layers of units that learn classes by backpropagation [1]_.

    Unit j answers y_j = phi(v_j) to the input v_j = sum_i w_ji y_i. A step is dw_ji = lr delta_j
    y_i. The last layer is a softmax, or one logistic unit for two classes, and has delta = d - y.
    Hidden units have delta_j = phi'(v_j) sum_k delta_k w_kj. scikit-learn's ``MLPClassifier``
    with ``solver="sgd"``, ``alpha=l2`` and the same parameters and ``random_state`` finds the same
    weights.

    Parameters
    ----------
    <hidden_layer_sizes, activation>
    <batch_size, learning_rate, momentum, l2, early_stopping>
    <max_iter, shuffle, tol, n_iter_no_change, record_every, random_state>

    Attributes
    ----------
    <classes_>
    <coefs_, intercepts_, loss_curve_, loss_, validation_losses_, converged_, n_iter_, n_steps_,
    history_>

    References
    ----------
    .. [1] D. E. Rumelhart, G. E. Hinton and R. J. Williams, "Learning Representations by
       Back-propagating Errors", Nature 323, 1986.

    Examples
    --------
    >>> from eigenstream import MultilayerPerceptron
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]  # exclusive or
    >>> net = MultilayerPerceptron(
    ...     4, learning_rate=0.3, max_iter=1000, random_state=0
    ... ).fit(X, y)
    >>> net.predict(X).tolist()
    [0, 1, 1, 0]
    """

    _other_target = 0.0

    @maps_streams
    def predict_proba(self, X: RowsLike) -> Float64s:
        """Return the shares of the classes.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or a stream
            The rows.

        Returns
        -------
        array of shape (n, n_classes)
            The shares, in the order of ``classes_``.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import MultilayerPerceptron
        >>> X, y = load_iris(return_X_y=True)
        >>> net = MultilayerPerceptron(4, max_iter=20, random_state=0).fit(X, y)
        >>> net.predict_proba(X[:1]).sum().round(6)
        np.float64(1.0)
        """
        answers = self._answers(X)
        return np.hstack([1.0 - answers, answers]) if answers.shape[1] == 1 else answers

    @maps_streams
    def decision_function(self, X: RowsLike) -> Float64s:
        """Return the logarithms of the shares of the classes.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or a stream
            The rows.

        Returns
        -------
        array of shape (n,) for two classes, or (n, n_classes)
            The logarithms. For two classes, that of the second share less that of the first one.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import MultilayerPerceptron
        >>> X, y = load_iris(return_X_y=True)
        >>> model = MultilayerPerceptron(8, random_state=0).fit(X, y)
        >>> model.decision_function(X[:2]).shape
        (2, 3)
        """
        logs = np.log(np.maximum(self.predict_proba(X), np.finfo(np.float64).tiny))
        return logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs

    def _output(self) -> str:
        return "logistic" if len(self.classes_) == 2 else "softmax"


@storable()
@documented
class MultilayerPerceptronRegressor(Regressing, _Backpropagating):
    """Layers of units that learn numbers by backpropagation [1]_.

    Unit j of a hidden layer answers y_j = phi(v_j) to the input v_j = sum_i w_ji y_i. The last
    layer is linear. The loss is half the squared error, summed over the targets. A step is dw_ji =
    lr delta_j y_i. The last layer has delta = d - y. Hidden units have delta_j = phi'(v_j) sum_k
    delta_k w_kj. scikit-learn's ``MLPRegressor`` takes the same steps. The loss that it reports is
    divided by the number of targets.

    Parameters
    ----------
    <hidden_layer_sizes, activation>
    <batch_size, learning_rate, momentum, l2, early_stopping>
    <max_iter, shuffle, tol, n_iter_no_change, record_every, random_state>

    Attributes
    ----------
    <coefs_, intercepts_, loss_curve_, loss_, validation_losses_, converged_, n_iter_, n_steps_,
    history_>

    References
    ----------
    .. [1] D. E. Rumelhart, G. E. Hinton and R. J. Williams, "Learning Representations by
       Back-propagating Errors", Nature 323, 1986.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream import MultilayerPerceptronRegressor
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> net = MultilayerPerceptronRegressor(
    ...     learning_rate=0.05, max_iter=500, random_state=0
    ... )
    >>> bool(
    ...     net.fit(X, np.sin(3 * X[:, 0])).score(X, np.sin(3 * X[:, 0])) > 0.99
    ... )
    True
    """

    def _output(self) -> str:
        return "identity"


def _copies(net: Network) -> tuple[list[Float64s], list[Float64s]]:
    layers = net.layers()
    return [coefs.copy() for coefs, _ in layers], [intercepts.copy() for _, intercepts in layers]
