"""What the supervised rules are handed: units beside each other, or layers behind each other."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from eigenstream._linalg import Float64s
from eigenstream._storable import storable
from eigenstream.kernels.base import njit

__all__ = ["Network", "Units", "response"]

#: How a hidden unit answers to its input v, by number; ``derivative`` speaks of the answers.
ACTIVATIONS = ("identity", "logistic", "tanh", "relu")
#: What the last layer answers, and the loss: cross-entropy of shares, of one share or of several
#: that stand alone, half the squared error of v, and half the squared error of logistic answers.
OUTPUTS = ("softmax", "logistic", "identity", "logistic_squared")


@storable(
    weights="f8 units D+1",
    bias="number",
    sums="f8 units D+1 | f8 0 0",
    kept="f8 units D+1 | f8 0 0",
    marks="i8 3 units",
    errors="f8 units",
    mistakes="i8 units",
    seen="i8 1",
)
class Units(NamedTuple):
    """Units that see the same rows: weights, and what is kept of their past; all are updated.

    >>> Units.zeros(1, 2).weights
    array([[0., 0., 0.]])
    """

    weights: Any  # (units, D + 1): the last is the intercept
    bias: float  # what the intercept's input is: 1, or 0 for none
    sums: Any  # sum over the steps s of s times the change: what the average lacks; or empty
    kept: Any  # the weights in the pocket; or empty
    marks: Any  # (3, units): length of the run, of the pocket's; whether the weights were judged
    errors: Any  # (units,): the weight of the rows on which the pocket's weights err
    mistakes: Any  # (units,)
    seen: Any  # (1,): steps so far

    @classmethod
    def zeros(
        cls,
        count: int,
        n_features: int,
        *,
        bias: float = 1.0,
        average: bool = False,
        pocket: bool = False,
    ) -> "Units":
        """Return units that know nothing."""
        shape = (count, n_features + 1)
        return cls(
            np.zeros(shape),
            bias,
            np.zeros(shape if average else (0, 0)),
            np.zeros(shape if pocket else (0, 0)),
            np.zeros((3, count), np.int64),
            np.full(count, np.inf),
            np.zeros(count, np.int64),
            np.zeros(1, np.int64),
        )

    def copy(self) -> "Units":
        """Return units that learn without these."""
        own = {k: v.copy() for k, v in self._asdict().items() if k != "bias"}
        return self._replace(**own)


# The sum may be reordered, so that it runs in vector registers.
@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def response(weights: Any, row: Any) -> float:
    """Return <w, x> and the intercept.

    >>> response(np.array([1.0, 2.0, 0.5]), np.array([1.0, 1.0]))
    3.5
    """
    total = 0.0
    for j in range(row.shape[0]):
        total += weights[j] * row[j]
    return total + float(weights[row.shape[0]])


@storable(
    sizes="i8 layers",
    weights="f8 weights",
    velocity="f8 weights | f8 0",
    activation="int",
    output="int",
    momentum="number",
    nesterov="bool",
)
class Network(NamedTuple):
    """Layers of units, each fully connected to the one before it.

    The weights of all layers lie in one array: those from layer l to the next as (inputs, units),
    then the intercepts of the units.

    >>> net = Network.zeros((2, 3, 1), "tanh", "logistic")
    >>> [(coefs.shape, intercepts.shape) for coefs, intercepts in net.layers()]
    [((2, 3), (3,)), ((3, 1), (1,))]
    """

    sizes: Any  # units of each layer, the inputs first
    weights: Any
    velocity: Any  # the last change of the weights; empty without momentum
    activation: int  # of the hidden units, in ACTIVATIONS
    output: int  # in OUTPUTS
    momentum: float
    nesterov: bool

    @classmethod
    def zeros(
        cls,
        sizes: tuple[int, ...],
        activation: str,
        output: str,
        *,
        momentum: float = 0.0,
        nesterov: bool = False,
    ) -> "Network":
        """Return a network whose weights are all zero."""
        total = cls._total(sizes)
        return cls(
            np.array(sizes, np.int64),
            np.zeros(total),
            np.zeros(total if momentum else 0),
            ACTIVATIONS.index(activation),
            OUTPUTS.index(output),
            float(momentum),
            bool(nesterov),
        )

    def _loaded(self) -> None:
        """Check that the weights belong to these layers."""
        if (
            len(self.sizes) < 2
            or min(self.sizes) < 1
            or len(self.weights) != self._total(self.sizes)
        ):
            raise ValueError(f"layers of {self.sizes.tolist()} units have other weights.")
        ACTIVATIONS[self.activation], OUTPUTS[self.output]

    @staticmethod
    def _total(sizes: Any) -> int:
        return sum((int(n) + 1) * int(m) for n, m in pairwise(sizes))

    def layers(self, flat: Float64s | None = None) -> list[tuple[Float64s, Float64s]]:
        """Return views of the weights and the intercepts, or of an array of their layout."""
        flat = self.weights if flat is None else flat
        found, at = [], 0
        for n, m in pairwise(self.sizes.tolist()):
            found.append((flat[at : at + n * m].reshape(n, m), flat[at + n * m : at + (n + 1) * m]))
            at += (n + 1) * m
        return found

    def copy(self) -> "Network":
        """Return a network that learns without this one."""
        return self._replace(weights=self.weights.copy(), velocity=self.velocity.copy())
