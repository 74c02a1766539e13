"""The multilayer perceptron: layers of units that learn by backpropagation of errors."""

from typing import Any, Self

import numpy as np
from sklearn.metrics import accuracy_score, r2_score

from eigenstream._checks import check_choice
from eigenstream._linalg import Float64s
from eigenstream._refusals import unchanged_on_error
from eigenstream._streams import fits_streams, maps_streams
from eigenstream.neurons._backpropagating import Backpropagating
from eigenstream.neurons._supervised import Classifying, Regressing

__all__ = ["MultilayerPerceptron", "MultilayerPerceptronRegressor"]


class MultilayerPerceptron(Classifying, Backpropagating):
    """Layers of units that learn classes by backpropagation [BACKPROP].

    Unit j answers y_j = phi(v_j), v_j = sum_i w_ji y_i. A step is dw_ji = eta delta_j y_i with the
    local gradients delta_j = phi'(v_j) sum_k delta_k w_kj of hidden units, and delta = d - y in the
    last layer. Every step is the textbook's; the parameters are named as in scikit-learn's
    ``MLPClassifier`` where they mean the same, and with ``solver="sgd"``, ``alpha=0`` and the same
    ``random_state`` its weights are these.

    Parameters
    ----------
    hidden_layer_sizes : int or tuple of int, default=(32,)
        Units of each hidden layer.
    activation : {"tanh", "logistic", "relu"}, default="tanh"
        Of the hidden units.
    loss : {"log_loss", "squared_error"}, default="log_loss"
        "log_loss": the last layer answers with shares (softmax; one logistic unit for two classes).
        "squared_error": with logistic units, and delta = (d - y) phi'(v), as older textbooks do.
    batch_size : int, default=1
        Examples a step: 1 is the sequential mode of the textbook, in a compiled loop.
    schedule : number, a schedule of ``eigenstream.schedules``, or a function of the step number
        Learning rates, a step a batch; default 0.01.
    momentum : float, default=0.0
        Share of the last step that is taken again.
    nesterovs_momentum : bool, default=True
        Look one such share ahead, where there is momentum.
    max_iter : int, default=200
        Passes over the data in ``fit``, at most.
    shuffle : bool, default=True
        Draw the order of the rows anew for each pass of ``fit``.
    tol, n_iter_no_change : float and int, defaults 1e-4 and 10
        More than so many passes whose loss (score, with early stopping) is not better than the
        best by ``tol`` end the fit.
    early_stopping : bool, default=False
        Hold out a part of the rows of ``fit``, go by the score on them, and keep the best weights.
    validation_fraction : float, default=0.1
        That part.
    history_every : int, optional
        Keep ``(step, coefs, intercepts)`` in ``history_`` every so many steps.
    random_state : int, RandomState or None
        Draws the first weights, what is held out and the orders, as scikit-learn's networks do:
        the same integer gives the same start and the same order there.

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
        super().__init__(
            hidden_layer_sizes,
            activation,
            batch_size,
            schedule,
            momentum,
            nesterovs_momentum,
            max_iter,
            shuffle,
            tol,
            n_iter_no_change,
            early_stopping,
            validation_fraction,
            history_every,
            random_state,
        )
        self.loss = loss

    @fits_streams
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from passes over the rows until their loss falls no longer.

        Parameters
        ----------
        X : array-like of shape (n, D), or a stream
        y : array-like of shape (n,); not with a stream that has labels
            Labels of two classes or more.
        sample_weight : array-like of shape (n,), optional
            A row of weight c takes steps c times as long.
        """
        with unchanged_on_error(self):
            self._note_parameters()
            rows, codes, weights = self._first(X, y, sample_weight)
            self._epochs(rows, self._targets(codes), weights)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Go on learning with one pass over a chunk, in its order; any chunking gives the same.

        ``classes`` names all labels that will ever come, in the first call. Rows short of a batch
        wait for the next chunk; what is read has learned them as a smaller batch.
        """
        with unchanged_on_error(self):
            first = self._begin()
            rows, codes, weights = self._next(X, y, classes, sample_weight, first)
            self._chunk(rows, self._targets(codes), weights, first)
        return self

    @maps_streams
    def predict_proba(self, X: Any) -> Float64s:
        """Return the shares of the classes, in the order of ``classes_``.

        With ``loss="squared_error"`` the answers of the units, divided by their sum.
        """
        answers = self._answers(X)
        if answers.shape[1] == 1:
            answers = np.hstack([1.0 - answers, answers])
        elif self._begun["loss"] == "squared_error":
            answers = self._shares(answers)
        return answers

    @staticmethod
    def _shares(answers: Float64s) -> Float64s:
        total = answers.sum(axis=1, keepdims=True)
        even = np.full_like(answers, 1.0 / answers.shape[1])
        return np.asarray(np.divide(answers, total, out=even, where=total > 0), np.float64)

    @maps_streams
    def predict(self, X: Any) -> Any:
        """Return the class with the largest answer."""
        answers = self._answers(X)
        return self.classes_[self._winners(answers)]

    @staticmethod
    def _winners(answers: Float64s) -> Any:
        if answers.shape[1] == 1:
            return (answers[:, 0] > 0.5).astype(int)
        return answers.argmax(axis=1)

    def _check(self) -> None:
        super()._check()
        check_choice(self.loss, "loss", ("log_loss", "squared_error"))

    def _output(self) -> str:
        if self.loss == "squared_error":
            return "logistic_squared"
        return "logistic" if len(self.classes_) == 2 else "softmax"

    def _targets(self, codes: Any) -> Float64s:
        """Return 1 for a row's own class and 0 for others; of two classes, one column."""
        if len(self.classes_) == 2:
            return np.asarray(codes == 1, np.float64)[:, None]
        return np.asarray(np.eye(len(self.classes_))[codes], np.float64)

    def _stratify(self, targets: Float64s) -> Any:
        return targets[:, 0] if targets.shape[1] == 1 else None

    def _validation_score(self, answers: Float64s, targets: Float64s, weights: Float64s) -> float:
        found, right = self._winners(answers), self._winners(targets)
        return float(accuracy_score(right, found, sample_weight=weights))


