"""CSV, TSV and other text tables, packed or not, parsed by Arrow."""

import csv
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from io import StringIO
from typing import Any

import numpy as np
import pyarrow
import pyarrow.csv

from eigenstream.streams._places import File, one_line
from eigenstream.streams.base import RowBlock, RowTable, StreamError, Wanted, rows_within
from eigenstream.streams.tables import Named, block_of

#: Bytes of text that are parsed at a time. A larger block takes more memory.
BLOCK_BYTES = 2 << 20

#: Bytes that are read to find the layout. A longer first line is read whole, up to LONGEST_LINE.
HEAD_BYTES = 1 << 16
LONGEST_LINE = 16 << 20

#: How a missing value may be written.
NOTHING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "-", "?", "#N/A", "n/a")

#: The packing of a file by the end of its name.
PACKINGS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}


@dataclass(frozen=True)
class Layout:
    """The layout of a text table, as its first lines show it."""

    delimiter: str
    #: Whether any run of blanks separates two columns.
    blanks: bool
    names: tuple[str, ...] | None
    #: Whether the names are the first row, and whether that row may be numbers of the data.
    headed: bool
    doubtful: bool
    width: int
    #: How many lines come before the first row of numbers.
    skipped_lines: int
    has_rows: bool
    #: Of columns that do not only hold numbers: the first other value, and its row.
    words: dict[int, tuple[str, int]]


def layout_of(
    text: str,
    suffix: str = ".csv",
    delimiter: str | None = None,
    decimal: str = ".",
    header: Any = "infer",
) -> Layout | None:
    """Return the layout of a table that begins with these whole lines; None if it has no row.

    Lines that begin with ``#`` may stand at the top. The last of them names the columns if the
    first row holds numbers only and the line has one word a column (as ``numpy.savetxt`` writes).

    >>> found = layout_of("# made by hand\\n# x y\\n 1  2\\n30  4\\n", ".txt")
    >>> found.names, found.width, found.blanks, found.skipped_lines
    (('x', 'y'), 2, True, 2)
    >>> layout_of("a;b\\n1,5;2\\n", decimal=",").names
    ('a', 'b')
    """
    lines = list(StringIO(text, newline=""))
    at = 0
    while at < len(lines) and (not lines[at].strip() or lines[at].lstrip().startswith("#")):
        at += 1
    if at == len(lines):
        return None
    if blanks := delimiter is None:
        delimiter = guessed_delimiter(lines[at], suffix, decimal)
        blanks = delimiter == " "
    rest = [" ".join(line.split()) + "\n" if blanks else line for line in lines[at:]]
    reader = csv.reader(rest, delimiter=delimiter)
    first = next(reader)
    n_lines = reader.line_num
    below = [line for line in reader if line]
    numbers = all(_is_number(cell, decimal) for cell in first)
    note = next((line for line in reversed(lines[:at]) if line.strip()), "")
    names = _commented(note, len(first), delimiter, decimal) if numbers else None
    headed = header is not None and names is None
    if headed:
        names = tuple(cell.strip() for cell in first)
        at += n_lines
    else:
        below.insert(0, first)
    words: dict[int, tuple[str, int]] = {}
    for row, line in enumerate(below):
        for one, cell in enumerate(line[: len(first)]):
            if not _is_number(cell, decimal):
                words.setdefault(one, (cell, row))
    doubtful = headed and numbers and header == "infer"
    return Layout(delimiter, blanks, names, headed, doubtful, len(first), at, bool(below), words)


def _commented(note: str, width: int, delimiter: str, decimal: str) -> tuple[str, ...] | None:
    """Return the names of the columns in a comment line; None if it does not fit."""
    words = note.strip().removeprefix("#").strip()
    cells = words.split() if delimiter == " " else [one.strip() for one in words.split(delimiter)]
    named = len(cells) == width and all(cells) and len(set(cells)) == width
    return tuple(cells) if named and not any(_is_number(one, decimal) for one in cells) else None


