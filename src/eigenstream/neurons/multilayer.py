"""Multilayer perceptrons: layers of units that learn by backpropagation."""

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from math import exp, log, tanh
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from eigenstream.core.checks import check_whole
from eigenstream.core.documented import COUNT, documented, words
from eigenstream.core.linalg import Float64s, blas_threads
from eigenstream.core.storable import storable
from eigenstream.core.types import Array, Constraints, RandomState, RowsLike
from eigenstream.kernels.base import njit, types
from eigenstream.neurons._base import (
    Block,
    Classifying,
    Regressing,
    Start,
    SupervisedNeurons,
    stalled,
)
from eigenstream.rows.prepared import maps_streams
from eigenstream.schedules import LearningRate

#: The size of the largest product of a batch above which several threads are faster.
SHARED = 1e8

#: Activation functions of the hidden units.
ACTIVATIONS = ("logistic", "tanh", "relu")
#: Activation functions of the last layer. The first two have the cross-entropy as loss, the others
#: half the squared error.
OUTPUTS = ("softmax", "logistic", "identity", "logistic_squared")

#: Shares are clipped this far from 0 and 1 before their logarithm, as in scikit-learn.
LEAST = float(np.finfo(np.float64).eps)


@storable(
    sizes="i8 layers",
    weights="f8 weights",
    velocity="f8 weights",
    activation="int",
    output="int",
    momentum="number",
)
class Network(NamedTuple):
    """Layers of units, each fully connected to the previous one.

    The weights of all layers lie in one array: those from layer l to the next as (inputs, units),
    then the intercepts of the units.

    >>> net = Network.zeros((2, 3, 1), "tanh", "logistic")
    >>> [(coefs.shape, intercepts.shape) for coefs, intercepts in net.layers()]
    [((2, 3), (3,)), ((3, 1), (1,))]
    """

    sizes: Array  # units of each layer, the inputs first
    weights: Array
    velocity: Array  # the last change of the weights
    activation: int  # of the hidden units, in ACTIVATIONS
    output: int  # in OUTPUTS
    momentum: float

    @classmethod
    def zeros(
        cls, sizes: tuple[int, ...], activation: str, output: str, momentum: float = 0.0
    ) -> "Network":
        """Return a network whose weights are all zero."""
        weights = np.zeros(sum((n + 1) * m for n, m in pairwise(sizes)))
        kinds = ACTIVATIONS.index(activation), OUTPUTS.index(output)
        layers = np.array(sizes, np.int64)
        return cls(layers, weights, weights.copy(), *kinds, float(momentum))

    def _loaded(self) -> None:
        """Check that the weights belong to these layers."""
        sizes = self.sizes.tolist()
        total = sum((n + 1) * m for n, m in pairwise(sizes))
        if len(sizes) < 2 or min(sizes) < 1 or len(self.weights) != total:
            raise ValueError(f"The weights do not match layers of {sizes} units.")
        ACTIVATIONS[self.activation], OUTPUTS[self.output]

    def layers(self) -> list[tuple[Float64s, Float64s]]:
        """Return views of the weights and the intercepts of each layer."""
        layers: list[tuple[Float64s, Float64s]] = _layers(self.sizes.tolist(), self.weights)
        return layers

    def copy(self) -> "Network":
        """Return a copy."""
        return self._replace(weights=self.weights.copy(), velocity=self.velocity.copy())


def _layers(sizes: Array, flat: Any) -> Any:
    layers, at = [], 0
    for k in range(len(sizes) - 1):
        n, m = sizes[k], sizes[k + 1]
        layers.append((flat[at : at + n * m].reshape((n, m)), flat[at + n * m : at + (n + 1) * m]))
        at += (n + 1) * m
    return layers


