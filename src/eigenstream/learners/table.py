"""The one table of ways to learn: what ``solver=`` calls each, and why one of them refuses."""

from eigenstream.learners.base import Learner
from eigenstream.learners.pairs import (
    LabelsFromScatters,
    LabelsInDual,
    LabelsMatrixFree,
    LabelsOnline,
    LabelsSketched,
    PairsFromScatters,
    PairsInDual,
    PairsMatrixFree,
    PairsOnline,
    PairsSketched,
)
from eigenstream.learners.sketch import SketchPlan
from eigenstream.learners.temporal import FromScatters, MatrixFree, OnlineFlow, Sketched
from eigenstream.solvers.base import fits_dense

__all__ = ["WAYS", "able", "chosen", "goes_on_with", "names", "readers", "require", "special"]

#: By what the data are and by the name that ``solver=`` gives it, every way to learn.
WAYS: dict[str, dict[str, type[Learner]]] = {
    "time": {
        "dense": FromScatters,
        "krylov": MatrixFree,
        "flow": OnlineFlow,
        "sketch": Sketched,
    },
    "pairs": {
        "dense": PairsFromScatters,
        "krylov": PairsMatrixFree,
        "dual": PairsInDual,
        "flow": PairsOnline,
        "sketch": PairsSketched,
    },
    "labels": {
        "dense": LabelsFromScatters,
        "krylov": LabelsMatrixFree,
        "dual": LabelsInDual,
        "flow": LabelsOnline,
        "sketch": LabelsSketched,
    },
}

#: Why a learner without an ability refuses.
LACKS = {
    "goes_on": "reads the data many times and cannot learn chunk by chunk",
    "scatters": "never forms the scatters",
    "ratios": "never forms the scatters",
    "own_weights": "needs a given weight",
    "merges": "keeps nothing that adds up",
    "any_number": "finds a fixed number of directions",
    "all_positive": "finds a fixed number of directions",
    "any_shares": "takes a step for each couple of a negative and a positive pair",
    "kernels": "works with the rows themselves",
    "more_passes": "finds nothing better in a further pass",
}


def names(data: str) -> tuple[str, ...]:
    """Return what ``solver=`` may be.

    >>> names("time")
    ('auto', 'dense', 'krylov', 'flow', 'sketch')
    """
    return ("auto", *WAYS[data])


def readers(data: str, parameter: str) -> tuple[str, ...]:
    """Return the values of ``solver=`` with which a parameter is read.

    >>> readers("time", "schedule"), readers("time", "scale")
    (('flow',), ('auto', 'dense'))
    """
    found = tuple(name for name, way in WAYS[data].items() if parameter in way.reads)
    return ("auto", *found) if "dense" in found else found


def special(data: str) -> tuple[str, ...]:
    """Return the parameters that some ways read and others do not."""
    return tuple(dict.fromkeys(name for way in WAYS[data].values() for name in way.reads))


def chosen(
    data: str,
    solver: str,
    n_features: int,
    n_rows: int | None,
    scatters: str = "",
    *,
    sketch: SketchPlan | None = None,
    passes: int = 1,
) -> str:
    """Return the name of the way to learn from so many rows; None is a stream without an end.

    ``scatters`` names what only scatters can give, if that is asked for. ``sketch`` is what a
    sketch would do, where one can answer the question.

    >>> chosen("time", "auto", 784, 30_000), chosen("time", "auto", 100_000, 30_000)
    ('dense', 'krylov')
    >>> chosen("time", "auto", 784, None), chosen("time", "auto", 100_000, None)
    ('dense', 'sketch')
    >>> plan = SketchPlan(10, (0.3, 0.7), lag=1)
    >>> [chosen("time", "auto", 100_000, n, sketch=plan) for n in (30_000, 3_000_000)]
    ['krylov', 'sketch']
    """
    if solver != "auto":
        return solver
    fits = fits_dense(n_features)
    if fits and (scatters or n_rows is None):
        return "dense"
    if scatters:
        raise ValueError(
            f"{scatters} needs matrices of {n_features} x {n_features}, which do not fit in this "
            "machine's memory. Reduce the features first, or do without. For alpha='auto', pass "
            "the alpha_ of a fit on a random subset of the columns."
        )
    if n_rows is None:
        return "sketch"
    if not fits and sketch is not None:
        # Only a sketch comes nearer with every pass, or finds as many directions as gain.
        alone = passes > 1 or sketch.n_components is None
        quicker = sketch.cost(n_rows, n_features) < WAYS[data]["krylov"].cost(n_rows, n_features)
        if alone or (quicker and sketch.promises(n_rows, n_features)):
            return "sketch"
    exact = ("dense", "krylov") if fits else ("krylov",)
    return min(exact, key=lambda name: WAYS[data][name].cost(n_rows, n_features))


def in_kernel(data: str, solver: str) -> str:
    """Return the name of the way to learn in the space of a kernel.

    >>> in_kernel("pairs", "auto"), in_kernel("pairs", "dense")  # which will be refused
    ('dual', 'dense')
    """
    if solver != "auto":
        return solver
    return next(name for name, way in WAYS[data].items() if way.abilities.kernels)


def goes_on_with(data: str, solver: str) -> tuple[type[Learner], ...]:
    """Return the kinds of learner that ``partial_fit`` may go on with."""
    names = ("dense", "sketch") if solver == "auto" else (solver,)
    return tuple(WAYS[data][name] for name in names if name in WAYS[data])


def able(data: str, solver: str, ability: str) -> bool:
    """Tell whether a way of learning can do something.

    >>> able("time", "dense", "merges"), able("time", "auto", "merges")
    (True, False)
    """
    way = WAYS[data].get(solver)
    return way is not None and bool(getattr(way.abilities, ability))


def require(data: str, solver: str, ability: str, what: str, remedy: str = "") -> None:
    """Refuse what a way of learning cannot do; name those that can.

    >>> require("time", "krylov", "goes_on", "partial_fit")
    Traceback (most recent call last):
        ...
    ValueError: partial_fit is not for solver='krylov', which reads the data many times and cannot
    learn chunk by chunk. Use solver='dense' or 'flow' or 'sketch'.
    """
    if solver not in WAYS[data] or able(data, solver, ability):
        return
    others = [repr(name) for name in WAYS[data] if able(data, name, ability)]
    use = f"se solver={' or '.join(others)}"
    raise ValueError(
        f"{what} is not for solver={solver!r}, which {LACKS[ability]}. "
        f"{f'{remedy}, or u{use}' if remedy else f'U{use}'}."
    )