def guessed_delimiter(line: str, suffix: str, decimal: str = ".") -> str:
    """Return the most frequent of the usual delimiters in a line; blanks only if there is no other.

    >>> guessed_delimiter("sepal length (cm),sepal width (cm)", ".csv")
    ','
    >>> guessed_delimiter("1 2 3", ".txt"), guessed_delimiter("1,5;2,5", ".csv", ",")
    (' ', ';')
    """
    if suffix == ".tsv":
        return "\t"
    usual = [one for one in (",", ";", "\t", "|") if one != decimal]
    found = max(usual, key=line.count)
    return found if found in line or " " not in line.strip() else " "


def _is_number(cell: str, decimal: str) -> bool:
    try:
        float(cell.replace(decimal, "."))
    except ValueError:
        return cell.strip() in NOTHING
    return True


class Text(RowTable):
    """The rows of a text table; the first row names the columns unless ``header`` is None."""

    options = ("delimiter", "decimal", "header")

    def __init__(
        self, file: File, delimiter: str | None = None, decimal: str = ".", header: Any = "infer"
    ) -> None:
        self.file, self.name, self.decimal = file, file.name, decimal
        self.rereadable, self.dtype = file.rereadable, np.dtype(np.float64)
        self.n_bytes = file.size() or 1
        _check_options(delimiter, decimal, header)
        text, more = self._head()
        try:
            layout = layout_of(text, file.suffix, delimiter, decimal, header)
        except csv.Error as error:
            raise StreamError(f"{self.name} is no table: {error}.") from None
        if layout is None:
            raise StreamError(f"{self.name} is empty: it has no rows.")
        self.layout, self.width, self.columns = layout, layout.width, layout.names
        self.no_numbers = {
            place: f"{_kind(word)} ({word!r:.40} in row {row})"
            for place, (word, row) in layout.words.items()
        }
        if not layout.has_rows and not more:
            raise StreamError(
                f"{self.name} has a line of names, and no rows. If that line is a row, pass "
                "header=None."
            )
        if layout.names is not None and len(set(layout.names)) < layout.width:
            twice = next(one for one in layout.names if layout.names.count(one) > 1)
            raise StreamError(
                f"{self.name} has two columns called {twice!r} in its first row. If that is no "
                "row of names, pass header=None."
            )

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        """Open the file for Arrow, unpacked."""
        local = self.rereadable and self.file.system is None
        packing = PACKINGS.get(self.file.packing)
        with closing(
            pyarrow.OSFile(self.file.path)
            if local
            else pyarrow.PythonFile(self.file.open(), mode="r")
        ) as self._raw:
            yield pyarrow.CompressedInputStream(self._raw, packing) if packing else self._raw

    def _head(self) -> tuple[str, bool]:
        """Return the first whole lines, and whether the file goes on behind them."""
        if not self.rereadable:
            raw, more = self.file.open().first_line(LONGEST_LINE), True  # type: ignore[attr-defined]
            raw = raw if b"\n" in raw else raw + b"\n"
        else:
            try:
                with self._opened() as stream:
                    raw = stream.read(HEAD_BYTES)
                    while b"\n" not in raw and len(raw) < LONGEST_LINE:
                        if not (piece := stream.read(HEAD_BYTES)):
                            break
                        raw += piece
                    more = bool(stream.read(1))
            except OSError as error:
                raise StreamError(f"{self.name} cannot be read: {one_line(error)}.") from None
        if more:  # the last line may be cut
            raw = raw[: raw.rfind(b"\n") + 1]
            if not raw:
                raise StreamError(f"{self.name} is no table: its first line has no end.")
        try:
            if b"\0" in raw:
                raise ValueError
            return raw.decode("utf-8-sig"), more
        except ValueError:
            raise StreamError(
                f"{self.name} is not text in UTF-8. Convert it, such as by iconv -f LATIN1 -t "
                "UTF-8."
            ) from None

    def passed(self, block: RowBlock, stop: int | None) -> None:
        """Note how far the pass has come: by the bytes that were read of the file."""
        if self.rereadable and not self._raw.closed:
            self.share = min(self._raw.tell() / self.n_bytes, 1.0)
        super().passed(block, stop)

    def blocks(self, wanted: Wanted) -> Iterator[RowBlock]:
        """Yield the wanted rows."""
        yield from rows_within(self._every(wanted), wanted)

    def _every(self, wanted: Wanted) -> Iterator[RowBlock]:
        assert self.width is not None
        names = [str(place) for place in range(self.width)]
        named = Named.of(wanted, names)
        types = dict.fromkeys(named.features, pyarrow.float64())
        for one in named.marks:  # times and labels are numbers if those in the first lines are
            text = int(one) in self.layout.words or one == named.sequence
            types[one] = pyarrow.string() if text else pyarrow.float64()
        longest = 4 * self.width * 32  # room for some lines of 32 characters a value
        read = pyarrow.csv.ReadOptions(
            use_threads=False,
            block_size=max(BLOCK_BYTES, longest),
            column_names=names,
            skip_rows=self.layout.skipped_lines,
        )
        parse = pyarrow.csv.ParseOptions(delimiter=self.layout.delimiter)
        convert = pyarrow.csv.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            null_values=list(NOTHING),
            strings_can_be_null=True,
            decimal_point=self.decimal,
        )
        n_rows = 0
        try:
            with self._opened() as stream:
                if self.layout.blanks:
                    stream = pyarrow.TransformInputStream(stream, _Squeezed())
                with pyarrow.csv.open_csv(stream, read, parse, convert) as batches:
                    for batch in batches:
                        n_rows += batch.num_rows
                        yield block_of(batch, named, self.name)
        except (pyarrow.ArrowException, OSError) as error:
            commas = any(what.startswith("decimal commas") for what in self.no_numbers.values())
            raise StreamError(
                f"{self.name} cannot be read: {one_line(error)}. "
                + (
                    "If numbers are written with commas, pass decimal=','."
                    if commas
                    else "Columns without numbers need labels=, time= or sequence=; columns=[...] "
                    "selects others."
                )
            ) from None
        if n_rows == 0:
            raise StreamError(f"{self.name} has no rows.")


