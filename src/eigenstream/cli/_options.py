"""Groups of options: a dataclass stands for its fields wherever a command has it as a parameter."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, ClassVar, get_type_hints

import typer

from eigenstream.cli import _data

__all__ = ["ReadingOptions", "SavingOptions", "Shape", "grouped", "shape_of"]

Shape = Annotated[
    str | None,
    typer.Option(
        help="Rows are images of HEIGHTxWIDTH, as 28x28: show components so.", metavar="HxW"
    ),
]


def shape_of(text: str | None, name: str = "--shape") -> tuple[int, int] | None:
    """Return height and width.

    >>> shape_of("28x32"), shape_of(None)
    ((28, 32), None)
    """
    if text is None:
        return None
    parts = [part.strip() for part in text.lower().split("x")]
    if len(parts) != 2 or not all(part.isdecimal() for part in parts):
        raise ValueError(f"{name} must be HEIGHTxWIDTH, such as 28x28, got {text!r}.")
    return int(parts[0]), int(parts[1])


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
    asked = inspect.signature(command)
    hints = get_type_hints(command, include_extras=True)
    groups = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    parameters = []
    for name, parameter in asked.parameters.items():
        group: Any = groups.get(name)
        if group is None:
            kind = inspect.Parameter.KEYWORD_ONLY
            parameters.append(parameter.replace(kind=kind, annotation=hints[name]))
            continue
        own = get_type_hints(group, include_extras=True)
        for field in fields(group):
            parameters.append(
                inspect.Parameter(
                    field.name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=inspect.Parameter.empty if field.default is MISSING else field.default,
                    annotation=own[field.name],
                )
            )

    @wraps(command)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            made: Any = group
            given[name] = made(**{field.name: given.pop(field.name) for field in fields(made)})
        command(**given)

    told: Any = run
    told.__signature__ = inspect.Signature(parameters)
    told.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


@dataclass
class ReadingOptions:
    """How data are read."""

    columns: Annotated[
        str | None,
        typer.Option(help="The features: names or numbers (from 0) of columns, as x,y or 0,2."),
    ] = None
    rows: Annotated[
        str | None,
        typer.Option(
            help="Of every file the first so many rows, or start:stop or start:stop:step."
        ),
    ] = None
    sequence: Annotated[
        str | None,
        typer.Option(help="The column whose change begins a new sequence; none: files go on."),
    ] = None
    time: Annotated[str | None, typer.Option(help="The column that says when a row was taken.")] = (
        None
    )
    gap: Annotated[
        float | None,
        typer.Option(help="A longer step of --time (of dates: in seconds) begins a new sequence."),
    ] = None
    dtype: Annotated[
        str | None,
        typer.Option(help="float32 or float64; by default as it is stored."),
    ] = None
    size: Annotated[
        str | None,
        typer.Option(help="Shrink the frames of videos, or images, to HEIGHTxWIDTH, as 24x32."),
    ] = None

    delimiter: Annotated[
        str | None, typer.Option(help="What parts the columns of text; by default it is found out.")
    ] = None
    decimal: Annotated[
        str | None, typer.Option(help="The mark in 3.14, where text has another: a comma.")
    ] = None
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
            raise ValueError("- (standard input) goes alone, without other files.")
        if self.dtype not in (None, "float32", "float64"):
            raise ValueError(f"--dtype must be float32 or float64, got {self.dtype!r}.")
        how: dict[str, Any] = {
            "columns": None if self.columns is None else _data.listed(self.columns),
            "rows": None if self.rows is None else rows_of(self.rows),
            "sequence": False if self.sequence == "none" else _data.column(self.sequence),
            "time": _data.column(self.time),
            "gap": self.gap,
            "dtype": self.dtype,
            "missing": missing,
        } | more
        if self.size is not None:
            how["size"] = size_of(self.size)
        for name in ("delimiter", "decimal"):
            if getattr(self, name) is not None:
                how[name] = getattr(self, name)
        if self.header is not None:
            how["header"] = 0 if self.header else None
        return open_stream(data[0] if len(data) == 1 else data, **how)


def rows_of(text: str) -> int | slice:
    """Return the rows that are asked for.

    >>> rows_of("100"), rows_of("10:20"), rows_of("::2")
    (100, slice(10, 20, None), slice(None, None, 2))
    """
    try:
        if ":" not in text:
            return int(text)
        ends = [int(one) if one.strip() else None for one in text.split(":")]
        if len(ends) <= 3:
            return slice(*ends)
    except ValueError:
        pass
    raise ValueError(f"--rows must be a number, start:stop or start:stop:step, got {text!r}.")


def size_of(text: str) -> tuple[int, int]:
    """Return height and width.

    >>> size_of("24x32")
    (24, 32)
    """
    parts = text.lower().split("x")
    if len(parts) != 2 or not all(one.strip().isdecimal() for one in parts):
        raise ValueError(f"--size must be HEIGHTxWIDTH, such as 24x32, got {text!r}.")
    return int(parts[0]), int(parts[1])


@dataclass
class SavingOptions:
    """What is done with a model."""

    #: The option that says that rows are images.
    pixels: ClassVar[str] = "--shape"

    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Save the model into this file (.eigs).", dir_okay=False),
    ] = None
    report: Annotated[
        Path | None,
        typer.Option(help="Write a page about what was found into this file (.html)."),
    ] = None
    shape: Shape = None
    json: _data.Json = False

    def told(
        self, estimator: Any, found: dict[str, Any], facts: dict[str, str], values: Any = None
    ) -> None:
        """Say what was found, as JSON or in words, and where the model and its page are."""
        if self.json:
            files = {"model": self.out, "report": self.report}
            named = {name: None if path is None else str(path) for name, path in files.items()}
            _data.print_json(found | named)
            return
        _data.print_facts(type(estimator).__name__, facts, values)
        print()
        nothing = "Nothing was saved: -o model.eigs does."
        print(nothing if self.out is None else f"The model is in {self.out}.")
        if self.report is not None:
            print(f"The report is in {self.report}.")
