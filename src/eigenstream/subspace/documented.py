"""What parameters that several estimators share mean."""

from eigenstream._documented import documented_by

#: The entries of a "Parameters" section, by the parameter's name.
ENTRIES = {
    "solver": """\
solver : {"auto", "dense", "sketch", "krylov", "flow", "kernel"} or an object, default="auto"
    An object holds parameters of its own, such as ``Sketch(oversampling=4)``. "dense" keeps D x D
    matrices: exact, and it alone answers every question. "sketch" reads once and keeps a few times
    n_components vectors: near the best answer on long streams that stay as they are. "krylov"
    reads the rows again and again, and forms no matrix. "flow" learns online by the Oja-Karhunen
    flow. "auto" takes "dense" where matrices fit in memory; beyond, "krylov" for rows that can be
    read again, else "sketch".""",
    "features": """\
features : transformer, optional
    A map to apply first, such as RBFNetwork; ``features_`` is a clone that has learned from all
    rows. In ``partial_fit`` rows wait until it has seen ``n_rows_needed_`` rows. A fitted map is
    passed as ``sklearn.frozen.FrozenEstimator(map)``.""",
    "missing": """\
missing : {"raise", "skip"}, default="raise"
    "skip" leaves out rows, and pairs of rows, with NaN or infinity. It warns from 10 % on.""",
    "components_of_pairs": """\
n_components : int or None, default=2
    At most so many directions (1 where there is one feature only). Only directions with a positive
    eigenvalue are returned, with a warning when they are fewer; None takes all of these.""",
    "criterion_of_pairs": """\
criterion : {"difference", "ratio"}, default="difference"
    "ratio" maximises the quotient of the two scatters instead, as linear discriminants do; its
    components are scaled to a mean square of 1 over like pairs. Then eta is not used.""",
    "shrinkage": """\
shrinkage : float in (0, 1] or "auto", default="auto"
    For "ratio": how much of the like pairs' scatter is replaced by a multiple of the identity.
    "auto" leaves out the directions in which it vanishes up to rounding.""",
}

documented = documented_by(ENTRIES)
