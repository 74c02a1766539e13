"""``eigenstream research``: error bounds, and learning rates with their plateaus."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from eigenstream.cli._commands import Group, command
from eigenstream.cli._options import Json
from eigenstream.cli._output import say

#: The default probability of failing.
DELTA = 0.05

SLOW = "--d 3 --m 1000000 --mixing geometric:1,0.9"
PROTOTYPES = "--separation 2 --n-features 99 --learning-rate 0.5"
COMPONENTS = "--eigenvalues 4,2 --n-features 99 --learning-rate 0.1"


def group(text: str, example: str) -> typer.Typer:
    """Return a group of commands with an example."""
    return typer.Typer(cls=Group, help=text, epilog=f"Example: eigenstream research {example}")


app = group("Predictions of the theory: error bounds and learning rates.", f"bound slow {SLOW}")
bound = group("How much data is enough? Bounds of the theory.", f"bound slow {SLOW}")
advise = group(
    "Which learning rate? What the dynamics of learning predict.",
    f"advise components {COMPONENTS}",
)
app.add_typer(bound, name="bound")
app.add_typer(advise, name="advise")

Directions = Annotated[int, "The number of directions."]
Precision = Annotated[float | None, "The gap to reach: how many rows?"]
Delta = Annotated[float | None, "The probability of failing; 0.05 by default."]
Width = Annotated[int, "The number of entries of a row."]
Rate = Annotated[float, "The learning rate times --n-features."]


@command(bound, "research bound slow", SLOW)
def bound_slow(
    d: Directions,
    mixing: Annotated[
        str,
        "The mixing of the process: independent, finite:a0, geometric:c,rho, "
        "algebraic:c,r, table:beta(0),beta(1),... or a sum of these.",
    ],
    m: Annotated[int | None, "The number of rows."] = None,
    *,
    precision: Precision = None,
    delta: Delta = None,
    alpha: Annotated[float | None, "An alpha fixed before the data gives a sharper bound."] = None,
    lag: Annotated[int, "The time step of the velocity."] = 1,
    json: Json = False,
) -> None:
    """Bound the gap between a slow subspace's objective on the data and the true one."""
    from eigenstream.theory import from_text

    known = {"d": d, "mixing": from_text(mixing), "alpha": alpha, "lag": lag}
    answer = _answer("slow", m, precision, delta, **known)
    title = f"The gap of the objective, {d} directions, data of norm at most 1/2:"
    say(asdict(answer), f"{title}\n  {answer}", json)


@command(bound, "research bound pairs", "--d 3 --margin 0.1 --precision 0.1")
def bound_pairs(
    d: Directions,
    margin: Annotated[float, "In (0, 1), chosen before seeing the data."],
    m: Annotated[int | None, "The number of independent pairs."] = None,
    *,
    precision: Precision = None,
    delta: Delta = None,
    risk: Annotated[float, "The margin risk on the data."] = 0.0,
    json: Json = False,
) -> None:
    """Bound the risk of a projection learned from pairs by its margin risk on the data."""
    answer = _answer("pair", m, precision, delta, d=d, margin=margin, empirical_risk=risk)
    title = f"The risk of any projection on {d} directions, pairs at most 1 apart:"
    say({**asdict(answer), "value": answer.value}, f"{title}\n  {answer}", json)


def _answer(
    kind: str, m: int | None, precision: float | None, delta: float | None, **known: object
) -> Any:
    """Return the bound for m, or the one with the smallest m for the precision."""
    from eigenstream import theory

    if (m is None) == (precision is None):
        raise ValueError("Pass --m (how large is the gap?) or --precision (how many rows?).")
    known["delta"] = DELTA if delta is None else delta
    if m is not None:
        return getattr(theory, f"{kind}_bound")(m=m, **known)
    return getattr(theory, f"{kind}_samples")(precision=precision, **known)


@command(advise, "research advise prototypes", PROTOTYPES)
def advise_prototypes(
    separation: Annotated[float, "The distance of the clusters, in standard deviations."],
    n_features: Width,
    learning_rate: Rate,
    json: Json = False,
) -> None:
    """Predict when two prototypes separate on two equal clusters."""
    from eigenstream._checks import check_number
    from eigenstream.theory import SymmetricPair

    # The theory's clusters are centred at b B_1 and b B_2.
    pair = SymmetricPair(check_number(separation, "separation", above=0) / 2**0.5)
    advice = pair.advise(learning_rate, n_features=n_features)
    say(asdict(advice), str(advice), json)


def as_numbers(text: str) -> list[float]:
    """Return numbers that are separated by commas."""
    return [float(value) for value in text.split(",")]


@command(advise, "research advise components", COMPONENTS)
def advise_components(
    eigenvalues: Annotated[
        Any, as_numbers, "The variances along the components, as 4,2.25: largest first."
    ],
    n_features: Width,
    learning_rate: Rate,
    json: Json = False,
) -> None:
    """Predict when the last unit of Sanger's rule finds its component."""
    from eigenstream.theory import PrincipalDynamics

    model = PrincipalDynamics.of_variances(eigenvalues, learning_rate=learning_rate)
    advice = model.advise(n_features=n_features)
    say(asdict(advice), str(advice), json)
