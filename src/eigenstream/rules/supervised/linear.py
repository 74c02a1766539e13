"""The perceptron and Adaline: units that see the same rows, and their compiled steps."""

from typing import Any, NamedTuple

import numpy as np

from eigenstream._storable import storable
from eigenstream.kernels.base import njit

__all__ = ["Units", "adaline_steps", "perceptron_steps"]


#: An error this many times the largest target means that the weights explode.
EXPLODED = 1e12


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


@njit(cache=True, nogil=True, error_model="numpy")
def perceptron_steps(
    units: Units, rows: Any, classes: Any, order: Any, weights: Any, active: Any, ratchet: bool
) -> None:
    """Show the rows in this order to the units that are ``active``.

    Unit k answers +1 to class k, a single unit to class 1; a response of zero is a mistake. On a
    mistake w += c y x, with the row's weight c and y = +1 or -1. With a pocket, the weights that
    were right for the longest run of rows are kept [GALLANT]; with the ratchet they are only
    exchanged for weights that err on less of all the rows.
    """
    n_units, last = units.weights.shape[0], rows.shape[1]
    for s in range(order.shape[0]):
        row, c = rows[order[s]], weights[order[s]]
        mine = classes[order[s]] - (1 if n_units == 1 else 0)
        for k in range(n_units):
            if not active[k] or c == 0.0:
                continue
            y = 1.0 if mine == k else -1.0
            w = units.weights[k]
            if y * response(w, row) > 0.0:
                if units.kept.size:
                    _survived(units, k, rows, classes, weights, ratchet)
                continue
            units.mistakes[k] += 1
            step = c * y
            for j in range(last):
                w[j] += step * row[j]
            w[last] += step * units.bias
            if units.sums.size:
                before = step * (units.seen[0] + s)
                for j in range(last):
                    units.sums[k, j] += before * row[j]
                units.sums[k, last] += before * units.bias
            units.marks[0, k] = 0
            units.marks[2, k] = 0
    units.seen[0] += order.shape[0]


@njit(cache=True, nogil=True, error_model="numpy")
def _survived(units: Units, k: int, rows: Any, classes: Any, weights: Any, ratchet: bool) -> None:
    """Count a right answer; put the weights into the pocket if they are better than what it has."""
    marks = units.marks
    marks[0, k] += 1
    if marks[0, k] <= marks[1, k]:
        return
    if marks[2, k] == 0:
        errors = 0.0
        if ratchet:
            first = 1 if units.weights.shape[0] == 1 else 0
            for i in range(rows.shape[0]):
                y = 1.0 if classes[i] - first == k else -1.0
                if y * response(units.weights[k], rows[i]) <= 0.0:
                    errors += weights[i]
        if ratchet and errors >= units.errors[k]:
            marks[2, k] = 2
            return
        units.errors[k] = errors if ratchet else np.inf
        units.kept[k] = units.weights[k]
        marks[2, k] = 1
    if marks[2, k] == 1:
        marks[1, k] = marks[0, k]


@njit(cache=True, nogil=True, error_model="numpy")
def adaline_steps(
    units: Units, rows: Any, targets: Any, order: Any, gains: Any, factors: Any, largest: float
) -> Any:
    """Take steps of w_k += eta c e_k x, with e_k = d_k - <w_k, x>; return steps done and |e|^2.

    The factors c are the rows' weights, divided by |x|^2 in the normalised form. The number of
    steps falls short of that of the rows where an error was not finite or exploded.
    """
    n_units, last = units.weights.shape[0], rows.shape[1]
    limit, total = EXPLODED * largest, 0.0
    for s in range(order.shape[0]):
        i = order[s]
        row, f = rows[i], gains[s] * factors[i]
        for k in range(n_units):
            w = units.weights[k]
            e = targets[i, k] - response(w, row)
            if not abs(e) <= limit:
                return s, total
            total += e * e
            step = f * e
            for j in range(last):
                w[j] += step * row[j]
            w[last] += step * units.bias
    units.seen[0] += order.shape[0]
    return order.shape[0], total
