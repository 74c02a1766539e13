"""What parameters that several neurons share mean."""

from eigenstream._documented import documented_by

__all__ = ["documented"]

#: The entries of a "Parameters" or "Attributes" section, by the parameter's name.
ENTRIES = {
    "hebbian": """\
center : bool, default=True
    Centre each observation by the mean of those before it.
init : "random", "data" or array of shape (units, n_features), default="random"
max_iter : int, default=10
    Passes over the data in ``fit``, at most.
tol : float, default=1e-2
    Relative change of the weights in a pass (or in a ``partial_fit``) that counts as none.
history_every : int, optional
    Keep ``(step, weights)`` in ``history_`` every so many steps.
random_state : int, RandomState or None""",
    "fit_intercept": "fit_intercept : bool, default=True",
    "max_iter": """\
max_iter : int, default=1000
    Passes over the data in ``fit``, at most.""",
    "shuffle": """\
shuffle : bool, default=True
    Draw the order of the rows anew for each pass of ``fit``.""",
    "history": """\
history_every : int, optional
    Keep ``(step, weights, intercepts)`` in ``history_`` every so many rows.
random_state : int, RandomState or None""",
    "adaline": """\
schedule : number, a schedule of ``eigenstream.schedules``, or a function of the step number
    Learning rates eta; default 0.1.
normalize : bool, default=True
    Widrow and Hoff's w += eta e x / |x|^2: a step with eta = 1 makes its own error zero, and
    any eta below 2 is stable. False: w += eta e x, plain LMS. |x|^2 counts the intercept's 1.
fit_intercept : bool, default=True
max_iter : int, default=1000
    Passes over the data in ``fit``, at most.
tol : float, default=1e-3
    A pass whose mean squared error is not below the best one by this share is no progress.
n_iter_no_change : int, default=5
    So many passes without progress end the fit.""",
    "rates": """\
rate_limit_ : float
    2 / the largest eigenvalue of the mean of x x^T (of x x^T / |x|^2 if normalised) over the
    rows of ``fit``: with a larger constant rate the mean weight diverges when rows are drawn
    independently.
safe_rate_ : float
    2 / the largest |x|^2 (2 if normalised): up to here no step takes the weights farther from
    any that fit its row, so that nothing diverges in any order.
loss_curve_ : list of float
    Mean squared error of each pass (or chunk), measured before each step.
converged_, n_iter_, n_steps_, history_""",
    "layers": """\
hidden_layer_sizes : int or tuple of int, default=(32,)
    Units of each hidden layer.
activation : {"tanh", "logistic", "relu"}, default="tanh"
    Of the hidden units.""",
    "backpropagation": """\
batch_size : int, default=1
    Examples a step: 1 is the sequential mode of the textbook, in a compiled loop. In
    ``partial_fit`` rows short of a batch wait for the next chunk; what is read has learned
    them as a smaller batch.
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
    the same integer gives the same start and the same order there.""",
    "network": """\
coefs_, intercepts_ : lists of arrays
    From each layer to the next; (inputs, units) and (units,).
loss_curve_ : list of float
    Mean loss of each pass (or chunk), measured before each step; ``loss_`` is the last.
validation_scores_, best_validation_score_
    With early stopping.
converged_, n_iter_, n_steps_, n_layers_, n_outputs_, history_""",
}

#: Put these where a class's docstring names them, as <a, b>.
documented = documented_by(ENTRIES)
