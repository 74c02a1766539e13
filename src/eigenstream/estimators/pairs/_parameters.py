"""The parameters that learning from pairs and from labels has in common, and their checks."""

from numbers import Real
from typing import Any

import numpy as np

from eigenstream._checks import check_choice, check_number, check_whole
from eigenstream.learners import table
from eigenstream.learners.pairs import (
    ETAS,
    LabelledRows,
    Pairs,
    farthest_from,
    longest_difference,
    plain,
)


def check_pair_parameters(given: Any) -> None:
    """Refuse parameters of an estimator that make no sense, whatever the solver."""
    check_choice(given.criterion, "criterion", ("difference", "ratio"))
    check_choice(given.kernel, "kernel", ("linear", "rbf", "precomputed"))
    if given.n_components is not None:
        check_whole(given.n_components, "n_components")
    if given.gamma is not None:
        check_number(given.gamma, "gamma", above=0)
    if given.shrinkage is not None:
        check_number(given.shrinkage, "shrinkage", above=0, most=1)
    if given.margin is not None:
        check_margin(given.margin, given.eta)
    if given.diameter is not None:
        check_number(given.diameter, "diameter", above=0)
        if given.kernel == "rbf":
            raise ValueError(
                f"diameter={given.diameter!r} is for rows, and in the space of kernel='rbf' no "
                "two are farther apart than sqrt(2): leave it out."
            )
    _check_eta(given.eta)
    if given.kernel != "linear" and given.features is not None:
        raise ValueError(
            f"kernel={given.kernel!r} maps the rows, and so do features: use kernel='linear' "
            "behind features, or no features."
        )


def _check_eta(eta: Any) -> None:
    if isinstance(eta, str):
        check_choice(eta, "eta (where not a positive number)", ("auto", "margin_risk"))
        return
    for one in etas_of(eta):
        if isinstance(one, Real) and one < 0:
            raise ValueError(
                f"eta (the weight of negative pairs, as a size) must be a number in "
                f"(0, inf), got {one!r}. The signs are understood: use eta={-one!r}."
            )
        check_number(one, "eta (the weight of negative pairs, as a size)", above=0)


def etas_of(eta: Any) -> list[Any]:
    """Return the weights that a number or a list of them names.

    >>> etas_of(2.0), len(etas_of("auto"))
    ([2.0], 12)
    """
    if isinstance(eta, str):
        return list(ETAS)
    values = list(eta) if np.ndim(eta) else [eta]
    if not values:
        raise ValueError("eta is an empty list; give at least one positive number, or 'auto'.")
    return values


def check_margin(margin: Any, eta: Any) -> None:
    """Refuse what is no threshold with a margin, or comes beside another choice of weights."""
    try:
        c, gamma = margin
    except (TypeError, ValueError):
        raise ValueError(
            f"margin must be two numbers, a threshold c and a margin gamma, got {margin!r}."
        ) from None
    check_number(c, "margin[0] (the threshold c)", above=0, below=1)
    check_number(gamma, "margin[1] (gamma)", above=0, below=1)
    if not (isinstance(eta, str) and eta == "auto"):
        raise ValueError("eta and margin both fix the weights: leave one of them out.")


def chosen_way(estimator: Any, width: int = 1, n_rows: int | None = None) -> str:
    """Return the name of the way to learn from so many rows; None is a stream."""
    if estimator.kernel != "linear":
        return table.in_kernel(estimator.DATA, estimator.solver)
    scatters = "scale=True" if estimator.scale else ""
    return table.chosen(estimator.DATA, estimator.solver, width, n_rows, scatters)


def check_able(data: str, given: Any, solver: str, *, searches: bool) -> None:
    """Refuse what a way of learning cannot do for the parameters of an estimator."""
    if given.kernel != "linear":
        behind = "Use kernel='linear' behind features=RBFNetwork(...)"
        table.require(data, solver, "kernels", f"kernel={given.kernel!r}", behind)
    if given.criterion == "ratio":
        table.require(data, solver, "ratios", "criterion='ratio'")
    if searches:
        what = f"eta={given.eta!r}, which compares subspaces,"
        table.require(data, solver, "own_weights", what, "Give eta as a number")
    if not given.balanced:
        table.require(data, solver, "any_shares", "balanced=False")
    if given.n_components is None:
        table.require(data, solver, "all_positive", "n_components=None", "Give a whole number")


def check_diameter(given: float | None, apart: float) -> None:
    """Refuse a diameter that two rows so far apart disprove.

    >>> check_diameter(1.0, 2.0)
    Traceback (most recent call last):
        ...
    ValueError: diameter=1 is to bound the distance of any two rows, but two of these are 2 apart.
    """
    if given is not None and apart > given * (1 + 1e-9):
        raise ValueError(
            f"diameter={given:g} is to bound the distance of any two rows, but two of these are "
            f"{apart:g} apart."
        )


def check_pairs_apart(given: float, pairs: Pairs) -> None:
    """Refuse a diameter that the members of a pair disprove, or two points that pairs refer to."""
    if pairs.index is None:
        check_diameter(given, longest_difference(pairs.weighing))
    else:
        check_rows_apart(given, LabelledRows(pairs.points, None))


def check_rows_apart(given: float, rows: LabelledRows, first: Any = None) -> Any:
    """Refuse a diameter that a row disproves by its distance from the first of all; return that."""
    some = rows.weighing
    if first is None and len(some):
        first = plain(some.rows[:1])[0]
    if len(some):
        check_diameter(given, farthest_from(some.rows, first))
    return first
