"""The units of the neurons, and the compiled loops that take their steps."""

from functools import partial
from itertools import pairwise
from math import exp, log, sqrt, tanh
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, softmax

from eigenstream.core.linalg import Float64s
from eigenstream.core.storable import storable
from eigenstream.core.types import Array
from eigenstream.kernels.base import njit
from eigenstream.neurons._base import SupervisedRows
from eigenstream.online.blocks import STRETCH, next_rate

#: The decorator of loops over rows. Sums that may be reordered run in vector registers.
_vectorised = njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})


@storable(weights="f8 units D", average="f8 units D", mean="f8 D", pace="f8 5")
class HebbianUnits(NamedTuple):
    """Linear units that learn from the same rows. The loop updates the arrays in place."""

    weights: Float64s
    average: Float64s  # of the weights over the steps, or the last weights
    mean: Float64s
    pace: Float64s  # the state of the automatic learning rate

    def copy(self) -> "HebbianUnits":
        """Return a copy."""
        return HebbianUnits(*(values.copy() for values in self))


@_vectorised
def hebbian_steps(
    W: Float64s,
    average: Float64s,
    mean: Float64s,
    pace: Float64s,
    rows: Float64s,
    first: int,
    rates: Float64s,
    factors: Float64s,
    form: tuple[bool, bool],
    center: bool,
    power: float,
) -> int:
    """Take the step w_k += lr_k y_k (u - sum_{l<=k} y_l w_l) for each row; return their number.

    u is the row minus the mean of the rows before it. ``form`` has two flags: without the first one
    the sum is left out, and with the second one each w_k is divided by its norm. ``first`` steps
    were taken before. A ``power`` of at least zero averages the weights after t steps by t^power. A
    step that is too large ends the loop before it changes the weights.
    """
    (d, D), (subtracts, normalizes) = W.shape, form
    u, y = np.empty(D), np.empty(d)
    for t in range(len(rows)):
        row, n = rows[t], first + t + 1.0
        square = energy = 0.0
        share = 1.0 / n if center else 0.0
        for j in range(D):
            # Any mean near the data keeps the digits of the rows.
            u[j] = row[j] - (row[j] if center and n == 1.0 else mean[j])
            square += u[j] * u[j]
        for k in range(d):
            y[k] = 0.0
            for j in range(D):
                y[k] += W[k, j] * u[j]
            energy += y[k] * y[k]
        # A row counts 1 - 1 / n times: the steps then add up to the scatter about the final mean.
        size = (1.0 - share) * sqrt(square) * sqrt(energy)
        rate = next_rate(rates[t], size, 0.0, pace)
        if not rate * size < STRETCH:
            return t
        for j in range(D):
            mean[j] = row[j] if center and n == 1.0 else mean[j] + share * u[j]
        fresh = 1.0 - (1.0 - 1.0 / n) ** (power + 1.0) if power >= 0.0 else 0.0
        for k in range(d):
            step, pull, square = rate * factors[k] * (1.0 - share) * y[k], y[k] * subtracts, 0.0
            for j in range(D):
                u[j] -= pull * W[k, j]
                W[k, j] += step * u[j]
                square += W[k, j] * W[k, j]
            scale = 1.0 / sqrt(square) if normalizes else 1.0
            for j in range(D if normalizes or power >= 0.0 else 0):
                W[k, j] *= scale
                average[k, j] += fresh * (W[k, j] - average[k, j])
    return len(rows)


@storable(weights="f8 units D+1", mistakes="i8 units")
class Units(NamedTuple):
    """Threshold units that learn from the same rows. The loop updates the arrays in place."""

    weights: Array  # (units, D + 1)
    mistakes: Array  # (units,)

    def copy(self) -> "Units":
        """Return a copy."""
        return Units(*(values.copy() for values in self))


