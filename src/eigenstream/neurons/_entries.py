"""Parameters and attributes that several neurons document in the same words."""

from eigenstream._documented import documented_by

#: The entries of "Parameters" and "Attributes" sections that several neurons share, by name.
ENTRIES = {
    "center": """\
center : bool, default=True
    Subtract from each row the mean of the rows before it.""",
    "fit_intercept": """\
fit_intercept : bool, default=True
    Learn an intercept.""",
    "init": """\
init : "random", "data" or array of shape (n_components, n_features), default="random"
    The initial weights: random directions, the first rows, or given weights.""",
    "learning_rate_of_adaline": """\
learning_rate : number, schedule or function of the step, default=0.1
    The learning rate lr.""",
    "activation": """\
activation : {"tanh", "logistic", "relu"}, default="tanh"
    The activation function phi of the hidden units.""",
    "batch_size": """\
batch_size : int, default=1
    The number of rows in a step. ``partial_fit`` keeps the rows after the last whole batch for the
    next chunk. Until then, predictions use them as a smaller batch.""",
    "hidden_layer_sizes": """\
hidden_layer_sizes : int or tuple of int, default=(32,)
    The number of units of each hidden layer.""",
    "learning_rate": """\
learning_rate : number, schedule or function of the step, default=0.01
    The learning rate lr.""",
    "max_iter": """\
max_iter : int, default=200
    The largest number of passes of ``fit``.""",
    "momentum": """\
momentum : float, default=0.0
    The share of the previous step that is added to a step, in Nesterov's form.""",
    "n_iter_no_change": """\
n_iter_no_change : int, default=10
    ``fit`` ends after more than this number of consecutive passes without progress.""",
    "tol": """\
tol : float, default=1e-4
    A pass makes progress if it improves the best loss by this amount.""",
    "coefs_": """\
coefs_ : list of arrays of shape (n_inputs, n_units)
    The weights from each layer to the next.""",
    "intercepts_": """\
intercepts_ : list of arrays of shape (n_units,)
    The intercepts of each layer after the first.""",
    "loss_": """\
loss_ : float
    The last entry of ``loss_curve_``.""",
    "n_layers_": """\
n_layers_ : int
    The number of layers, with the inputs.""",
    "n_outputs_": """\
n_outputs_ : int
    The number of units of the last layer.""",
    "max_iter_of_hebbian": """\
max_iter : int, default=10
    The largest number of passes of ``fit``.""",
    "max_iter_of_linear": """\
max_iter : int, default=1000
    The largest number of passes of ``fit``.""",
    "n_iter_no_change_of_adaline": """\
n_iter_no_change : int, default=5
    ``fit`` ends after this number of passes without progress.""",
    "random_state": """\
random_state : int, RandomState or None, default=None
    The seed of all random choices.""",
    "record_every": """\
record_every : int, default=None
    Record the weights in ``history_`` every ``record_every`` steps.""",
    "rule_of_adaline": """\
rule : {"nlms", "lms"}, default="nlms"
    "nlms" is normalised least mean squares, w += lr e x / |x|^2. It is stable for rates below 2. A
    step with rate 1 makes the error of its row zero. |x|^2 includes the 1 of the intercept. "lms"
    is w += lr e x.""",
    "shuffle": """\
shuffle : bool, default=True
    Draw a new order of the rows for each pass of ``fit``.""",
    "tol_of_adaline": """\
tol : float, default=1e-3
    A pass makes progress if it lowers the mean squared error by more than this share.""",
    "tol_of_hebbian": """\
tol : float, default=1e-2
    ``fit`` ends if a pass changes the weights by at most this share of their norm.""",
    "classes_": """\
classes_ : array of shape (n_classes,)
    The class labels, sorted.""",
    "converged_": """\
converged_ : bool
    True if the last pass, or chunk, met the condition of convergence.""",
    "history_": """\
history_ : History
    The recorded weights, and the loss of each pass or chunk if the rule has one.""",
    "loss_curve_": """\
loss_curve_ : list of float
    The mean loss of each pass or chunk, measured before each step.""",
    "mean_": """\
mean_ : array of shape (n_features,)
    The mean that is subtracted from each row. Zeros with ``center=False``.""",
    "n_iter_": """\
n_iter_ : int
    The number of passes, or of chunks after ``partial_fit``.""",
    "n_steps_": """\
n_steps_ : int
    The number of learning steps.""",
    "rate_limit_": """\
rate_limit_ : float
    2 / the largest eigenvalue of the mean of x x^T over the rows of ``fit``. With "nlms", of the
    mean of x x^T / |x|^2. Larger constant rates make the mean weight diverge.""",
    "safe_rate_": """\
safe_rate_ : float
    2 / the largest |x|^2, or 2 with "nlms". Up to this rate, no step increases the distance to
    weights that fit its row.""",
}

documented = documented_by(ENTRIES)
