"""What both multilayer perceptrons share: the start, epochs, early stopping, the stream."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from eigenstream._blas import blas_threads
from eigenstream._checks import (
    check_choice,
    check_flag,
    check_number,
    check_whole,
    warn_user,
)
from eigenstream._linalg import Float64s
from eigenstream._storable import storable
from eigenstream.neurons._supervised import SupervisedNeurons, orders, rates_of
from eigenstream.online import UnstableStepError
from eigenstream.rules.supervised import (
    BatchSteps,
    Network,
    backpropagation_steps,
    network_answers,
)

__all__ = ["Backpropagating"]

#: Multiplications of a batch's largest product from which more threads than one pay.
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
class Backpropagating(SupervisedNeurons):
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

    # ---- what the two differ in --------------------------------------------------------------

    def _output(self) -> str:
        """Return what the last layer answers, see ``rules.supervised.base.OUTPUTS``."""
        raise NotImplementedError

    def _validation_score(self, answers: Float64s, targets: Float64s, weights: Float64s) -> float:
        """Return accuracy or R^2 from what the last layer answers."""
        raise NotImplementedError

    def _stratify(self, targets: Float64s) -> Any:
        """Return the labels by which rows are held out evenly, or None."""
        return None

    # ---- learning ----------------------------------------------------------------------------

    def _check(self) -> None:
        self._hidden()
        check_choice(self.activation, "activation", ("tanh", "logistic", "relu"))
        check_whole(self.batch_size, "batch_size")
        rates_of(self.schedule)
        check_number(self.momentum, "momentum", least=0, below=1)
        check_flag(self.nesterovs_momentum, "nesterovs_momentum")
        check_whole(self.max_iter, "max_iter")
        check_flag(self.shuffle, "shuffle")
        check_number(self.tol, "tol", least=0)
        check_whole(self.n_iter_no_change, "n_iter_no_change")
        check_flag(self.early_stopping, "early_stopping")
        check_number(self.validation_fraction, "validation_fraction", above=0, below=1)
        self._check_history()

    def _hidden(self) -> tuple[int, ...]:
        sizes = self.hidden_layer_sizes
        if isinstance(sizes, str) or not np.iterable(sizes):
            sizes = (sizes,)
        return tuple(check_whole(size, "hidden_layer_sizes") for size in sizes)

    def _start(self, n_features: int, n_outputs: int, random: Any) -> Network:
        """Draw the weights within the bounds of Glorot and Bengio, in scikit-learn's order."""
        self.n_outputs_ = n_outputs
        net = Network.zeros(
            (n_features, *self._hidden(), n_outputs),
            self.activation,
            self._output(),
            momentum=self.momentum,
            nesterov=self.nesterovs_momentum,
        )
        for coefs, intercepts in net.layers():
            bound = np.sqrt((2.0 if self.activation == "logistic" else 6.0) / sum(coefs.shape))
            coefs[:] = random.uniform(-bound, bound, coefs.shape)
            intercepts[:] = random.uniform(-bound, bound, intercepts.shape)
        if self.history_every is not None:
            self.history_: list[tuple[int, list[Float64s], list[Float64s]]] = []
        return net

    def _passes(self, rows: Float64s, targets: Float64s, weights: Float64s) -> None:
        """Learn until neither the loss nor the score of the held-out rows gets better."""
        random = check_random_state(self.random_state)
        net = self._start(rows.shape[1], targets.shape[1], random)
        held = None
        if self.early_stopping:
            kept, held = self._held_out(targets, weights, random)
            held_rows, held_targets, held_weights = rows[held], targets[held], weights[held]
            rows, targets, weights = rows[kept], targets[kept], weights[kept]
        losses: list[float] = []
        scores: list[float] = []
        best, best_weights, idle, steps = np.inf, net.weights, 0, 0
        share = float(weights.sum())
        with self._threads(net, len(rows)):
            for order in orders(len(rows), self.shuffle, random):
                total, steps = self._learn(net, rows, targets, order, weights, steps)
                losses.append(total / share)
                judged = losses[-1]
                if held is not None:
                    answers = network_answers(net, held_rows)
                    scores.append(self._validation_score(answers, held_targets, held_weights))
                    judged = -scores[-1]
                idle = idle + 1 if judged > best - self.tol else 0
                if judged < best:
                    best = judged
                    best_weights = net.weights.copy() if held is not None else net.weights
                if idle > self.n_iter_no_change or len(losses) == self.max_iter:
                    break
        if held is not None:
            net = net._replace(weights=best_weights)
            self.validation_scores_, self.best_validation_score_ = scores, -best
        self.loss_curve_, self.loss_, self.n_iter_ = losses, losses[-1], len(losses)
        self.converged_ = idle > self.n_iter_no_change
        self._net, self._steps, self._waiting = net, steps, None
        if not self.converged_:
            what = "score of the held-out rows" if held is not None else "loss"
            warn_user(
                f"the multilayer perceptron did not converge: the {what} still got better by more "
                f"than tol={self.tol:g} within the last of {self.n_iter_} passes. Raise max_iter "
                "or tol.",
                ConvergenceWarning,
            )
        elif self.loss_ >= (least := _blind_loss(targets, weights, self._output())):
            warn_user(
                f"the multilayer perceptron settled at a loss of {self.loss_:.4g}, and who answers "
                f"the same to every row has {least:.4g}: it has learned little or nothing from "
                "the rows. Scale features and targets to about one, or take another learning rate.",
                ConvergenceWarning,
            )

    def _held_out(self, targets: Float64s, weights: Float64s, random: Any) -> Any:
        stratify = self._stratify(targets)
        try:
            kept, held = train_test_split(
                np.arange(len(targets)),
                random_state=random,
                test_size=self.validation_fraction,
                stratify=stratify,
            )
        except ValueError as refusal:
            raise ValueError(
                f"validation_fraction={self.validation_fraction!r} of {len(targets)} rows cannot "
                f"be held out: {refusal}"
            ) from None
        if len(held) < 2:
            raise ValueError(
                f"validation_fraction={self.validation_fraction!r} of {len(targets)} rows holds "
                "out fewer than two. Raise it, or give more rows."
            )
        if not (weights[kept].any() and weights[held].any()):
            raise ValueError(
                "all rows that were held out, or all others, have sample_weight zero. Leave such "
                "rows out, or early_stopping."
            )
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
        """Take a step a batch; return the sum of the losses, and the number of steps after them."""
        size = min(self.batch_size, len(order))
        schedule, total = rates_of(self.schedule), 0.0
        batches = None if size == 1 else BatchSteps(net, size)
        for start, stop in self._stretches(steps, -(-len(order) // size)):
            gains = schedule.gains(steps, stop - start)
            part = order[start * size : stop * size]
            if batches is None:
                done, loss = backpropagation_steps(net, rows, targets, part, gains, weights)
            else:
                done, loss = batches.learn(rows, targets, part, gains, weights)
            if done < stop - start or not np.isfinite(net.weights).all():
                raise UnstableStepError(
                    steps + done,
                    float(gains[min(done, len(gains) - 1)]),
                    "Use a smaller learning rate, or scale the data or the targets to about "
                    "one. The network is as it was before the call.",
                )
            total, steps = total + loss, steps + done
            if self.history_every is not None and steps % self.history_every == 0:
                self.history_.append((steps, *_copies(net)))
        return total, steps

    def _threads(self, net: Network, n_rows: int) -> AbstractContextManager[Any]:
        """Bound BLAS to one thread where a batch's products are small; one row uses none at all."""
        size = min(self.batch_size, n_rows)
        work = float(np.prod(np.sort(net.sizes)[-2:])) * size
        return blas_threads(1) if size > 1 and work < SHARED else nullcontext()

    def _chunk(self, rows: Float64s, targets: Float64s, weights: Float64s, first: bool) -> None:
        """Learn from a chunk that follows those before it, in whole batches; the rest waits."""
        if first:
            random = check_random_state(self.random_state)
            net = self._start(rows.shape[1], targets.shape[1], random)
            self._steps, self.n_iter_, self.loss_curve_ = 0, 0, []
            self._waiting = None
        else:
            net = self._net.copy()
            if self.history_every is not None:
                self.history_ = list(self.history_)
        if self._waiting is not None:
            rows, targets, weights = (
                np.concatenate(both)
                for both in zip(self._waiting, (rows, targets, weights), strict=True)
            )
        whole = len(rows) - len(rows) % self.batch_size
        if whole:
            order = np.arange(whole)
            with self._threads(net, whole):
                total, self._steps = self._learn(net, rows, targets, order, weights, self._steps)
            self.loss_ = total / max(float(weights[:whole].sum()), np.finfo(float).tiny)
            self.loss_curve_ = [*self.loss_curve_, self.loss_]
        left = slice(whole, None)
        parts = (rows[left].copy(), targets[left].copy(), weights[left].copy())
        self._waiting = parts if whole < len(rows) else None
        self._net, self.n_iter_, self.converged_ = net, self.n_iter_ + 1, False
        self.__dict__.pop("validation_scores_", None)

    # ---- what was learned --------------------------------------------------------------------

    def _ready(self) -> Network:
        """Return the network that has learned the rows that wait for their batch, too."""
        check_is_fitted(self)
        if self._waiting is None:
            return self._net
        net = self._net.copy()
        rows, targets, weights = self._waiting
        steps = BatchSteps(net, len(rows))
        gains = rates_of(self.schedule).gains(self._steps, 1)
        steps.learn(rows, targets, np.arange(len(rows)), gains, weights)
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

    def _sizes(self) -> tuple[int, int]:
        return int(self._net.sizes[0]), int(self._net.sizes[-1])

    def _answers(self, X: Any) -> Float64s:
        check_is_fitted(self)
        return network_answers(self._ready(), self._rows(X, reset=False))


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
