"""Options that several commands share, and the values that their texts stand for.

A dataclass of options stands for its fields wherever a command has it as a parameter.
"""

import csv
import inspect
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from math import inf
from pathlib import Path
from typing import Annotated, Any, ClassVar, get_type_hints

import typer

from eigenstream.cli._output import check_output, check_unread, print_facts, print_json

__all__ = [
    "Data",
    "FitOptions",
    "Json",
    "LearningOptions",
    "Missing",
    "ModelFile",
    "ReadingOptions",
    "RepeatedOptions",
    "RunOptions",
    "Shape",
    "column",
    "count",
    "grouped",
    "number",
    "sides",
]

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
    str | None,
    typer.Option(help="Show components as images of HEIGHTxWIDTH, such as 28x28.", metavar="HxW"),
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


def column(text: str | None) -> str | int | None:
    """Return a column's number if the text is one, else its name.

    >>> column("3"), column("heat"), column(None)
    (3, 'heat', None)
    """
    return int(text) if text is not None and text.lstrip("-").isdecimal() else text


def listed(text: str) -> list[str | int | None]:
    """Return the columns of a list with commas; a name with a comma is quoted.

    >>> listed("x, 3"), listed('"a, b",c')
    (['x', 3], ['a, b', 'c'])
    """
    names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    if not names or not all(names):
        raise ValueError(f"--columns {text!r} is no list of columns. Use x,y or 0,2.")
    return [column(name) for name in names]


def sides(text: str | None, option: str) -> tuple[int, int] | None:
    """Return height and width.

    >>> sides("28x32", "--shape"), sides(None, "--shape")
    ((28, 32), None)
    """
    if text is None:
        return None
    parts = [part.strip() for part in text.lower().split("x")]
    if len(parts) != 2 or not all(part.isdecimal() for part in parts):
        raise ValueError(f"{option} must be HEIGHTxWIDTH, such as 28x28, got {text!r}.")
    return int(parts[0]), int(parts[1])


def rows_of(text: str) -> int | slice:
    """Return a number of rows, or a slice.

    >>> rows_of("100"), rows_of("10:20"), rows_of("::2")
    (100, slice(10, 20, None), slice(None, None, 2))
    """
    try:
        if ":" not in text:
            return int(text)
        return slice(*(int(one) if one.strip() else None for one in text.split(":")))
    except (TypeError, ValueError):
        pass
    raise ValueError(f"--rows must be a number, start:stop or start:stop:step, got {text!r}.")


def count(text: str, shares: bool = False) -> Any:
    """Return the number of components, or the share of the variance.

    >>> count("3"), count("all"), count("0.95", shares=True)
    (3, None, 0.95)
    """
    try:
        return None if text == "all" else float(text) if shares and "." in text else int(text)
    except ValueError:
        share = ", a share as 0.95" if shares else ""
        raise ValueError(f"-d must be a whole number{share} or all, got {text!r}.") from None


def number(text: str, option: str, *words: str) -> Any:
    """Return a number, or one of some words.

    >>> number("auto", "--eta", "auto"), number("0.5", "--eta", "auto")
    ('auto', 0.5)
    """
    try:
        return text if text in words else float(text)
    except ValueError:
        known = ", ".join(words)
        raise ValueError(f"{option} must be {known} or a number, got {text!r}.") from None


def features_of(text: str, stream: Any, seed: int) -> Any:
    """Return the feature map that --features asks for.

    >>> features_of("rbf:500", None, 0)
    RBFNetwork(gamma='median', random_state=0)
    """
    from eigenstream import RBFNetwork
    from eigenstream.features import GradientOrientation

    kind, _, rest = text.partition(":")
    size, _, sharpness = rest.partition(":")
    try:
        if kind == "rbf" and size:
            gamma: Any = number(sharpness or "median", "gamma", "median")
            if int(size) > 0 and (gamma == "median" or 0 < gamma < inf):
                return RBFNetwork(int(size), gamma=gamma, random_state=seed)
        if kind == "gradients" and not sharpness:
            shape = stream.row_shape if len(stream.row_shape or ()) == 2 else None
            cells = {"cells": int(size)} if size else {}
            return GradientOrientation(shape=shape, **cells)
    except ValueError:
        pass
    raise ValueError(
        f"--features must be rbf:500, rbf:500:0.5, gradients or gradients:7, got {text!r}."
    )


