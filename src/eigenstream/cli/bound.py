"""``eigenstream research bound``: error bounds for a number of rows."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from eigenstream._files import replacing
from eigenstream.cli._options import Json, grouped
from eigenstream.cli._output import print_json, say

#: The default probability of failing.
DELTA = 0.05

app = typer.Typer(
    help="How much data is enough? Bounds of the theory.",
    epilog="Example: eigenstream research bound slow --d 3 --m 1000000 --mixing geometric:1,0.9",
)

Directions = Annotated[int, typer.Option("--d", help="The number of directions.")]
Precision = Annotated[float | None, "The gap to reach: how many rows? With --m: how sure?"]
Delta = Annotated[
    float | None, typer.Option(help="The probability of failing.", show_default=str(DELTA))
]


@app.command(
    "slow",
    epilog="Example: eigenstream research bound slow --d 3 --m 1000000 --mixing geometric:1,0.9",
)
@grouped
def bound_slow(
    d: Directions,
    mixing: Annotated[
        list[str],
        "The mixing of the process: independent, finite:a0, geometric:c,rho, "
        "algebraic:c,r, table:beta(0),beta(1),... or a sum of these. Repeat it to compare.",
    ],
    m: Annotated[int | None, typer.Option("--m", help="The number of rows.")] = None,
    *,
    precision: Precision = None,
    delta: Delta = None,
    alpha: Annotated[float | None, "An alpha fixed before the data gives a sharper bound."] = None,
    lag: Annotated[int, "The time step of the velocity."] = 1,
    tight: Annotated[bool, "Skip the proof's last rounding."] = False,
    picture: Annotated[Path | None, "Draw the gap against m into this file (.png, .svg)."] = None,
    json: Json = False,
) -> None:
    """Bound the gap between a slow subspace's objective on the data and the true one."""
    from eigenstream import theory

    how: Any = {"alpha": alpha, "lag": lag, "tight": tight}
    profiles = {text: theory.from_text(text) for text in mixing}
    answers = {
        text: _answer("slow", m, precision, delta, d=d, mixing=profile, **how)
        for text, profile in profiles.items()
    }
    if picture is not None:
        from eigenstream import plotting

        with replacing(picture) as file:
            drawn = plotting.bounds(profiles, d, delta=DELTA if delta is None else delta, **how)
            plotting.save(drawn, file.buffer, picture.suffix[1:])
    if json:
        each = {text: asdict(found) for text, found in answers.items()}
        print_json({"mixing": each, "picture": picture and str(picture)})
        return
    print(f"The gap of the objective, {d} directions, data of norm at most 1/2:")
    for text, found in answers.items():
        print(f"  {text}: {found}")


@app.command(
    "pairs",
    epilog="Example: eigenstream research bound pairs --d 3 --margin 0.1 --precision 0.1",
)
@grouped
def bound_pairs(
    d: Directions,
    margin: Annotated[float, "In (0, 1), chosen before seeing the data."],
    m: Annotated[int | None, typer.Option("--m", help="The number of independent pairs.")] = None,
    *,
    precision: Precision = None,
    delta: Delta = None,
    risk: Annotated[float, "The margin risk on the data."] = 0.0,
    json: Json = False,
) -> None:
    """Bound the risk of a projection learned from pairs by its margin risk on the data."""
    found = _answer("pair", m, precision, delta, d=d, margin=margin, empirical_risk=risk)
    title = f"The risk of any projection on {d} directions, pairs at most 1 apart:"
    say({**asdict(found), "value": found.value}, f"{title}\n  {found}", json)


def _answer(
    kind: str, m: int | None, precision: float | None, delta: float | None, **known: Any
) -> Any:
    """Return the bound for the one of m, precision and delta that is not given."""
    from eigenstream import theory

    if m is None and precision is None:
        raise ValueError("Pass --m (how far off?), --precision (how much data?) or both.")
    if m is not None and precision is not None:
        if delta is not None:
            raise ValueError("--m and --precision together ask for delta. Leave out --delta.")
        return getattr(theory, f"{kind}_confidence")(m=m, precision=precision, **known)
    known["delta"] = DELTA if delta is None else delta
    if m is not None:
        return getattr(theory, f"{kind}_bound")(m=m, **known)
    return getattr(theory, f"{kind}_samples")(precision=precision, **known)
