"""What parameters that several estimators share mean."""

from eigenstream._documented import documented_by

__all__ = ["documented"]

#: The entries of a "Parameters" section, by the parameter's name.
ENTRIES = {
    "features": """\
features : transformer, optional
    A map to apply first, such as RBFNetwork. ``fit`` fits a clone of it (``features_``) on all
    the rows. ``partial_fit`` lets it collect the first rows of the stream until it is ready,
    and learns from the rows after those: a map that does not say how many it still needs, by
    ``n_rows_needed_``, is refused there. One that is fitted already goes in as
    ``sklearn.frozen.FrozenEstimator(map)``.""",
    "components_of_pairs": """\
n_components : int or None, default=2
    At most so many (1 where there is one feature only); only directions with a positive
    eigenvalue are ever returned (with a warning when they are fewer), and None takes all of
    these. From labels, with eta small, there are at most K - 1 of them for K classes.""",
    "margin": """\
margin : (c, gamma), optional
    Weights from a threshold and a margin, min(1/(1-c^2), 1/gamma) and min(1/c^2, 1/gamma); c is
    in units of ``diameter_``, and gamma in those of its square.""",
    "balanced": """\
balanced : bool, default=True
    Either kind of pair has the total weight 1/2; else each pair counts the same.""",
    "criterion_of_pairs": """\
criterion : {"difference", "ratio"}, default="difference"
    "ratio" maximises the quotient of the two scatters instead, as linear discriminants do; its
    components are scaled to a mean square of 1 over same pairs. Then eta plays no part.""",
    "shrinkage": """\
shrinkage : float in (0, 1], optional
    For "ratio": how much of the same pairs' scatter is replaced by a multiple of the identity.
    By default directions in which it vanishes up to rounding are cut.""",
    "kernel": """\
kernel : {"linear", "rbf", "precomputed"}, default="linear"
    "rbf" solves in the kernel's own space exactly, for up to about 10^4 rows: the kernel is
    exp(-gamma |x - y|^2). For more rows use ``features=RBFNetwork(...)``.
gamma : float, optional
    By default 0.7 over the median squared distance of the rows.""",
    "diameter": """\
diameter : float, optional
    What no two rows can be farther apart than: the unit of margins and of ``bound``. By default
    a bound for the data learned from.""",
    "missing": """\
missing : {"raise", "skip"}, default="raise"
    "skip" leaves out rows, and pairs of rows, with NaN or infinity.""",
    "schedule": """\
schedule : "auto", a schedule of ``eigenstream.schedules`` or a function, default="auto"
    How large the steps of "flow" are. "auto" asks for no choice and does not depend on
    the scale; what it reaches, and where it does not, is a table in docs/online.md.""",
    "init": """\
init : {"data", "random"} or array of shape (n_components, n_features), default="data"
    Where "flow" starts: at the first observations, orthonormalised, by default.""",
    "forgetting": """\
forgetting : float in (0, 1), optional
    For streams that drift, with "flow" or "sketch": the share by which the past loses weight at
    each step.""",
    "block_size": """\
block_size : int, optional
    How many rows "flow" and "sketch" take together, or couples of pairs "sketch" alone; chosen by
    default.""",
    "oversampling": """\
oversampling : float, optional
    How many directions "sketch" keeps, of the largest and of the most negative ones each, in units
    of n_components; chosen by default, about 3.""",
    "hook": """\
hook : callable, optional
    Called with the progress of "flow" every 1000 steps, or every ``hook.every``; a true
    answer ends the call. See ``eigenstream.learners.online.FlowMonitor``.""",
    "random_state": """\
random_state : int, RandomState or None, default=None
    For what is drawn at random: the start of "flow", where the data do not determine it.""",
}


#: Put these where a class's docstring names them, as <a, b>.
documented = documented_by(ENTRIES)
