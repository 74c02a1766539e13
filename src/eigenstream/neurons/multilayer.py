"""The multilayer perceptron: layers of units that learn by backpropagation of errors."""

from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from eigenstream._checks import check_choice, check_flag, check_number, check_whole, warn_user
from eigenstream._linalg import Float64s
from eigenstream._machine import blas_threads
from eigenstream._storable import check_form, storable
from eigenstream._streams import maps_streams
from eigenstream.neurons._network import OUTPUTS, Network, backpropagation_steps, network_answers
from eigenstream.neurons._supervised import (
    Classifying,
    Regressing,
    SupervisedNeurons,
    orders,
    rates_of,
)
from eigenstream.online import UnstableStepError

__all__ = ["MultilayerPerceptron", "MultilayerPerceptronRegressor"]

#: Multiplications of a batch's largest product from which several threads are faster.
SHARED = 1e8


@storable(
    n_outputs_="int",
    validation_scores_="list[number]?",
    best_validation_score_="number?",
    loss_="number?",
    _net="Network",
    _steps="int",
    _waiting="tuple | None",
)
class _Backpropagating(SupervisedNeurons):
    """Base of the multilayer perceptrons."""

    _waiting: tuple[Float64s, Float64s, Float64s] | None

    def __init__(
        self,
        hidden_layer_sizes: Any = (32,),
        activation: str = "tanh",
        *,
        batch_size: int = 1,
        schedule: Any = 0.01,
        momentum: float = 0.0,
        nesterovs_momentum: bool = True,
        max_iter: int = 200,
        shuffle: bool = True,
        tol: float = 1e-4,
        n_iter_no_change: int = 10,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        history_every: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.batch_size = batch_size
        self.schedule = schedule
        self.momentum = momentum
        self.nesterovs_momentum = nesterovs_momentum
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.history_every = history_every
        self.random_state = random_state

    def _output(self) -> str:
        """Return the answers of the last layer, one of ``OUTPUTS``."""
        raise NotImplementedError

    def _validation_score(self, answers: Float64s, targets: Float64s, weights: Float64s) -> float:
        """Return accuracy or R^2 from the answers of the last layer."""
        raise NotImplementedError

    def _check(self) -> None:
        super()._check()
        self._hidden()
        check_choice(self.activation, "activation", ("tanh", "logistic", "relu"))
        check_whole(self.batch_size, "batch_size")
        check_number(self.momentum, "momentum", least=0, below=1)
        check_flag(self.nesterovs_momentum, "nesterovs_momentum")
        check_flag(self.early_stopping, "early_stopping")
        check_number(self.validation_fraction, "validation_fraction", above=0, below=1)

    def _hidden(self) -> tuple[int, ...]:
        sizes = self.hidden_layer_sizes
        if isinstance(sizes, str) or not np.iterable(sizes):
            sizes = (sizes,)
        return tuple(check_whole(size, "hidden_layer_sizes") for size in sizes)

    def _start(self, n_features: int, n_outputs: int, random: Any) -> Network:
        """Draw the weights within the bounds of Glorot and Bengio, in scikit-learn's order."""
        self.n_outputs_ = n_outputs
        sizes = n_features, *self._hidden(), n_outputs
        options = self.activation, self._output(), self.momentum, self.nesterovs_momentum
        net = Network.zeros(sizes, *options)
        for coefs, intercepts in net.layers():
            bound = np.sqrt((2.0 if self.activation == "logistic" else 6.0) / sum(coefs.shape))
            coefs[:] = random.uniform(-bound, bound, coefs.shape)
            intercepts[:] = random.uniform(-bound, bound, intercepts.shape)
        self._begin_history(first=True)
        return net

    def _passes(self, rows: Float64s, targets: Float64s, weights: Float64s) -> None:
        """Learn until neither the loss nor the score of the held-out rows gets better."""
        random = check_random_state(self.random_state)
        net = self._start(rows.shape[1], targets.shape[1], random)
        if self.early_stopping:
            kept, held = self._held_out(targets, weights, random)
            held_rows, held_targets, held_weights = rows[held], targets[held], weights[held]
            rows, targets, weights = rows[kept], targets[kept], weights[kept]
        losses: list[float] = []
        scores: list[float] = []
        best, best_weights, idle, steps = np.inf, net.weights, 0, 0
        for order in orders(len(rows), self.shuffle, random):
            total, steps = self._learn(net, rows, targets, order, weights, steps)
            losses.append(total / float(weights.sum()))
            judged = losses[-1]
            if self.early_stopping:
                answers = network_answers(net, held_rows)
                scores.append(self._validation_score(answers, held_targets, held_weights))
                judged = -scores[-1]
            idle = idle + 1 if judged > best - self.tol else 0
            if judged < best:
                best = judged
                best_weights = net.weights.copy() if self.early_stopping else net.weights
            if idle > self.n_iter_no_change or len(losses) == self.max_iter:
                break
        if self.early_stopping:
            self.validation_scores_, self.best_validation_score_ = scores, -best
        self.loss_curve_, self.loss_, self.n_iter_ = losses, losses[-1], len(losses)
        self.converged_ = idle > self.n_iter_no_change
        self._net, self._steps, self._waiting = net._replace(weights=best_weights), steps, None
        if not self.converged_:
            warn_user(
                f"{type(self).__name__} did not converge in {self.n_iter_} passes. Raise max_iter "
                f"or tol={self.tol:g}.",
                ConvergenceWarning,
            )
        elif self.loss_ >= (least := _blind_loss(targets, weights, self._output())):
            warn_user(
                f"{type(self).__name__} has learned little or nothing from the rows: its loss of "
                f"{self.loss_:.4g} is not below that of one constant answer, {least:.4g}. Scale "
                "features and targets to about one, or change the learning rate.",
                ConvergenceWarning,
            )

    def _held_out(self, targets: Float64s, weights: Float64s, random: Any) -> Any:
        two_classes = isinstance(self, Classifying) and targets.shape[1] == 1
        try:
            kept, held = train_test_split(
                np.arange(len(targets)),
                random_state=random,
                test_size=self.validation_fraction,
                stratify=targets[:, 0] if two_classes else None,
            )
            if len(held) < 2 or not (weights[kept].any() and weights[held].any()):
                raise ValueError("fewer than two rows, or rows with sample_weight zero only.")
        except ValueError as error:
            raise ValueError(
                f"validation_fraction={self.validation_fraction!r} of {len(targets)} rows cannot "
                f"be held out: {error} Give more rows, or set early_stopping=False."
            ) from None
        return kept, held

    def _learn(
        self,
        net: Network,
        rows: Float64s,
        targets: Float64s,
        order: Any,
        weights: Float64s,
        steps: int,
    ) -> tuple[float, int]:
        """Take a step a batch; return the sum of the losses, and the number of steps so far."""
        size = min(self.batch_size, len(order))
        schedule, total = rates_of(self.schedule), 0.0
        work = size * float(np.prod(np.sort(net.sizes)[-2:]))
        for start, stop in self._stretches(steps, -(-len(order) // size)):
            gains = schedule.gains(steps, stop - start)
            part = order[start * size : stop * size]
            with blas_threads(1 if work < SHARED else np.iinfo(np.int32).max):
                done, loss = backpropagation_steps(net, rows, targets, part, gains, weights, size)
            if done < stop - start or not np.isfinite(net.weights).all():
                raise UnstableStepError(
                    steps + done,
                    float(gains[min(done, len(gains) - 1)]),
                    "Use a smaller learning rate, or scale the data or the targets to about "
                    "one. The network is as it was before the call.",
                )
            total, steps = total + loss, steps + done
            self._record(steps, lambda: _copies(net))
        return total, steps

    def _chunk(self, rows: Float64s, targets: Float64s, weights: Float64s, first: bool) -> None:
        """Learn from a chunk that follows those before it, in whole batches; the rest waits."""
        if first:
            random = check_random_state(self.random_state)
            net = self._start(rows.shape[1], targets.shape[1], random)
            self._steps, self.n_iter_, self.loss_curve_ = 0, 0, []
            self._waiting = None
        else:
            net = self._net.copy()
            self._begin_history(first=False)
        if self._waiting is not None:
            rows, targets, weights = (
                np.concatenate(both)
                for both in zip(self._waiting, (rows, targets, weights), strict=True)
            )
        whole = len(rows) - len(rows) % self.batch_size
        if whole:
            order = np.arange(whole)
            total, self._steps = self._learn(net, rows, targets, order, weights, self._steps)
            self.loss_ = total / max(float(weights[:whole].sum()), np.finfo(float).tiny)
            self.loss_curve_ = [*self.loss_curve_, self.loss_]
        parts = (rows[whole:].copy(), targets[whole:].copy(), weights[whole:].copy())
        self._waiting = parts if whole < len(rows) else None
        self._net, self.n_iter_, self.converged_ = net, self.n_iter_ + 1, False
        self.__dict__.pop("validation_scores_", None)

    def _ready(self) -> Network:
        """Return the network after a step on the rows that wait for their batch."""
        check_is_fitted(self)
        if self._waiting is None:
            return self._net
        net, (rows, targets, weights) = self._net.copy(), self._waiting
        gains = rates_of(self.schedule).gains(self._steps, 1)
        order = np.arange(len(rows))
        backpropagation_steps(net, rows, targets, order, gains, weights, len(rows))
        return net

    @property
    def coefs_(self) -> list[Float64s]:
        """The weights from layer to layer, (inputs, units) each."""
        return _copies(self._ready())[0]

    @property
    def intercepts_(self) -> list[Float64s]:
        """The intercepts of the hidden layers and the last one."""
        return _copies(self._ready())[1]

    @property
    def n_layers_(self) -> int:
        """The number of layers, the inputs among them."""
        check_is_fitted(self)
        return len(self._net.sizes)

    @property
    def n_steps_(self) -> int:
        """The number of steps, one a batch."""
        check_is_fitted(self)
        return self._steps + (self._waiting is not None)

    def _loaded(self) -> None:
        super()._loaded()
        if getattr(self, "_waiting", None) is not None:
            sizes = dict(zip(("inputs", "outputs"), self._sizes(), strict=True))
            forms = "f8 n inputs", "f8 n outputs", "f8 n"
            for form, one in zip(forms, self._waiting or (), strict=True):
                check_form(form, one, sizes, "_waiting")

    def _sizes(self) -> tuple[int, int]:
        return int(self._net.sizes[0]), int(self._net.sizes[-1])

    def _answers(self, X: Any) -> Float64s:
        check_is_fitted(self)
        return network_answers(self._ready(), self._rows(X, reset=False))


@storable()
class MultilayerPerceptron(Classifying, _Backpropagating):
    """Layers of units that learn classes by backpropagation [BACKPROP].

    Unit j answers y_j = phi(v_j), v_j = sum_i w_ji y_i. A step is dw_ji = eta delta_j y_i with the
    local gradients delta_j = phi'(v_j) sum_k delta_k w_kj of hidden units, and delta = d - y in the
    last layer. Every step is the textbook's. Parameters have the names of scikit-learn's
    ``MLPClassifier``. With ``solver="sgd"``, ``alpha=0`` and the same ``random_state`` it finds the
    same weights.

    Parameters
    ----------
    hidden_layer_sizes : int or tuple of int, default=(32,)
        Units of each hidden layer.
    activation : {"tanh", "logistic", "relu"}, default="tanh"
        Of the hidden units.
    loss : {"log_loss", "squared_error"}, default="log_loss"
        "log_loss": the last layer answers with shares (softmax; one logistic unit for two classes).
        "squared_error": logistic units with delta = (d - y) phi'(v).
    batch_size : int, default=1
        Examples a step. In ``partial_fit`` the rows after the last whole batch wait for the next
        chunk. Until then predictions use them as a smaller batch.
    schedule : number, a schedule of ``eigenstream.schedules``, or a function of the step number
        Learning rates, a step a batch; default 0.01.
    momentum : float, default=0.0
        Share of the last step that is added to a step.
    nesterovs_momentum : bool, default=True
        Use Nesterov's form of momentum.
    max_iter : int, default=200
        Largest number of passes in ``fit``.
    shuffle : bool, default=True
        Draw a new order of the rows for each pass of ``fit``.
    tol, n_iter_no_change : float and int, defaults 1e-4 and 10
        ``fit`` ends after more than ``n_iter_no_change`` passes in a row that do not improve the
        best loss by ``tol``. With early stopping the score replaces the loss.
    early_stopping : bool, default=False
        Hold out a part of the rows of ``fit``, and keep the weights with the best score on it.
    validation_fraction : float, default=0.1
        The part that is held out.
    history_every : int, optional
        Append ``(step, coefs, intercepts)`` to ``history_`` every ``history_every`` steps.
    random_state : int, RandomState or None
        Draws the first weights, the held-out rows and the orders, as scikit-learn's networks do.

    Attributes
    ----------
    classes_ : array
    coefs_, intercepts_ : lists of arrays
        From each layer to the next; (inputs, units) and (units,).
    loss_curve_ : list of float
        Mean loss of each pass (or chunk), measured before each step; ``loss_`` is the last.
    validation_scores_, best_validation_score_
        With early stopping.
    converged_, n_iter_, n_steps_, n_layers_, n_outputs_, history_

    Examples
    --------
    >>> from eigenstream import MultilayerPerceptron
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]           # exclusive or
    >>> net = MultilayerPerceptron(4, schedule=0.3, max_iter=1000, random_state=0).fit(X, y)
    >>> net.predict(X).tolist()
    [0, 1, 1, 0]
    """

    def __init__(
        self,
        hidden_layer_sizes: Any = (32,),
        activation: str = "tanh",
        *,
        loss: str = "log_loss",
        batch_size: int = 1,
        schedule: Any = 0.01,
        momentum: float = 0.0,
        nesterovs_momentum: bool = True,
        max_iter: int = 200,
        shuffle: bool = True,
        tol: float = 1e-4,
        n_iter_no_change: int = 10,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        history_every: int | None = None,
        random_state: Any = None,
    ) -> None:
        given = locals()
        shared = {name: given[name] for name in _Backpropagating._get_param_names()}
        super().__init__(**shared)
        self.loss = loss

    @maps_streams
    def predict_proba(self, X: Any) -> Float64s:
        """Return the shares of the classes, in the order of ``classes_``.

        With ``loss="squared_error"`` the answers of the units, divided by their sum.
        """
        answers = self._answers(X)
        if answers.shape[1] == 1:
            return np.hstack([1.0 - answers, answers])
        if OUTPUTS[self._net.output] != "logistic_squared":
            return answers
        total = answers.sum(axis=1, keepdims=True)
        even = np.full_like(answers, 1.0 / answers.shape[1])
        return np.asarray(np.divide(answers, total, out=even, where=total > 0), np.float64)

    @maps_streams
    def predict(self, X: Any) -> Any:
        """Return the class with the largest answer."""
        winners = _winners(self._answers(X))
        return self.classes_[winners]

    def _check(self) -> None:
        super()._check()
        check_choice(self.loss, "loss", ("log_loss", "squared_error"))

    def _output(self) -> str:
        if self.loss == "squared_error":
            return "logistic_squared"
        return "logistic" if len(self.classes_) == 2 else "softmax"

    def _targets(self, codes: Any) -> Float64s:
        return self._one_column_a_unit(codes)

    def _validation_score(self, answers: Float64s, targets: Float64s, weights: Float64s) -> float:
        found, right = _winners(answers), _winners(targets)
        return float(accuracy_score(right, found, sample_weight=weights))


@storable()
class MultilayerPerceptronRegressor(Regressing, _Backpropagating):
    """Layers of units that learn numbers by backpropagation [BACKPROP].

    Unit j of a hidden layer answers y_j = phi(v_j), v_j = sum_i w_ji y_i; the last layer is linear,
    and the loss half the squared error, summed over the targets. A step is dw_ji = eta delta_j y_i
    with delta = d - y in the last layer and the local gradients delta_j = phi'(v_j) sum_k delta_k
    w_kj of hidden units. scikit-learn's ``MLPRegressor`` takes the same steps, and divides the loss
    that it reports by the number of targets.

    Parameters
    ----------
    hidden_layer_sizes, activation, batch_size, schedule, momentum, nesterovs_momentum, max_iter, \
shuffle, tol, n_iter_no_change, early_stopping, validation_fraction, history_every, random_state
        As those of ``MultilayerPerceptron``.

    Attributes
    ----------
    coefs_, intercepts_, loss_curve_, validation_scores_, best_validation_score_, converged_, \
n_iter_, n_steps_, n_layers_, n_outputs_, history_
        As those of ``MultilayerPerceptron``.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream import MultilayerPerceptronRegressor
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> net = MultilayerPerceptronRegressor(schedule=0.05, max_iter=500, random_state=0)
    >>> bool(net.fit(X, np.sin(3 * X[:, 0])).score(X, np.sin(3 * X[:, 0])) > 0.99)
    True
    """

    @maps_streams
    def predict(self, X: Any) -> Float64s:
        """Return the answers of the last layer to the rows."""
        return self._shaped(self._answers(X))

    def _output(self) -> str:
        return "identity"

    def _validation_score(self, answers: Float64s, targets: Float64s, weights: Float64s) -> float:
        return float(r2_score(targets, answers, sample_weight=weights))


def _winners(answers: Float64s) -> Any:
    """Return the place of the class with the largest answer."""
    return (answers[:, 0] > 0.5) * 1 if answers.shape[1] == 1 else answers.argmax(axis=1)


def _blind_loss(targets: Float64s, weights: Float64s, output: str) -> float:
    """Return the least loss of one answer to all rows.

    >>> _blind_loss(np.array([[1.0], [3.0]]), np.ones(2), "identity")
    0.5
    """
    mean = np.average(targets, axis=0, weights=weights)
    if output in ("softmax", "logistic"):
        shares = np.append(mean, 1.0 - mean) if output == "logistic" else mean
        return -float(shares @ np.log(shares, out=np.zeros_like(shares), where=shares > 0))
    return 0.5 * float(np.average((targets - mean) ** 2, axis=0, weights=weights).sum())


def _copies(net: Network) -> tuple[list[Float64s], list[Float64s]]:
    layers = net.layers()
    return [coefs.copy() for coefs, _ in layers], [intercepts.copy() for _, intercepts in layers]