_inner = njit(cache=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
_fast = njit(
    cache=True,
    error_model="numpy",
    fastmath={"reassoc", "contract"},
    no_cpython_wrapper=True,
    no_cfunc_wrapper=True,
)
#: What a layer makes of its fields: the entries of ACTIVATIONS, and for the last layer of OUTPUTS.
LOGISTIC, TANH, RELU, SOFTMAX, IDENTITY = range(5)
LAST = (SOFTMAX, LOGISTIC, IDENTITY, LOGISTIC)


@_inner
def _matrix(flat, at, n, m):
    return flat[at : at + n * m].reshape((n, m))


@_fast
def _ahead(x, coefs, out):
    """Write x @ coefs. For a single row, which is too little work for BLAS, four inputs at once."""
    if len(x) > 1:
        np.dot(x, coefs, out)
        return
    n, m = coefs.shape
    four = n // 4 * 4
    for j in range(m):
        out[0, j] = 0.0
    for i in range(0, four, 4):
        a, b, c, d = x[0, i], x[0, i + 1], x[0, i + 2], x[0, i + 3]
        for j in range(m):
            out[0, j] += (
                a * coefs[i, j] + b * coefs[i + 1, j] + c * coefs[i + 2, j] + d * coefs[i + 3, j]
            )
    for i in range(four, n):
        for j in range(m):
            out[0, j] += x[0, i] * coefs[i, j]


@_fast
def _back(deltas, coefs, out):
    """Write deltas @ coefs.T."""
    if len(deltas) > 1:
        np.dot(deltas, coefs.T, out)
        return
    for i in range(coefs.shape[0]):
        total = 0.0
        for j in range(coefs.shape[1]):
            total += deltas[0, j] * coefs[i, j]
        out[0, i] = total


@_inner
def _outer(x, deltas, out):
    """Write x.T @ deltas."""
    if len(x) > 1:
        np.dot(x.T, deltas, out)
        return
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = x[0, i] * deltas[0, j]


@_inner
def _respond(values, weights, at, kind):
    """Add the intercepts, and turn the fields into answers."""
    for t in range(values.shape[0]):
        most, total = -np.inf, 0.0
        for j in range(values.shape[1]):
            v = values[t, j] + weights[at + j]
            if kind == LOGISTIC:
                v = 1.0 / (1.0 + exp(-v))
            elif kind == TANH:
                v = tanh(v)
            elif kind == RELU:
                v = v if v != v or v > 0.0 else 0.0
            values[t, j] = v
            most = v if v > most else most
        if kind == SOFTMAX:
            for j in range(values.shape[1]):
                values[t, j] = exp(values[t, j] - most)
                total += values[t, j]
            for j in range(values.shape[1]):
                values[t, j] /= total


@_inner
def _compare(answers, targets, weights, order, first, kind, deltas):
    """Return the sum of the losses; write the local gradients; both times the rows' weights.

    The gradient is e = d - y for the cross-entropies and linear answers. For the squared error of
    logistic answers it is e phi'(v) ([BACKPROP]).
    """
    total = 0.0
    for t in range(answers.shape[0]):
        i = order[first + t]
        for j in range(answers.shape[1]):
            d, y, loss = targets[i, j], answers[t, j], 0.0
            e = d - y
            if kind >= 2:
                loss = 0.5 * e * e
            else:
                share = LEAST if y < LEAST else 1.0 - LEAST if y > 1.0 - LEAST else y
                loss = -d * log(share)
                if kind == 1:
                    loss -= (1.0 - d) * log(1.0 - share)
            if kind == 3:
                e *= y * (1.0 - y)
            total += loss * weights[i]
            deltas[t, j] = e * weights[i]
    return total


def _steps(
    sizes,
    weights,
    velocity,
    kinds,
    momentum,
    rows,
    targets,
    heavy,
    order,
    gains,
    size,
    change,
    room,
):
    activation, output, last = kinds
    total, layers = 0.0, len(sizes) - 1
    values, own, left = room
    for s in range(len(gains)):
        first = s * size
        b = min(size, len(order) - first)
        for t in range(b):
            for j in range(sizes[0]):
                values[t * sizes[0] + j] = rows[order[first + t], j]
        at, here = 0, 0
        for k in range(layers):
            n, m = sizes[k], sizes[k + 1]
            out = _matrix(values, here + b * n, b, m)
            _ahead(_matrix(values, here, b, n), _matrix(weights, at, n, m), out)
            _respond(out, weights, at + n * m, activation if k < layers - 1 else last)
            at, here = at + (n + 1) * m, here + b * n
        m = sizes[layers]
        deltas = _matrix(own, 0, b, m)
        loss = _compare(_matrix(values, here, b, m), targets, heavy, order, first, output, deltas)
        if loss - loss != 0.0:  # not finite
            return s, total
        total += loss
        gain = gains[s] / b
        for i in range(b * m):
            own[i] *= gain
        for k in range(layers - 1, -1, -1):
            n, m = sizes[k], sizes[k + 1]
            at, here = at - (n + 1) * m, here - b * n
            deltas = _matrix(own, 0, b, m)
            _outer(_matrix(values, here, b, n), deltas, _matrix(change, at, n, m))
            for j in range(m):
                change[at + n * m + j] = 0.0
                for t in range(b):
                    change[at + n * m + j] += deltas[t, j]
            if k > 0:
                _back(deltas, _matrix(weights, at, n, m), _matrix(left, 0, b, n))
                for i in range(b * n):
                    y = values[here + i]
                    slope = 1.0 if y > 0.0 else 0.0
                    if activation == LOGISTIC:
                        slope = y * (1.0 - y)
                    elif activation == TANH:
                        slope = 1.0 - y * y
                    own[i] = left[i] * slope
        for i in range(len(weights)):
            if momentum > 0.0:
                velocity[i] = momentum * velocity[i] + change[i]
                weights[i] += momentum * velocity[i] + change[i]
            else:
                weights[i] += change[i]
    return len(gains), total


@cache
def _loop() -> Any:
    """Return the compiled loop, one for all kinds of arrays."""
    line, whole = types.float64[::1], types.int64[::1]
    table: Any = types.Array(types.float64, 2, "C", readonly=True)
    seen: Any = types.Array(types.float64, 1, "C", readonly=True)
    which: Any = types.Array(types.int64, 1, "C", readonly=True)
    number, index = types.float64, types.int64
    several: Any = types.UniTuple
    kinds, room = several(index, 3), several(line, 3)
    loop: Any = njit(cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True)(_steps)
    rows = table, table, seen, which, seen
    loop.compile((whole, line, line, kinds, number, *rows, index, line, room))
    loop.disable_compile()
    return loop


def backpropagation_steps(net: Network, block: Block, order: Any, gains: Any, size: int) -> Any:
    """Take a step on each batch of ``size`` rows; return the steps and the sum of the losses.

    A step is dw_ji = lr / n times the sum over the n rows of c delta_j y_i, c their weights. In a
    hidden layer delta_j = phi'(v_j) sum_k delta_k w_kj ([BACKPROP]). With momentum m,
    v = m v + dw, and the weights change by m v + dw (Nesterov's form). The last batch may be
    smaller. A loss that is not finite ends the loop before its step.

    >>> net = Network.zeros((2, 1), "tanh", "identity")
    >>> block = Block(
    ...     np.eye(2), np.array([[1.0], [3.0]]), np.ones(2), np.ones(2)
    ... )
    >>> backpropagation_steps(net, block, np.arange(2), np.array([0.5]), 2)
    (1, 5.0)
    >>> net.weights  # the mean error is 2
    array([0.25, 0.75, 1.  ])
    """
    batch = min(size, len(order))
    rows, targets, heavy = (np.require(values, np.float64, ["C"]) for values in block[:3])
    widest = batch * int(net.sizes.max())
    room = np.empty(batch * int(net.sizes.sum())), np.empty(widest), np.empty(widest)
    kinds = net.activation, net.output, LAST[net.output]
    return _loop()(
        *(net.sizes, net.weights, net.velocity, kinds, net.momentum, rows, targets, heavy),
        *(np.require(order, np.int64, ["C"]), np.require(gains, np.float64, ["C"]), size),
        *(np.empty_like(net.weights), room),
    )


def network_answers(net: Network, rows: Any) -> Float64s:
    """Return the answers of the last layer to each row.

    >>> network_answers(
    ...     Network.zeros((2, 1), "tanh", "logistic"), np.ones((1, 2))
    ... )
    array([[0.5]])
    """
    layers, kind = net.layers(), net.activation
    for k, (coefs, intercepts) in enumerate(layers):
        rows = rows @ coefs + intercepts
        kind = net.activation if k < len(layers) - 1 else LAST[net.output]
        if kind == LOGISTIC:
            rows = expit(rows)
        elif kind == TANH:
            rows = np.tanh(rows)
        elif kind == RELU:
            rows = np.maximum(rows, 0.0)
        elif kind == SOFTMAX:
            rows = np.exp(rows - rows.max(axis=1, keepdims=True))
            rows /= rows.sum(axis=1, keepdims=True)
    return np.asarray(rows)


@storable(
    n_layers_="int", n_outputs_="int", loss_="number?", _units="Network", _waiting="Block | None"
)
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
    n_layers_ : int
        The number of layers, with the inputs.
    n_outputs_ : int
        The number of units of the last layer.
    """

    _parameter_constraints: ClassVar[Constraints] = SupervisedNeurons._parameter_constraints | {
        "hidden_layer_sizes": "no_validation",
        "activation": [words(*ACTIVATIONS)],
        "batch_size": [COUNT],
        "momentum": [Interval(Real, 0, 1, closed="left")],
    }

    #: The rows kept for the next batch.
    _waiting: Block | None

    def __init__(
        self,
        hidden_layer_sizes: int | Sequence[int] = (32,),
        activation: str = "tanh",
        *,
        batch_size: int = 1,
        learning_rate: LearningRate = 0.01,
        momentum: float = 0.0,
        max_iter: int = 200,
        shuffle: bool = True,
        tol: float = 1e-4,
        n_iter_no_change: int = 10,
        record_every: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.record_every = record_every
        self.random_state = random_state

    def _output(self) -> str:
        """Return the answers of the last layer, one of ``OUTPUTS``."""
        raise NotImplementedError

    def _check(self) -> None:
        super()._check()
        self._hidden()

    def _hidden(self) -> tuple[int, ...]:
        sizes: Any = self.hidden_layer_sizes
        if isinstance(sizes, str) or not np.iterable(sizes):
            sizes = (sizes,)
        return tuple(check_whole(size, "hidden_layer_sizes") for size in sizes)

    def _new_units(self, random: np.random.RandomState) -> Network:
        """Draw the weights within the bounds of Glorot and Bengio, in scikit-learn's order."""
        sizes = self.n_features_in_, *self._hidden(), self._n_units
        self.n_layers_, self.n_outputs_, self._waiting = len(sizes), self._n_units, None
        net = Network.zeros(sizes, self.activation, self._output(), self.momentum)
        for coefs, intercepts in net.layers():
            bound = np.sqrt((2.0 if self.activation == "logistic" else 6.0) / sum(coefs.shape))
            coefs[:] = random.uniform(-bound, bound, coefs.shape)
            intercepts[:] = random.uniform(-bound, bound, intercepts.shape)
        return net

    def _settled(self) -> bool:
        return stalled(self.loss_curve_, self.tol) > self.n_iter_no_change

    def _conclude(self, start: Start) -> str:
        self.loss_ = self.loss_curve_[-1]
        return super()._conclude(start)

    def _advance(self, block: Block, order: NDArray[np.int64]) -> float:
        net, gains = self._units, self._gains(-(-len(order) // self.batch_size))
        work = self.batch_size * float(np.prod(np.sort(net.sizes)[-2:]))
        with blas_threads(1 if work < SHARED else np.iinfo(np.int32).max):
            done, loss = backpropagation_steps(net, block, order, gains, self.batch_size)
        if not np.isfinite(net.weights).all():
            done = min(done, len(gains) - 1)
        remedy = "Use a smaller learning rate, or scale the data or the targets to about one."
        self._check_stable(done, gains, remedy)
        return float(loss)

    def _chunk(self, block: Block) -> None:
        """Learn from whole batches, and keep the remaining rows."""
        if self._waiting is not None:
            both = zip(self._waiting, block, strict=True)
            rows, targets, weights, factors = (np.concatenate(pair) for pair in both)
            block = Block(rows, targets, weights, factors)
        whole = len(block.rows) - len(block.rows) % self.batch_size
        if whole:
            super()._chunk(Block(*(values[:whole] for values in block)))
            self.loss_ = self.loss_curve_[-1]
        self._waiting = None
        if whole < len(block.rows):
            self._waiting = Block(*(values[whole:].copy() for values in block))

    def _ready(self) -> Network:
        """Return the network after a step on the rows kept for the next batch."""
        check_is_fitted(self)
        net: Network = self._units
        if self._waiting is not None:
            net, n = net.copy(), len(self._waiting.rows)
            backpropagation_steps(net, self._waiting, np.arange(n), self._gains(1), n)
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
        super()._loaded()
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
    y_i. The last layer has delta = d - y. Hidden units have delta_j = phi'(v_j) sum_k delta_k w_kj.
    scikit-learn's ``MLPClassifier`` with ``solver="sgd"``, ``alpha=0`` and the same parameters and
    ``random_state`` finds the same weights.

    Parameters
    ----------
    <hidden_layer_sizes, activation>
    loss : {"log_loss", "squared_error"}, default="log_loss"
        With "log_loss" the last layer is a softmax, or one logistic unit for two classes. With
        "squared_error" it has logistic units with delta = (d - y) phi'(v).
    <batch_size, learning_rate, momentum, max_iter, shuffle, tol, n_iter_no_change,
    record_every, random_state>

    Attributes
    ----------
    <classes_>
    <coefs_, intercepts_, loss_curve_, loss_, converged_, n_iter_, n_steps_, n_layers_, n_outputs_,
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

    _parameter_constraints: ClassVar[Constraints] = _Backpropagating._parameter_constraints | {
        "loss": [words("log_loss", "squared_error")]
    }
    _threshold = 0.5

    def __init__(
        self,
        hidden_layer_sizes: int | Sequence[int] = (32,),
        activation: str = "tanh",
        *,
        loss: str = "log_loss",
        batch_size: int = 1,
        learning_rate: LearningRate = 0.01,
        momentum: float = 0.0,
        max_iter: int = 200,
        shuffle: bool = True,
        tol: float = 1e-4,
        n_iter_no_change: int = 10,
        record_every: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        values = locals()
        shared = {name: values[name] for name in _Backpropagating._get_param_names()}
        super().__init__(**shared)
        self.loss = loss

    @maps_streams
    def predict_proba(self, X: RowsLike) -> Float64s:
        """Return the shares of the classes.

        With ``loss="squared_error"`` they are the responses of the units, divided by their sum.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or a stream
            The rows.

        Returns
        -------
        array of shape (n, n_classes)
            The shares, in the order of ``classes_``.
        """
        answers = self._answers(X)
        if answers.shape[1] == 1:
            return np.hstack([1.0 - answers, answers])
        if OUTPUTS[self._units.output] != "logistic_squared":
            return answers
        total = answers.sum(axis=1, keepdims=True)
        even = np.full_like(answers, 1.0 / answers.shape[1])
        return np.asarray(np.divide(answers, total, out=even, where=total > 0), np.float64)

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
        """
        logs = np.log(np.maximum(self.predict_proba(X), np.finfo(np.float64).tiny))
        return logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs

    def _output(self) -> str:
        if self.loss == "squared_error":
            return "logistic_squared"
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
    <batch_size, learning_rate, momentum, max_iter, shuffle, tol, n_iter_no_change,
    record_every, random_state>

    Attributes
    ----------
    <coefs_, intercepts_, loss_curve_, loss_, converged_, n_iter_, n_steps_, n_layers_, n_outputs_,
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
