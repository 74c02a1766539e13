"""Options that several commands share, and the values that their texts stand for."""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

import eigenstream as es
from eigenstream.cli._output import check_output, printable
from eigenstream.core.types import Estimator, Facts, StreamLike

# ---- texts and their values --------------------------------------------------------------------


def value(text: str) -> Any:
    """Return a number, None for "all" or "None", or the text itself.

    >>> value("3"), value("0.5"), value("auto"), value("all")
    (3, 0.5, 'auto', None)
    """
    for kind in int, float:
        try:
            return kind(text)
        except ValueError:
            pass
    return None if text in ("all", "None") else text


def value_list(text: str) -> list[Any]:
    """Return the values of a list with commas.

    >>> value_list("-9999, bad")
    [-9999, 'bad']
    """
    return [value(part.strip()) for part in text.split(",")]


def column(text: str) -> str | int:
    """Return a column's number if the text is one, else its name.

    >>> column("3"), column("heat")
    (3, 'heat')
    """
    return int(text) if text.lstrip("-").isdecimal() else text


def column_list(text: str) -> list[Any]:
    """Return the columns of a list with commas.

    >>> column_list("s*, 3, 5:9")
    ['s*', 3, slice(5, 9, None)]
    """
    names = [name.strip() for name in text.split(",")]
    return [
        row_slice(name) if re.fullmatch(r"-?\d*:-?\d*", name) else column(name) for name in names
    ]


def image_size(text: str) -> tuple[int, int]:
    """Return height and width.

    >>> image_size("28x32")
    (28, 32)
    """
    try:
        height, width = map(int, text.lower().split("x"))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not HEIGHTxWIDTH. Use 28x28.") from None
    return height, width


def grid_size(text: str) -> str | int | tuple[int, int]:
    """Return "auto", the length of a chain, or the height and width of a grid."""
    return image_size(text) if "x" in text else value(text)


def row_slice(text: str) -> int | slice:
    """Return a number of rows, or a slice.

    >>> row_slice("100"), row_slice("10:20"), row_slice("::2")
    (100, slice(10, 20, None), slice(None, None, 2))
    """
    try:
        parts = [int(part) if part.strip() else None for part in text.split(":")]
        return slice(*parts) if len(parts) > 1 else int(text)
    except (TypeError, ValueError):
        raise typer.BadParameter(f"{text!r} is not N, start:stop or start:stop:step.") from None


def called(text: str, functions: dict[str, Callable[..., Any]]) -> Any:
    """Return the result of a named function for the numbers behind its name.

    >>> called("power:2:3", {"power": pow})
    8
    """
    name, *numbers = [text] if text in functions else text.split(":")
    try:
        return functions[name](*map(value, numbers))
    except KeyError:
        raise typer.BadParameter(f"{text!r} is none of {', '.join(functions)}.") from None
    except (TypeError, ValueError) as problem:
        raise typer.BadParameter(f"{text!r} is not valid: {problem}") from None


#: The steps of --through: classes of ``streams`` in lower case.
STEPS = (
    *("standardize", "unit-norm", "lag-embedding", "differences", "quadratic-expansion"),
    "omit-outliers",
)


def step_list(text: str) -> list[Any]:
    """Return the steps that --through asks for.

    >>> step_list("unit-norm, lag-embedding:3:5,differences")
    [UnitNorm(), LagEmbedding(n_delays=3, lag=5), Differences(lag=1)]
    """
    from eigenstream import streams

    steps = {name: getattr(streams, name.title().replace("-", "")) for name in STEPS}
    return [called(step.strip(), steps) for step in text.split(",")]


# ---- options -----------------------------------------------------------------------------------