class MultilayerPerceptronRegressor(Regressing, Backpropagating):
    """Layers of units that learn numbers by backpropagation [BACKPROP].

    As ``MultilayerPerceptron``, with a linear last layer and half the squared error, summed over
    the targets: delta = d - y there. scikit-learn's ``MLPRegressor`` takes the same steps, and
    divides the loss that it reports by the number of targets.

    Parameters and attributes are those of ``MultilayerPerceptron``, but for ``loss`` and
    ``classes_``.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream import MultilayerPerceptronRegressor
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> net = MultilayerPerceptronRegressor(schedule=0.05, max_iter=500, random_state=0)
    >>> bool(net.fit(X, np.sin(3 * X[:, 0])).score(X, np.sin(3 * X[:, 0])) > 0.99)
    True
    """

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
        super().__init__(
            hidden_layer_sizes,
            activation,
            batch_size,
            schedule,
            momentum,
            nesterovs_momentum,
            max_iter,
            shuffle,
            tol,
            n_iter_no_change,
            early_stopping,
            validation_fraction,
            history_every,
            random_state,
        )

    @fits_streams
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from passes over the rows until their loss falls no longer.

        Parameters
        ----------
        X : array-like of shape (n, D), or a stream
        y : array-like of shape (n,) or (n, targets); not with a stream that has labels
        sample_weight : array-like of shape (n,), optional
            A row of weight c takes steps c times as long.
        """
        with unchanged_on_error(self):
            self._note_parameters()
            self._epochs(*self._first(X, y, sample_weight))
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Go on learning with one pass over a chunk, in its order; any chunking gives the same.

        Rows short of a batch wait for the next chunk; what is read has learned them as a smaller
        batch.
        """
        with unchanged_on_error(self):
            first = self._begin()
            self._chunk(*self._next(X, y, sample_weight, first), first)
        return self

    @maps_streams
    def predict(self, X: Any) -> Float64s:
        """Return what the last layer answers to the rows."""
        return np.asarray(self._shaped(self._answers(X)), np.float64)

    def _output(self) -> str:
        return "identity"

    def _validation_score(self, answers: Float64s, targets: Float64s, weights: Float64s) -> float:
        return float(r2_score(targets, answers, sample_weight=weights))