def steps_of(text: str) -> list[Any]:
    """Return the steps that --through asks for.

    >>> steps_of("unit-norm, lag-embedding:3:5,differences")
    [UnitNorm(), LagEmbedding(n_delays=3, lag=5), Differences(lag=1)]
    """
    from eigenstream import streams

    # Each step with the smallest and the largest number of values it takes.
    known: dict[str, tuple[Callable[..., Any], int, int]] = {
        "standardize": (streams.Standardize, 0, 0),
        "standardize:running": (lambda: streams.Standardize(running=True), 0, 0),
        "unit-norm": (streams.UnitNorm, 0, 0),
        "lag-embedding": (streams.LagEmbedding, 1, 2),
        "differences": (streams.Differences, 0, 1),
        "quadratic-expansion": (streams.QuadraticExpansion, 0, 0),
    }
    steps = []
    for asked in text.replace(" ", "").split(","):
        name, *given = [asked] if asked in known else asked.split(":")
        if name not in known:
            raise ValueError(f"--through knows no step {name!r}. Use {', '.join(known)}.")
        make, least, most = known[name]
        numbers = [int(one) for one in given if one.isdecimal() and int(one)]
        if len(numbers) < len(given) or not least <= len(given) <= most:
            example = "Use lag-embedding:3, lag-embedding:3:5, differences:5 or the bare name."
            raise ValueError(
                f"--through {asked}: {name} takes {least} to {most} numbers. {example}"
            )
        steps.append(make(*numbers))
    return steps


# ---- groups of options -------------------------------------------------------------------------