Data = Annotated[
    list[str], typer.Argument(help="Files, folders, globs, file::part, or - (standard input).")
]
ModelFile = Annotated[Path, typer.Argument(help="A file that fit -o has written.")]
Missing = Annotated[
    str, "Missing values: raise, skip or interpolate; for some models also available or partial."
]
MissingAsFitted = Annotated[
    str | None, "raise, skip, interpolate or the model's own; by default as in the fit."
]
Json = Annotated[bool, "Print one JSON object."]
ImageShape = Annotated[Any, image_size, "Show rows as images of 28x28 pixels, say."]
TimeStep = Annotated[
    float | None,
    "The time from one row to the next, in --unit. By default 1, or the step of the dates of "
    "--time if the unit is s, min, h or d.",
]
Unit = Annotated[str, "The unit of time scales."]
SlowCriterion = Annotated[str, "difference, or ratio as in slow feature analysis and TICA."]
Reversible = Annotated[bool, "Average over both rows of each velocity, as in TICA."]


def without_text(stream: StreamLike) -> StreamLike:
    """Return the stream without columns of text or dates, and print their names."""
    readable, columns_left_out = stream.of_numbers()
    decimals = any(what.startswith("decimal") for what in columns_left_out.values())
    if not columns_left_out or decimals or len(columns_left_out) == stream.n_features:
        return stream
    names = "; ".join(f"{name}: {what}" for name, what in columns_left_out.items())
    left_out = f"columns without numbers are left out ({printable(names)})."
    print("eigenstream:", left_out, file=sys.stderr)
    return readable


def with_labels(open_data: Callable[..., StreamLike], labels: str) -> StreamLike:
    """Return the opened data with labels: those of a column, or of a file of labels."""
    from eigenstream.streams import labels_of

    if Path(labels).is_file():
        return open_data().with_labels(labels_of(labels))
    return open_data(labels=column(labels))


@dataclass
class ReadingOptions:
    """Options for reading data, by the names that open_stream has for them."""

    columns: Annotated[Any, column_list, "The features: names, numbers, 's*' or 3:43."] = None
    exclude: Annotated[Any, column_list, "Columns to leave out, by the same words."] = None
    rows: Annotated[Any, row_slice, "N rows of each file, or start:stop:step."] = None
    sequence: Annotated[
        Any, column, "A new value of this column begins a sequence; none joins files."
    ] = None
    time: Annotated[Any, column, "The column of times."] = None
    gap: Annotated[float | None, "A longer step in time (dates: seconds) begins a sequence."] = None
    size: Annotated[Any, image_size, "Shrink video frames or images to 24x32, say."] = None
    delimiter: Annotated[str | None, "Of text; found by default."] = None
    decimal: Annotated[str | None, "The decimal mark of text: . or ,"] = None
    skip_rows: Annotated[int | None, "Rows of text below the names to skip, as units."] = None
    na_values: Annotated[Any, value_list, "Values that mean a missing one, as -9999,bad."] = None
    header: Annotated[
        bool | None,
        typer.Option(help="The first row of text names the columns, or not.", metavar=""),
    ] = None

    def opened(self, data: list[str], **reading: object) -> StreamLike:
        """Return the stream of names of data, or of the tables of an open stream."""
        from eigenstream.streams import open_stream
        from eigenstream.streams.tables import turn_off_signal_handlers

        turn_off_signal_handlers()
        options = {field.name: vars(self)[field.name] for field in fields(ReadingOptions)} | reading
        # Only some formats know some of these, so that they are passed only if they are given.
        options = {name: value for name, value in options.items() if value is not None}
        if self.header is not None:
            options["header"] = 0 if self.header else None
        if self.sequence == "none":
            options["sequence"] = False
        return open_stream(data[0] if len(data) == 1 else data, **options)

    def matching(
        self, estimator: Estimator, data: list[str], missing: str | None, **reading: object
    ) -> StreamLike:
        """Return the stream with the columns and the options that a model stores."""
        from eigenstream.rows.door import missing_of

        learned = vars(estimator)
        fitted = learned.get("provenance_", {})
        names = fitted.get("columns")
        if names is None:
            names = learned.get("feature_names_in_")
        stream = self.opened(data, **reading)
        names_in_data = stream.feature_names
        stored = dict(fitted.get("reading", {}))
        for mark in "sequence", "time":
            if isinstance(stored.get(mark), str) and stored[mark] not in (names_in_data or ()):
                del stored[mark]
        if "time" not in stored and self.time is None:
            stored.pop("gap", None)
        if self.columns is None and names is not None and names_in_data is not None:
            reading["columns"] = list(map(str, names))
        stored = {name: stored[name] for name in stored if vars(self).get(name) is None}
        stored["missing"] = missing or stored.get("missing", missing_of(estimator))
        if stored["missing"] in ("available", "partial"):  # the estimator reads holes itself
            stored["missing"] = "raise"
        # Opened again, a pipe would lack the bytes of its header.
        return without_text(self.opened(list(stream.tables), **stored | reading))


