"""``eigenstream research advise``: which learning rate, and how long its plateaus last."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from eigenstream.cli._options import Json, grouped, parsed
from eigenstream.cli._output import say

#: The words in front of each example.
EXAMPLE = "Example: eigenstream research advise"

app = typer.Typer(
    help="Which learning rate? What the dynamics of learning predict.",
    epilog=f"{EXAMPLE} components --eigenvalues 4,2 --n-features 99 --learning-rate 0.1",
)

Width = Annotated[int, typer.Option("--n-features", help="The number of entries of a row.")]
Rate = Annotated[
    float, typer.Option("--learning-rate", help="The learning rate times --n-features.")
]


@app.command(
    "prototypes",
    epilog=f"{EXAMPLE} prototypes --separation 2 --n-features 99 --learning-rate 0.5",
)
@grouped
def advise_prototypes(
    separation: Annotated[float, "The distance of the clusters, in standard deviations."],
    n_features: Width,
    learning_rate: Rate,
    length: Annotated[float, "The length of the first prototypes."] = 1.0,
    json: Json = False,
) -> None:
    """Predict when two prototypes separate on two equal clusters."""
    from eigenstream._checks import check_number
    from eigenstream.theory import SymmetricPair

    # The theory's clusters are centred at b B_1 and b B_2.
    pair = SymmetricPair(check_number(separation, "separation", above=0) / 2**0.5)
    advice = pair.advise(learning_rate, n_features=n_features, length=length)
    say(asdict(advice), str(advice), json)


def numbers(text: str) -> list[float]:
    """Return numbers that are separated by commas."""
    return [float(value) for value in text.split(",")]


@app.command(
    "components",
    epilog=f"{EXAMPLE} components --eigenvalues 4,2 --n-features 99 --learning-rate 0.1",
)
@grouped
def advise_components(
    eigenvalues: Annotated[
        Any, parsed(numbers, "The variances along the components, as 4,2.25: largest first.")
    ],
    n_features: Width,
    learning_rate: Rate,
    noise: Annotated[float, "The variance along every other direction."] = 1.0,
    json: Json = False,
) -> None:
    """Predict when the last unit of Sanger's rule finds its component."""
    from eigenstream.theory import PrincipalDynamics

    model = PrincipalDynamics.of_variances(eigenvalues, learning_rate=learning_rate, noise=noise)
    advice = model.advise(n_features=n_features)
    say(asdict(advice), str(advice), json)
