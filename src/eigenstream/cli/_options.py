"""Options that several commands share, and the values that their texts stand for.

A dataclass of options stands for its fields wherever a command has it as a parameter.
"""

import csv
import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from eigenstream.cli._output import check_output

__all__ = [
    "Data",
    "FitOptions",
    "Json",
    "LearningOptions",
    "Missing",
    "ModelFile",
    "ReadingOptions",
    "RunOptions",
    "Shape",
    "column",
    "grouped",
    "sides",
    "value",
]


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with a parameter for each field of its dataclasses, as typer reads them.

    >>> @dataclass
    ... class Place:
    ...     x: int
    ...     y: int = 3
    >>> @grouped
    ... def show(name: str, place: Place) -> None:
    ...     print(name, place)
    >>> show(name="a", x=1, y=2)
    a Place(x=1, y=2)
    """
    keyword = inspect.Parameter.KEYWORD_ONLY
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    parameters = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name not in groups:
            parameters.append(parameter.replace(kind=keyword, annotation=hints[name]))
            continue
        own = get_type_hints(groups[name], include_extras=True)
        for field in fields(groups[name]):
            default = inspect.Parameter.empty if field.default is MISSING else field.default
            kind = own[field.name]
            one = inspect.Parameter(field.name, keyword, default=default, annotation=kind)
            parameters.append(one)

    @wraps(command)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    typed: Any = run
    typed.__signature__ = inspect.Signature(parameters)
    typed.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


# ---- texts and their values --------------------------------------------------------------------


def value(text: str) -> Any:
    """Return a number, None for "all", or the text itself.

    >>> value("3"), value("0.5"), value("auto"), value("all")
    (3, 0.5, 'auto', None)
    """
    for kind in int, float:
        try:
            return kind(text)
        except ValueError:
            pass
    return None if text == "all" else text


def column(text: str) -> str | int:
    """Return a column's number if the text is one, else its name.

    >>> column("3"), column("heat")
    (3, 'heat')
    """
    return int(text) if text.lstrip("-").isdecimal() else text


def columns_of(text: str) -> list[str | int]:
    """Return the columns of a list with commas; a name with a comma is quoted.

    >>> columns_of("x, 3"), columns_of('"a, b",c')
    (['x', 3], ['a, b', 'c'])
    """
    names = next(csv.reader([text], skipinitialspace=True), [])
    return [column(name.strip()) for name in names]


def sides(text: str) -> tuple[int, int]:
    """Return height and width.

    >>> sides("28x32")
    (28, 32)
    """
    try:
        height, width = map(int, text.lower().split("x"))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not HEIGHTxWIDTH. Use 28x28.") from None
    return height, width


def rows_of(text: str) -> int | slice:
    """Return a number of rows, or a slice.

    >>> rows_of("100"), rows_of("10:20"), rows_of("::2")
    (100, slice(10, 20, None), slice(None, None, 2))
    """
    try:
        parts = [int(part) if part.strip() else None for part in text.split(":")]
        return slice(*parts) if len(parts) > 1 else int(text)
    except (TypeError, ValueError):
        raise typer.BadParameter(f"{text!r} is not N, start:stop or start:stop:step.") from None


def made(text: str, known: dict[str, Callable[..., Any]]) -> Any:
    """Return what a name stands for, made with the numbers behind it.

    >>> made("power:2:3", {"power": pow})
    8
    """
    name, *numbers = [text] if text in known else text.split(":")
    try:
        return known[name](*map(value, numbers))
    except (KeyError, TypeError, ValueError) as problem:
        why = "" if isinstance(problem, KeyError) else f" ({problem})"
        raise typer.BadParameter(f"{text!r} is none of {', '.join(known)}{why}.") from None


def steps_of(text: str) -> list[Any]:
    """Return the steps that --through asks for.

    >>> steps_of("unit-norm, lag-embedding:3:5,differences")
    [UnitNorm(), LagEmbedding(n_delays=3, lag=5), Differences(lag=1)]
    """
    from eigenstream import streams

    known: dict[str, Callable[..., Any]] = {
        "standardize": streams.Standardize,
        "standardize:running": lambda: streams.Standardize(running=True),
        "unit-norm": streams.UnitNorm,
        "lag-embedding": streams.LagEmbedding,
        "differences": streams.Differences,
        "quadratic-expansion": streams.QuadraticExpansion,
    }
    return [made(step.strip(), known) for step in text.split(",")]


# ---- options -----------------------------------------------------------------------------------

Data = Annotated[
    list[str],
    typer.Argument(
        help="Files, folders, globs, file::part, or - for standard input.",
        show_default=False,
        metavar="DATA...",
    ),
]
ModelFile = Annotated[Path, typer.Argument(help="A file that fit -o has written.")]
Missing = Annotated[str, typer.Option(help="Missing values: raise, skip or interpolate.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")]
Shape = Annotated[
    Any,
    typer.Option(
        parser=sides,
        help="Show components as images of HEIGHTxWIDTH, such as 28x28.",
        metavar="HxW",
    ),
]


@dataclass
class ReadingOptions:
    """Options for reading data, by the names that open_stream has for them."""

    columns: Annotated[
        Any,
        typer.Option(
            parser=columns_of,
            metavar="X,Y",
            help="The features: names or numbers (from 0) of columns, as x,y or 0,2.",
        ),
    ] = None
    rows: Annotated[
        Any,
        typer.Option(
            parser=rows_of,
            metavar="N",
            help="The first N rows of every file, or start:stop or start:stop:step.",
        ),
    ] = None
    sequence: Annotated[
        Any,
        typer.Option(
            parser=lambda text: text != "none" and column(text),
            metavar="COLUMN",
            help="The column whose change begins a sequence; none: files are joined.",
        ),
    ] = None
    time: Annotated[
        Any, typer.Option(parser=column, help="The column that holds the time of a row.")
    ] = None
    gap: Annotated[
        float | None,
        typer.Option(help="A longer step of --time (of dates: in seconds) begins a new sequence."),
    ] = None
    dtype: Annotated[
        str | None, typer.Option(help="float32 or float64; by default as it is stored.")
    ] = None
    size: Annotated[
        Any,
        typer.Option(
            parser=sides,
            metavar="HxW",
            help="Shrink video frames or images to HEIGHTxWIDTH, as 24x32.",
        ),
    ] = None
    delimiter: Annotated[
        str | None, typer.Option(help="The separator of text columns; found by default.")
    ] = None
    decimal: Annotated[str | None, typer.Option(help="The decimal mark of text: . or ,")] = None
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header", help="Whether the first row of text names the columns."
        ),
    ] = None

    def opened(self, data: list[str], missing: str, **more: Any) -> Any:
        """Return the stream that these options stand for."""
        from eigenstream.streams import open_stream

        how = {field.name: getattr(self, field.name) for field in fields(ReadingOptions)} | more
        # Only some formats know some of these, so that they are passed only if they are given.
        how = {name: one for name, one in how.items() if one is not None}
        if self.header is not None:
            how["header"] = 0 if self.header else None
        return open_stream(data[0] if len(data) == 1 else data, missing=missing, **how)

    def matching(self, estimator: Any, data: list[str], missing: str, **more: Any) -> Any:
        """Return the stream with the columns whose names a model knows."""
        stream = self.opened(data, missing, **more)
        names = getattr(estimator, "provenance_", {}).get("columns")
        if names is None:
            names = getattr(estimator, "feature_names_in_", None)
        if self.columns is None and names is not None and stream.feature_names is not None:
            return self.opened(data, missing, **more, columns=list(map(str, names)))
        return stream


@dataclass
class RunOptions(ReadingOptions):
    """Options for reading data and for the files of a fit."""

    missing: Missing = "raise"
    seed: Annotated[int, typer.Option(min=0, help="The seed of everything drawn at random.")] = 0
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Save the model into this file (.eigs).", dir_okay=False),
    ] = None
    report: Annotated[
        Path | None, typer.Option(help="Write a page about the result into this file (.html).")
    ] = None
    shape: Shape = None
    checkpoint: Annotated[
        Path | None, typer.Option(help="Keep the fit in this file, for --resume.", dir_okay=False)
    ] = None
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue from the checkpoint, if there is one.")
    ] = False
    every: Annotated[
        int | None, typer.Option(help="Rows between checkpoints; by default it goes by time.")
    ] = None
    json: Json = False

    def started(self, data: list[str], *beside: Any, **more: Any) -> Any:
        """Return the stream, once all files can be written; ``beside`` are other inputs."""
        stream = self.opened(data, self.missing, **more)
        inputs = [*data, *beside, *stream.sources]
        if self.out is not None:
            check_output(self.out, inputs, (".eigs",))
        if self.report is not None:
            check_output(self.report, inputs, (".html",))
        if self.checkpoint is not None:
            check_output(self.checkpoint, [*inputs, self.out or ""])
        height, width = self.shape or (0, 0)
        if self.shape and self.report is None:
            raise ValueError(
                f"Images of {height} x {width} are for a page. Add --report page.html."
            )
        if self.shape and stream.n_features not in (None, height * width):
            raise ValueError(
                f"Images of {height} x {width} have {height * width} pixels. The rows have "
                f"{stream.n_features} columns."
            )
        return stream


@dataclass
class FitOptions(RunOptions):
    """The same, with steps of preprocessing in front."""

    through: Annotated[
        Any,
        typer.Option(
            parser=steps_of,
            metavar="STEP,...",
            help="Steps in front, in this order: standardize (standardize:running takes no pass of "
            "its own), unit-norm, lag-embedding:3 (with the 2 rows before; lag-embedding:3:5 with "
            "those 5 and 10 rows before), differences (differences:5 from 5 rows before), "
            "quadratic-expansion. The model keeps them.",
        ),
    ] = None

    def opened(self, data: list[str], missing: str, **more: Any) -> Any:
        """Return the stream behind its steps."""
        stream = super().opened(data, missing, **more)
        return stream if self.through is None else stream.through(*self.through)


@dataclass
class LearningOptions:
    """Options of a subspace."""

    d: Annotated[
        Any,
        typer.Option(
            "-d",
            "--d",
            parser=value,
            metavar="N",
            help="The most features to find, or all; of pca also a share of the variance as 0.95.",
        ),
    ] = "2"
    solver: Annotated[
        str, typer.Option(help="How to learn: auto, dense, sketch, krylov, flow or kernel.")
    ] = "auto"
    passes: Annotated[
        int | None,
        typer.Option(
            help="Passes over the rows, with --solver sketch; each one improves the answer. "
            "Standard input allows one."
        ),
    ] = None
    features: Annotated[
        str | None,
        typer.Option(
            help="A map in front: rbf:500 (500 prototypes; rbf:500:0.5 with gamma) or "
            "gradients (of images; gradients:7 for 7 x 7 cells)."
        ),
    ] = None

    def made(self, kind: Any, stream: Any, run: RunOptions, **parameters: Any) -> Any:
        """Return an estimator with these options."""
        from eigenstream import RBFNetwork, Sketch
        from eigenstream.features import GradientOrientation

        solver: Any = self.solver
        if self.passes not in (None, 1):
            if solver != "sketch":
                raise ValueError(f"passes={self.passes} is for the sketch. Add --solver sketch.")
            solver = Sketch(passes=self.passes)
        shape = stream.row_shape if len(stream.row_shape or ()) == 2 else None
        known = {
            "rbf": lambda size, gamma="median": RBFNetwork(
                size, gamma=gamma, random_state=run.seed
            ),
            "gradients": lambda *cells: GradientOrientation(*cells, shape=shape),
        }
        features = None if self.features is None else made(self.features, known)
        return kind(self.d, solver=solver, features=features, **parameters)
