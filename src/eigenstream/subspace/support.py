"""The one table of what each solver can answer."""

from collections.abc import Callable
from typing import Any, NamedTuple

from eigenstream.subspace.solvers import SOLVERS, Solver


class Ask(NamedTuple):
    """A question that parameters put to a solver, and the ability that it takes."""

    words: Callable[[Any], str]
    asked: Callable[[Any], bool]
    ability: str


def _difference(estimator: Any) -> bool:
    return bool(getattr(estimator, "criterion", "difference") == "difference")


ASKS = (
    Ask(
        lambda e: "criterion='ratio'",
        lambda e: not _difference(e),
        "ratios",
    ),
    Ask(
        lambda e: "alpha='auto'",
        lambda e: getattr(e, "alpha", 0) == "auto" and _difference(e),
        "weights",
    ),
    Ask(lambda e: "alpha='bound'", lambda e: getattr(e, "alpha", 0) == "bound", "matrices"),
    Ask(
        lambda e: f"eta={e.eta!r}",
        lambda e: not isinstance(getattr(e, "eta", 1.0), int | float) and _difference(e),
        "weights",
    ),
    Ask(lambda e: "scale=True", lambda e: bool(getattr(e, "scale", False)), "matrices"),
    Ask(
        lambda e: f"n_components={e.n_components!r}",
        lambda e: e.n_components is None or isinstance(e.n_components, float),
        "all",
    ),
)

#: Why a solver lacks an ability.
LACKS = {
    "continues": "reads all rows at once and keeps no sums",
    "merges": "keeps no sums that add up",
    "weights": "learns at one given weight",
    "ratios": "never forms both matrices",
    "matrices": "never forms both matrices",
    "all": "finds a given number of directions",
    "passes": "reads the rows as often as it needs",
}


def chosen(estimator: Any, n_features: int, n_rows: int | None, *calls: tuple[str, str]) -> Solver:
    """Return the solver for so many rows (None: they are read once); reject what it cannot do.

    ``calls`` are further questions, such as ("partial_fit", "continues").
    """
    asks = [(ask.words(estimator), ask.ability) for ask in ASKS if ask.asked(estimator)]
    asks += calls
    given = estimator.solver
    if isinstance(given, str) and given == "auto":
        for solver in (kind() for kind in SOLVERS.values()):
            if all(ability in solver.can for _, ability in asks) and solver.fits(
                n_features, n_rows
            ):
                return solver
        raise ValueError(
            f"{asks[0][0] if asks else 'solver=auto'} needs matrices of {n_features} x "
            f"{n_features}, which do not fit in memory. {_remedy(asks)}"
        )
    solver = SOLVERS[given]() if isinstance(given, str) else given
    solver._validate_params()
    for words, ability in asks:
        if ability not in solver.can:
            able = [repr(name) for name, kind in SOLVERS.items() if ability in kind.can]
            raise ValueError(
                f"{words} is not for solver={solver.name!r}, which {LACKS[ability]}. "
                f"Use solver={' or '.join(able)}{_number(ability, words)}."
            )
    return solver


def _number(ability: str, words: str) -> str:
    if ability == "weights":
        return f", or give {words.split('=')[0]} as a number"
    return ", or a whole number" if ability == "all" else ""


def _remedy(asks: list[tuple[str, str]]) -> str:
    if any(ability == "weights" for _, ability in asks):
        return "Give the weight as a number, such as that of a fit to a random subset of columns."
    return "Use fewer columns."