@dataclass
class RunOptions(ReadingOptions):
    """Options for reading data and for the files of a fit."""

    missing: Missing = "raise"
    seed: Annotated[int, "The seed of everything drawn at random."] = 0
    out: Annotated[Path | None, "The model (.eigs)."] = None
    report: Annotated[Path | None, "A page about the result (.html)."] = None
    image_shape: ImageShape = None
    checkpoint: Annotated[Path | None, "Keep the fit in this file, for --resume."] = None
    resume: Annotated[bool, "Continue from the checkpoint, if there is one."] = False
    every: Annotated[int | None, "Rows between checkpoints; by default it goes by time."] = None
    workers: Annotated[int | None, "Learn in this number of processes (needs Dask)."] = None
    scheduler: Annotated[str | None, "Learn on the Dask cluster at this address."] = None
    json: Json = False

    @property
    def gaps(self) -> dict[str, Any]:
        """Return the parameter of an estimator that reads rows with missing values itself."""
        return {"missing": self.missing} if self.missing in ("available", "partial") else {}

    def started(self, data: list[str], *other_inputs: object, **reading: object) -> StreamLike:
        """Return the stream, once all files can be written; ``other_inputs`` are read, too."""
        missing = "raise" if self.gaps else self.missing
        stream = without_text(self.opened(data, missing=missing, **reading))
        inputs = [*data, *other_inputs, *stream.sources]
        check_output(self.out, inputs, (".eigs",))
        check_output(self.report, inputs, (".html",))
        check_output(self.checkpoint, [*inputs, self.out or ""])
        return stream


@dataclass
class FitOptions(RunOptions):
    """The same, with steps of preprocessing in front."""

    through: Annotated[
        Any,
        step_list,
        "Steps in front, in their order: standardize, unit-norm, lag-embedding:DELAYS:LAG, "
        "differences:LAG, quadratic-expansion, omit-outliers:DEVIATIONS.",
    ] = None

    def opened(self, data: list[str], **reading: object) -> StreamLike:
        """Return the stream behind its steps."""
        stream = super().opened(data, **reading)
        return stream if self.through is None else stream.through(*self.through)


@dataclass
class LearningOptions:
    """Options of a subspace."""

    n_components: Annotated[
        Any, value, "The most features, all or auto; for pca also a share as 0.95."
    ] = "auto"
    solver: Annotated[str, "auto, dense, sketch, krylov, flow or kernel."] = "auto"
    features: Annotated[
        str | None,
        "A map in front: rbf:SIZE, a radial basis network, or quadratic:COMPONENTS, products.",
    ] = None

    def estimator(self, kind: Any, run: RunOptions, **parameters: Any) -> Estimator:
        """Return an estimator with these options."""
        parameters = run.gaps | parameters | {"solver": self.solver}
        if self.features is not None:
            maps: Facts = {
                "rbf": partial(es.RBFNetwork, random_state=run.seed),
                "quadratic": es.QuadraticMap,
            }
            parameters["features"] = called(self.features, maps)
        if self.n_components != "auto":
            parameters["n_components"] = self.n_components
        return kind(**parameters)
