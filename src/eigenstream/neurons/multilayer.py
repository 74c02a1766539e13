"""The multilayer perceptron: layers of units that learn by backpropagation of errors."""

from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, r2_score

from eigenstream._checks import check_choice
from eigenstream._linalg import Float64s
from eigenstream._storable import storable
from eigenstream._streams import maps_streams
from eigenstream.neurons._backpropagating import Backpropagating
from eigenstream.neurons._documented import documented
from eigenstream.neurons._supervised import Classifying, Regressing
from eigenstream.rules.supervised import OUTPUTS

__all__ = ["MultilayerPerceptron", "MultilayerPerceptronRegressor"]


@storable()
@documented
class MultilayerPerceptron(Classifying, Backpropagating):
    """Layers of units that learn classes by backpropagation [BACKPROP].

    Unit j answers y_j = phi(v_j), v_j = sum_i w_ji y_i. A step is dw_ji = eta delta_j y_i with the
    local gradients delta_j = phi'(v_j) sum_k delta_k w_kj of hidden units, and delta = d - y in the
    last layer. Every step is the textbook's; the parameters are named as in scikit-learn's
    ``MLPClassifier`` where they mean the same, and with ``solver="sgd"``, ``alpha=0`` and the same
    ``random_state`` its weights are these.

    Parameters
    ----------
    <layers>
    loss : {"log_loss", "squared_error"}, default="log_loss"
        "log_loss": the last layer answers with shares (softmax; one logistic unit for two classes).
        "squared_error": with logistic units, and delta = (d - y) phi'(v), as older textbooks do.
    <backpropagation>

    Attributes
    ----------
    classes_ : array
    <network>

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
            batch_size=batch_size,
            schedule=schedule,
            momentum=momentum,
            nesterovs_momentum=nesterovs_momentum,
            max_iter=max_iter,
            shuffle=shuffle,
            tol=tol,
            n_iter_no_change=n_iter_no_change,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            history_every=history_every,
            random_state=random_state,
        )
        self.loss = loss

    @maps_streams
    def predict_proba(self, X: Any) -> Float64s:
        """Return the shares of the classes, in the order of ``classes_``.

        With ``loss="squared_error"`` the answers of the units, divided by their sum.
        """
        answers = self._answers(X)
        if answers.shape[1] == 1:
            answers = np.hstack([1.0 - answers, answers])
        elif OUTPUTS[self._net.output] == "logistic_squared":
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


@storable()
@documented
class MultilayerPerceptronRegressor(Regressing, Backpropagating):
    """Layers of units that learn numbers by backpropagation [BACKPROP].

    Unit j of a hidden layer answers y_j = phi(v_j), v_j = sum_i w_ji y_i; the last layer is linear,
    and the loss half the squared error, summed over the targets. A step is dw_ji = eta delta_j y_i
    with delta = d - y in the last layer and the local gradients delta_j = phi'(v_j) sum_k delta_k
    w_kj of hidden units. scikit-learn's ``MLPRegressor`` takes the same steps, and divides the loss
    that it reports by the number of targets.

    Parameters
    ----------
    <layers, backpropagation>

    Attributes
    ----------
    <network>

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
        """Return what the last layer answers to the rows."""
        return np.asarray(self._shaped(self._answers(X)), np.float64)

    def _output(self) -> str:
        return "identity"

    def _validation_score(self, answers: Float64s, targets: Float64s, weights: Float64s) -> float:
        return float(r2_score(targets, answers, sample_weight=weights))