@_vectorised
def linear_steps(
    weights: Array,
    mistakes: Array,
    rows: Float64s,
    targets: Float64s,
    row_weights: Float64s,
    factors: Float64s,
    order: Any,
    gains: Any,
    limit: float,
) -> Any:
    """Take the steps of rows in this order. Return their number and the sum of the losses.

    With ``mistakes``, a response whose sign is not that of the target is a mistake, and so is zero.
    A mistake on a row of weight c adds c d x to the weights. Its loss is c. Otherwise a step is
    w_k += lr f e_k x, with e_k = d_k - <w_k, x> and the loss c e_k^2. The factors f are the rows'
    weights c, divided by |x|^2 in the normalised form. The steps end at an error that is not finite
    or above the limit.
    """
    total = 0.0
    for s in range(len(order)):
        i, x = order[s], rows[order[s]]
        for k in range(len(weights)):
            w, d, y, step = weights[k], targets[i, k], 0.0, 0.0
            for j in range(len(x)):
                y += w[j] * x[j]
            if len(mistakes) == 0:
                e = d - y
                if not abs(e) <= limit:
                    return s, total
                total += row_weights[i] * e * e
                step = gains[s] * factors[i] * e
            elif d * y <= 0.0:
                total += factors[i]
                mistakes[k] += 1
                step = factors[i] * d
            for j in range(len(x) if step != 0.0 else 0):
                w[j] += step * x[j]
    return len(order), total


#: Activation functions of the hidden units.
ACTIVATIONS = ("logistic", "tanh", "relu")
#: Activation functions of the last layer. The first two have the cross-entropy as loss, the last
#: one half the squared error.
OUTPUTS = ("softmax", "logistic", "identity")

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
        layers, at = [], 0
        for n, m in pairwise(self.sizes.tolist()):
            end = at + n * m
            layers.append((self.weights[at:end].reshape((n, m)), self.weights[end : end + m]))
            at = end + m
        return layers

    def copy(self) -> "Network":
        """Return a copy."""
        return self._replace(weights=self.weights.copy(), velocity=self.velocity.copy())


_inner = njit(cache=True, error_model="numpy", no_cpython_wrapper=True)
_fast = njit(
    cache=True, error_model="numpy", fastmath={"reassoc", "contract"}, no_cpython_wrapper=True
)
#: The number of rows of which ``mean_loss`` holds the answers of all layers.
READ = 1024

#: Codes of the functions of a layer: the entries of ACTIVATIONS, and of OUTPUTS for the last one.
LOGISTIC, TANH, RELU, SOFTMAX, IDENTITY = range(5)
LAST = (SOFTMAX, LOGISTIC, IDENTITY)

#: The same functions of the fields of rows, by their codes.
FUNCTIONS = expit, np.tanh, partial(np.maximum, 0.0), partial(softmax, axis=1), np.asarray


@_inner
def _matrix(flat, at, n, m):
    return flat[at : at + n * m].reshape((n, m))