@dataclass
class ReadingOptions:
    """Options for reading data."""

    columns: Annotated[
        str | None,
        typer.Option(help="The features: names or numbers (from 0) of columns, as x,y or 0,2."),
    ] = None
    rows: Annotated[
        str | None,
        typer.Option(help="The first N rows of every file, or start:stop or start:stop:step."),
    ] = None
    sequence: Annotated[
        str | None,
        typer.Option(help="The column whose change begins a sequence; none: files are joined."),
    ] = None
    time: Annotated[str | None, typer.Option(help="The column that holds the time of a row.")] = (
        None
    )
    gap: Annotated[
        float | None,
        typer.Option(help="A longer step of --time (of dates: in seconds) begins a new sequence."),
    ] = None
    dtype: Annotated[
        str | None, typer.Option(help="float32 or float64; by default as it is stored.")
    ] = None
    size: Annotated[
        str | None, typer.Option(help="Shrink video frames or images to HEIGHTxWIDTH, as 24x32.")
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

        if data.count("-") and len(data) > 1:
            raise ValueError("- (standard input) cannot be joined with files. Pass it alone.")
        if self.dtype not in (None, "float32", "float64"):
            raise ValueError(f"--dtype must be float32 or float64, got {self.dtype!r}.")
        how: dict[str, Any] = {
            "columns": None if self.columns is None else listed(self.columns),
            "rows": None if self.rows is None else rows_of(self.rows),
            "sequence": False if self.sequence == "none" else column(self.sequence),
            "time": column(self.time),
            "gap": self.gap,
            "dtype": self.dtype,
            "missing": missing,
        } | more
        # Only some formats know these, so that they are passed only if they are given.
        some = {"delimiter": self.delimiter, "decimal": self.decimal}
        how |= {name: value for name, value in some.items() if value is not None}
        if self.size is not None:
            how["size"] = sides(self.size, "--size")
        if self.header is not None:
            how["header"] = 0 if self.header else None
        return open_stream(data[0] if len(data) == 1 else data, **how)

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

    #: The option that gives the size of images.
    pixels: ClassVar[str] = "--shape"

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

    def started(self, data: list[str], beside: Sequence[str] = (), **more: Any) -> Any:
        """Return the stream and its checkpoint, or None, once all files can be written."""
        from eigenstream.persistence import Checkpoint

        stream = self.opened(data, self.missing, **more)
        inputs = [*data, *beside, *stream.sources]
        if self.out is not None:
            check_output(self.out, inputs, (".eigs",))
        if self.report is not None:
            check_output(self.report, inputs, (".html",), "--report")
        size = sides(self.shape, self.pixels)
        if size is not None and self.report is None:
            raise ValueError(f"{self.pixels} is for the page of --report. Pass --report, too.")
        if size is not None and stream.n_features not in (None, size[0] * size[1]):
            raise ValueError(
                f"{self.pixels} {self.shape} has {size[0] * size[1]} pixels, and the rows have "
                f"{stream.n_features} columns. Use their height and width."
            )
        if self.checkpoint is None:
            if self.resume or self.every is not None:
                raise ValueError("--resume and --every need --checkpoint FILE. Pass it, too.")
            return stream, None
        check_unread(self.checkpoint, inputs, "--checkpoint")
        if self.out is not None and self.checkpoint.resolve() == self.out.resolve():
            raise ValueError(f"--checkpoint {self.checkpoint} is the model file. Name another one.")
        return stream, Checkpoint(self.checkpoint, every=self.every, resume=self.resume)

    def show(self, estimator: Any, found: dict[str, Any], facts: dict[str, str]) -> None:
        """Print the results, and where the model and its page are."""
        if self.json:
            files = {"model": self.out, "report": self.report}
            print_json(found | {name: path and str(path) for name, path in files.items()})
            return
        print_facts(type(estimator).__name__, facts, found.get("eigenvalues"))
        print()
        nothing = "Nothing was saved: -o model.eigs does."
        print(nothing if self.out is None else f"The model is in {self.out}.")
        if self.report is not None:
            print(f"The report is in {self.report}.")


@dataclass
class FitOptions(RunOptions):
    """The same, with steps of preprocessing in front."""

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

    def opened(self, data: list[str], missing: str, **more: Any) -> Any:
        """Return the stream behind its steps."""
        stream = super().opened(data, missing, **more)
        return stream if self.through is None else stream.through(*steps_of(self.through))


@dataclass
class LearningOptions:
    """Options of a subspace."""

    solver: Annotated[
        str, typer.Option(help="How to learn: auto, dense, sketch, krylov, flow or kernel.")
    ] = "auto"
    features: Annotated[
        str | None,
        typer.Option(
            help="A map in front: rbf:500 (500 prototypes; rbf:500:0.5 with gamma) or "
            "gradients (of images; gradients:7 for 7 x 7 cells)."
        ),
    ] = None

    def put_in_front(self, estimator: Any, stream: Any, seed: int) -> None:
        """Give the estimator the map that --features asks for."""
        if self.features is None:
            return
        if getattr(estimator, "scale", False):
            raise ValueError("--standardize does not go with --features. Choose one of them.")
        estimator.set_params(features=features_of(self.features, stream, seed))


@dataclass
class RepeatedOptions(LearningOptions):
    """Options of a subspace, and its number of passes."""

    passes: Annotated[
        int,
        typer.Option(
            help="Passes over the rows, with --solver sketch; each one improves the answer. "
            "Standard input allows one."
        ),
    ] = 1

    def chosen(self) -> Any:
        """Return the solver, with its passes over the rows."""
        if self.passes == 1:
            return self.solver
        from eigenstream import Sketch

        if self.solver != "sketch":
            raise ValueError(
                f"passes={self.passes} is for the sketch, not for {self.solver}. Add --solver "
                "sketch."
            )
        return Sketch(passes=self.passes)
