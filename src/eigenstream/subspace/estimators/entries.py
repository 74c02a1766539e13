"""Constraints and documentation of parameters that several estimators have."""

from sklearn.utils._param_validation import Options, StrOptions

from eigenstream._documented import documented_by

FLAG = Options(bool, {True, False})
CRITERION = StrOptions({"difference", "ratio"})

#: The default number of components. Rows of one feature have one component.
DEFAULT = 2

#: The entries of a "Parameters" section, by the parameter's name.
ENTRIES = {
    "solver": """\
solver : {"auto", "dense", "sketch", "krylov", "flow", "kernel"} or an object, default="auto"
    "dense" stores D x D matrices. It is exact and supports all parameters. "sketch" reads the rows
    once and stores a few times n_components vectors. It is accurate on long stationary streams;
    ratios and alpha="auto" of time series need ``Sketch(passes=2)``.
    "krylov" reads the rows several times and forms no matrix. "flow" learns online by the
    Oja-Karhunen flow. "kernel" is exact in the space of a kernel. "auto" uses "dense" if the
    matrices fit in memory, else "krylov" if the rows can be read again, else "sketch". A solver
    object has further parameters, such as ``Sketch(oversampling=4)``.""",
    "features": """\
features : transformer, optional
    A map to apply first, such as RBFNetwork. ``features_`` is a clone that is fitted to all rows.
    ``partial_fit`` buffers rows until the map has seen ``n_rows_needed_`` rows. Pass a fitted map
    as ``sklearn.frozen.FrozenEstimator(map)``.""",
    "missing": """\
missing : {"raise", "skip"}, default="raise"
    "skip" leaves out rows, and pairs of rows, with NaN or infinity. It warns if that affects
    10 % of the rows or more.""",
    "missing_in_time": """\
missing : {"raise", "skip", "available"}, default="raise"
    "skip" leaves out rows with NaN or infinity, and the velocities that contain them. It raises if
    this takes more than a tenth of the rows and leaves fewer than 10 for each column. "available"
    sums each pair of columns over the rows that have both, and repairs the matrices. ``transform``
    then predicts the missing values of a row from its other values. It needs the dense solver.""",
    "components_of_pairs": """\
n_components : int, "auto" or None, default="auto"
    The largest number of components. For "ratio", "auto" selects it on held-out classes or pairs,
    and None keeps all directions. For "difference", "auto" is 2 (1 if there is only one feature).
    Only directions with a positive eigenvalue are returned there, with a warning if there are fewer
    than n_components. None returns all of them.""",
    "criterion_of_pairs": """\
criterion : {"ratio", "difference"}, default="ratio"
    "ratio" weighs the discriminants of linear discriminant analysis for distances, between raw
    distance and discriminant analysis. "difference" maximises the difference of the two scatters
    (Maurer 2006), with orthonormal components and risk bounds. "ratio" ignores eta.""",
    "shrinkage": """\
shrinkage : float in [0, 1] or "auto", default="auto"
    For "ratio": the share of the covariance within classes that a multiple of the identity
    replaces. With 1, discriminants are principal axes of the class means. With 0, directions of no
    variance within classes are excluded. "auto" compares 7 values on held-out classes or pairs.
    "difference" ignores it.""",
    "mixing": """\
mixing : float in [0, 1] or "auto", default="auto"
    For "ratio": the share of the covariance between classes that the covariance within them
    replaces. With 0, only discriminants count. With 1, all directions count alike: raw distance at
    shrinkage 1. "auto" compares 0, 0.1, 0.3 and 1. It is 0 for an integer n_components of at most
    the number of discriminants, and compares the other values for a larger one.
    "difference" ignores it.""",
}

documented = documented_by(ENTRIES)