@_fast
def _forward(x, coefs, out):
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

    The gradient is d - y for the cross-entropies and linear answers ([BACKPROP]).
    """
    total = 0.0
    for t in range(answers.shape[0]):
        i = order[first + t]
        for j in range(answers.shape[1]):
            d, y, loss = targets[i, j], answers[t, j], 0.0
            e = d - y
            if kind == 2:
                loss = 0.5 * e * e
            else:
                share = LEAST if y < LEAST else 1.0 - LEAST if y > 1.0 - LEAST else y
                loss = -d * log(share)
                if kind == 1:
                    loss -= (1.0 - d) * log(1.0 - share)
            total += loss * weights[i]
            deltas[t, j] = e * weights[i]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _steps(
    sizes,
    weights,
    velocity,
    kinds,
    momentum,
    rows,
    targets,
    row_weights,
    order,
    gains,
    size,
    l2,
    change,
    room,
):
    activation, output, last = kinds
    total, layers = 0.0, len(sizes) - 1
    values, own, left = room
    begin = 0 * len(order)  # not a literal, for which numba would compile again
    for s in range(len(gains)):
        first = s * size
        b = size if first + size < len(order) else len(order) - first
        for t in range(b):
            for j in range(sizes[0]):
                values[t * sizes[0] + j] = rows[order[first + t], j]
        at, here = begin, begin
        for k in range(layers):
            n, m = sizes[k], sizes[k + 1]
            out = _matrix(values, here + b * n, b, m)
            _forward(_matrix(values, here, b, n), _matrix(weights, at, n, m), out)
            _respond(out, weights, at + n * m, activation if k < layers - 1 else last)
            at, here = at + (n + 1) * m, here + b * n
        m = sizes[layers]
        deltas = _matrix(own, begin, b, m)
        loss = _compare(
            _matrix(values, here, b, m), targets, row_weights, order, first, output, deltas
        )
        if loss - loss != 0.0:  # not finite
            return s, total
        total += loss
        gain, squares = gains[s] / b, 0.0
        for i in range(b * m):
            own[i] *= gain
        for k in range(layers - 1, -1, -1):
            n, m = sizes[k], sizes[k + 1]
            at, here = at - (n + 1) * m, here - b * n
            deltas = _matrix(own, begin, b, m)
            _outer(_matrix(values, here, b, n), deltas, _matrix(change, at, n, m))
            if l2 > 0.0:
                for i in range(at, at + n * m):
                    squares += weights[i] * weights[i]
                    change[i] -= gain * l2 * weights[i]
            for j in range(m):
                change[at + n * m + j] = 0.0
                for t in range(b):
                    change[at + n * m + j] += deltas[t, j]
            if k > 0:
                _back(deltas, _matrix(weights, at, n, m), _matrix(left, begin, b, n))
                for i in range(b * n):
                    y = values[here + i]
                    slope = 1.0 if y > 0.0 else 0.0
                    if activation == LOGISTIC:
                        slope = y * (1.0 - y)
                    elif activation == TANH:
                        slope = 1.0 - y * y
                    own[i] = left[i] * slope
        total += 0.5 * l2 * squares
        for i in range(len(weights)):
            if momentum > 0.0:
                velocity[i] = momentum * velocity[i] + change[i]
                weights[i] += momentum * velocity[i] + change[i]
            else:
                weights[i] += change[i]
    return len(gains), total


def backpropagation_steps(
    net: Network, block: SupervisedRows, order: Any, gains: Any, size: int, l2: float = 0.0
) -> Any:
    """Take a step on each batch of ``size`` rows; return the steps and the sum of the losses.

    A step is dw_ji = lr / n times the sum over the n rows of c delta_j y_i, c their weights. In a
    hidden layer delta_j = phi'(v_j) sum_k delta_k w_kj ([BACKPROP]). With momentum m,
    v = m v + dw, and the weights change by m v + dw (Nesterov's form). The penalty ``l2`` adds
    l2 |w|^2 / 2 n to the mean loss, without the intercepts. The last batch may be smaller. A loss
    that is not finite ends the loop before its step.

    >>> net = Network.zeros((2, 1), "tanh", "identity")
    >>> block = SupervisedRows(
    ...     np.eye(2), np.array([[1.0], [3.0]]), np.ones(2), np.ones(2)
    ... )
    >>> backpropagation_steps(net, block, np.arange(2), np.array([0.5]), 2)
    (1, 5.0)
    >>> net.weights  # the mean error is 2
    array([0.25, 0.75, 1.  ])
    """
    batch = min(size, len(order))
    rows, targets, row_weights = (
        np.require(values, np.float64, ["C", "W"]) for values in block[:3]
    )
    widest = batch * int(net.sizes.max())
    room = np.empty(batch * int(net.sizes.sum())), np.empty(widest), np.empty(widest)
    kinds = net.activation, net.output, LAST[net.output]
    return _steps(
        *(net.sizes, net.weights, net.velocity, kinds, net.momentum, rows, targets, row_weights),
        *(np.require(order, np.int64, ["C", "W"]), np.require(gains, np.float64, ["C", "W"])),
        *(size, float(l2), np.empty_like(net.weights), room),
    )


def mean_loss(net: Network, block: SupervisedRows) -> float:
    """Return the mean loss of rows, without a step.

    >>> net = Network.zeros((1, 1), "tanh", "identity")
    >>> targets = np.array([[1.0], [3.0]])
    >>> rows = SupervisedRows(np.ones((2, 1)), targets, *np.ones((2, 2)))
    >>> mean_loss(net, rows)
    2.5
    """
    n, still = len(block.rows), net.copy()._replace(momentum=0.0)
    gains = np.zeros(-(-n // READ))
    return float(
        backpropagation_steps(still, block, np.arange(n), gains, READ)[1] / block.weights.sum()
    )


def network_answers(net: Network, rows: Any) -> Float64s:
    """Return the answers of the last layer to each row.

    >>> network_answers(
    ...     Network.zeros((2, 1), "tanh", "logistic"), np.ones((1, 2))
    ... )
    array([[0.5]])
    """
    layers = net.layers()
    for k, (coefs, intercepts) in enumerate(layers):
        kind = net.activation if k < len(layers) - 1 else LAST[net.output]
        rows = FUNCTIONS[kind](rows @ coefs + intercepts)
    return np.asarray(rows)
