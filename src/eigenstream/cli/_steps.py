"""Steps of preprocessing on the command line: what is made of the rows before they are learned."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import typer

__all__ = ["PreparingOptions", "steps_of"]


@dataclass
class PreparingOptions:
    """What is made of the rows on the way, in this order."""

    through: Annotated[
        str | None,
        typer.Option(
            metavar="STEP,...",
            help="Steps in front, in this order: standardize (standardize:running takes no pass of "
            "its own), unit-norm, lag-embedding:3 (with the 2 rows before; lag-embedding:3:5 with "
            "those 5 and 10 rows before), differences (differences:5 from 5 rows before), "
            "quadratic-expansion. The model keeps them.",
        ),
    ] = None

    def prepared(self, stream: Any) -> Any:
        """Return the stream of what the steps make of the rows."""
        return stream if self.through is None else stream.through(*steps_of(self.through))


def steps_of(text: str) -> list[Any]:
    """Return the steps that --through asks for.

    >>> steps_of("unit-norm, lag-embedding:3:5,differences")
    [UnitNorm(), LagEmbedding(n_delays=3, lag=5), Differences(lag=1)]
    """
    from eigenstream.streams import (
        Differences,
        LagEmbedding,
        QuadraticExpansion,
        Standardize,
        UnitNorm,
    )

    # By the names that the steps have in Python; with the fewest and the most numbers they take.
    known: dict[str, tuple[Callable[..., Any], int, int]] = {
        "standardize": (Standardize, 0, 0),
        "unit-norm": (UnitNorm, 0, 0),
        "lag-embedding": (LagEmbedding, 1, 2),
        "differences": (Differences, 0, 1),
        "quadratic-expansion": (QuadraticExpansion, 0, 0),
    }
    steps = []
    for asked in text.split(","):
        name, *given = (part.strip() for part in asked.split(":"))
        if name == "standardize" and given == ["running"]:
            steps.append(Standardize(running=True))
            continue
        if name not in known:
            raise ValueError(
                f"--through knows no step {name!r}: there are {', '.join(known)}, as in "
                "--through standardize,lag-embedding:3."
            )
        make, least, most = known[name]
        numbers = [int(one) for one in given if one.isdecimal()]
        if len(numbers) < len(given) or not least <= len(given) <= most or 0 in numbers:
            due = {0: "no number", 1: "one number from 1 on, or none", 2: "one or two from 1 on"}
            raise ValueError(
                f"--through {asked.strip()}: {name} takes {due[most]}"
                + (", as lag-embedding:3 or lag-embedding:3:5." if most == 2 else ".")
            )
        steps.append(make(*numbers))
    return steps