def _kind(word: str) -> str:
    """Return in a word what a text is that is no number.

    >>> _kind("1,5"), _kind("2024-05-31"), _kind("red")
    ('decimal commas', 'dates', 'text')
    """
    if re.match(r"\s*\d{1,4}[-/.:]\d{1,2}[-/.:T ]", word):
        return "dates"
    return "decimal commas" if re.fullmatch(r"\s*[+-]?\d*,\d+\s*", word) else "text"


class _Squeezed:
    """Text with one blank between two columns instead of any run of blanks."""

    def __init__(self) -> None:
        self._held = b""

    def __call__(self, piece: Any) -> bytes:
        text = self._held + bytes(piece)
        kept = text.rstrip()
        self._held = text[len(kept) :]  # a run of blanks may go on in the next piece
        return b"\n".join(b" ".join(line.split()) for line in kept.split(b"\n"))


def _check_options(delimiter: Any, decimal: Any, header: Any) -> None:
    if delimiter is not None and (not isinstance(delimiter, str) or len(delimiter) != 1):
        raise ValueError(f"delimiter must be one character, got {delimiter!r}.")
    if decimal not in (".", ","):
        raise ValueError(f"decimal must be '.' or ',', got {decimal!r}.")
    if decimal == delimiter:
        raise ValueError(f"delimiter and decimal are both {decimal!r}. Numbers would be cut.")
    if header is not None and (isinstance(header, bool) or header not in ("infer", 0)):
        raise ValueError(f"header must be 'infer', 0 or None, got {header!r}.")
