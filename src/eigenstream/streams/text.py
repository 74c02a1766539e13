"""The reader of CSV, TSV and other text tables, which Arrow decompresses and parses."""

import csv
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from io import StringIO
from typing import Any

import numpy as np
import pyarrow
import pyarrow.csv
from pyarrow import compute

from eigenstream.core.checks import check_choice, check_whole
from eigenstream.core.types import Handle, Piece
from eigenstream.rows.chunk import Chunk
from eigenstream.streams.base import Request, StreamError, naming_errors, one_line
from eigenstream.streams.cleaning import are_times
from eigenstream.streams.files import PACKINGS, File, Pipe
from eigenstream.streams.tables import ColumnTable

#: Bytes of text that are parsed at a time. Larger blocks take more memory.
BLOCK_BYTES = 2 << 20

#: The fewest bytes of a block for each column. With fewer, starting Arrow takes most of the time.
LEAST_BYTES = 2048

#: Bytes that are read to find the layout. More bytes show more columns without numbers.
HEAD_BYTES = 1 << 16

#: The most bytes of the first line. A longer line is not the line of a table.
LONGEST_LINE = 16 << 20

#: The cells that mean a missing value.
NOTHING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "-", "?", "#N/A", "n/a")


#: A number in the text of a cell.
NUMBER = r"^-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"

#: Arrow's message for a cell that is not a number: its column, line and text.
NO_NUMBER = re.compile(
    r"In CSV column #(\d+): Row #(\d+): CSV conversion error to double: invalid value '(.*)'", re.S
)


@dataclass(frozen=True)
class Layout:
    """The layout of a text table, inferred from its first lines."""

    delimiter: str
    #: True if runs of blanks separate the columns.
    blanks: bool
    #: The names of the columns. ``doubtful`` is True if they may be a row of numbers.
    names: tuple[str, ...]
    doubtful: bool
    width: int
    #: The number of lines before the first row of numbers.
    skipped_lines: int
    has_rows: bool
    #: For each column that holds not only numbers: the first other value.
    words: dict[int, str]
    #: The columns with more other values than numbers, or with decimal commas.
    texts: frozenset[int]


def table_layout(
    text: str,
    suffix: str = ".csv",
    delimiter: str | None = None,
    decimal: str = ".",
    header: int | str | None = "infer",
    skip_rows: int = 0,
    nothing: Collection[str] = NOTHING,
) -> Layout | None:
    """Return the layout of a table that begins with ``text``, or None if the text has no row.

    The table may begin with comment lines that start with ``#``. The last of them names the columns
    if it has one word for each column and the first row holds only numbers, as
    ``numpy.savetxt`` writes.

    >>> layout = table_layout("# by hand\\n# x y\\n 1  2\\n30  4\\n", ".txt")
    >>> layout.names, layout.width, layout.blanks, layout.skipped_lines
    (('x', 'y'), 2, True, 2)
    >>> table_layout("a;b\\n1,5;2\\n", decimal=",").names
    ('a', 'b')
    """
    lines = list(StringIO(text, newline=""))
    at = 0
    while at < len(lines) and (not lines[at].strip() or lines[at].lstrip().startswith("#")):
        at += 1
    if at == len(lines):
        return None
    blanks = delimiter is None
    if delimiter is None:
        # The most frequent of the usual delimiters, or blanks if none of these occurs.
        usual = "\t" if suffix == ".tsv" else ",;\t|".replace(decimal, "")
        delimiter = max(usual, key=lines[at].count)
        blanks = delimiter not in lines[at] and " " in lines[at].strip() and suffix != ".tsv"
        delimiter = " " if blanks else delimiter

    def cells_of(texts: list[str]) -> Any:
        clean = [" ".join(line.split()) + "\n" for line in texts] if blanks else texts
        return csv.reader(clean, delimiter=delimiter)

    reader = cells_of(lines[at:])
    first = next(reader)
    n_lines = reader.line_num
    rows = [first, *(line for line in reader if line)]

    def is_number(cell: str) -> bool:
        try:
            float(cell.replace(decimal, "."))
        except ValueError:
            return cell.strip() in nothing
        return True

    numbers = all(map(is_number, first))
    notes = [line.strip().removeprefix("#").strip() for line in lines[:at] if line.strip()]
    titles = [cell.strip() for cell in next(cells_of(notes[-1:]), [])]
    named = numbers and len(titles) == len(set(titles)) == len(first)
    names = titles if named and not any(map(is_number, titles)) else []
    headed = header is not None and not names
    if headed:
        names = [cell.strip() for cell in rows.pop(0)]
        at += n_lines
    del rows[:skip_rows]
    at += skip_rows
    words: dict[int, str] = {}
    n_words: Counter[int] = Counter()
    for line in rows:
        for place, cell in enumerate(line[: len(first)]):
            if not is_number(cell):
                words.setdefault(place, cell)
                n_words[place] += 1
            elif cell.strip() not in nothing:
                n_words[place] -= 1
    commas = {place for place, word in words.items() if _kind(word) == "decimal commas"}
    texts = frozenset(place for place in words if n_words[place] > 0 or place in commas)
    doubtful = headed and numbers and header == "infer"
    size = len(first), at, bool(rows)
    return Layout(delimiter, blanks, tuple(names), doubtful, *size, words, texts)


class Text(ColumnTable):
    """The rows of a text table. The first row names the columns unless ``header`` is None."""

    options = ("delimiter", "decimal", "header", "skip_rows", "na_values")

    def __init__(
        self,
        file: File,
        delimiter: Any = None,
        decimal: str = ".",
        header: Any = "infer",
        skip_rows: int = 0,
        na_values: Sequence[str] = (),
    ) -> None:
        if delimiter is not None and (not isinstance(delimiter, str) or len(delimiter) != 1):
            raise ValueError(f"delimiter={delimiter!r} is not valid. It must be one character.")
        check_choice(decimal, "decimal", (".", ","))
        if isinstance(header, bool) or header not in ("infer", 0, None):
            raise ValueError(f"header={header!r} is not valid. It must be 'infer', 0 or None.")
        self.file, self.files, self.name, self.decimal = file, [file], file.name, decimal
        self.rereadable, self.nothing = file.rereadable, [*NOTHING, *na_values]
        self.n_bytes = file.size() if file.rereadable else 1
        text, has_rest = self._head()
        try:
            shape = file.suffix, delimiter, decimal, header
            layout = table_layout(
                text, *shape, check_whole(skip_rows, "skip_rows", least=0), self.nothing
            )
        except csv.Error as error:
            raise StreamError(f"{self.name} is not a table: {error}.") from None
        if layout is None:
            raise StreamError(f"{self.name} is empty: it has no rows. Pass a table with rows.")
        if not layout.has_rows and not has_rest:
            raise StreamError(f"{self.name} has names and no rows. Pass header=None if not names.")
        self.layout, self.width, self.doubtful = layout, layout.width, layout.doubtful
        if layout.names:
            self.name_columns(layout.names)
        self.no_numbers = {
            place: f"{_kind(layout.words[place])} ({layout.words[place]!r:.40})"
            for place in layout.texts
        }

    def __getstate__(self) -> dict[str, object]:
        """Return the attributes without the open file."""
        return {name: value for name, value in vars(self).items() if name != "_raw"}

    @contextmanager
    def _opened(self) -> Iterator[Handle]:
        """Open the file, decompressed."""
        packing = PACKINGS.get(self.file.packing)
        with closing(self.file.open()) as self._raw:
            yield pyarrow.CompressedInputStream(self._raw, packing) if packing else self._raw

    def _head(self) -> tuple[str, bool]:
        """Return the first complete lines, and whether the file has more lines."""
        if isinstance(self.file, Pipe):
            raw, has_rest = self.file.start(LONGEST_LINE, b"\n"), True
            raw += b"" if b"\n" in raw else b"\n"
        else:
            with naming_errors(self.name), self._opened() as stream:
                raw = piece = stream.read(HEAD_BYTES)
                while piece and b"\n" not in raw and len(raw) < LONGEST_LINE:
                    raw += (piece := stream.read(HEAD_BYTES))
                has_rest = bool(stream.read(1))
        if has_rest:  # the last line may be incomplete
            raw = raw[: raw.rfind(b"\n") + 1]
            if not raw:
                raise StreamError(f"{self.name} is not a table: its first line has no end.")
        try:
            if b"\0" in raw:
                raise ValueError
            return raw.decode("utf-8-sig"), has_rest
        except ValueError:
            raise StreamError(f"{self.name} is not text in UTF-8. Convert it with iconv.") from None

    def passed(self, block: Chunk, stop: int | None) -> None:
        """Update ``share`` from the position in the file."""
        if self.rereadable and not self._raw.closed:
            self.share = min(self._raw.tell() / self.n_bytes, 1.0)
        super().passed(block, stop)

    def pieces(self, request: Request) -> Iterator[Piece]:
        """Yield batches of records with the requested columns, named by their numbers."""
        types = {str(place): pyarrow.float64() for place in request.places}
        for column in (request.sequence, request.time, *request.labels):
            # Times and labels are read as numbers if they are numbers in the first lines.
            if column is not None and (column in self.layout.words or column == request.sequence):
                types[str(column)] = pyarrow.string()
        parse = pyarrow.csv.ParseOptions(
            delimiter=self.layout.delimiter,
            ignore_empty_lines=self.width > 1,  # else an empty line is an empty cell
        )
        convert = pyarrow.csv.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            null_values=self.nothing,
            strings_can_be_null=True,
            decimal_point=self.decimal,
        )
        if self.n_bad is not None:
            parse.invalid_row_handler = self._skip
            convert.column_types = dict.fromkeys(types, pyarrow.string())
        names = [str(place) for place in range(self.width)]
        with self._opened() as stream:
            # Arrow's own threads would wait for a pipe where no signal interrupts them.
            for line, text in self._lines(stream.read):
                read = pyarrow.csv.ReadOptions(
                    use_threads=False, block_size=len(text), column_names=names
                )
                try:
                    table = _parsed(text, read, parse, convert)
                except pyarrow.ArrowException as error:
                    raise StreamError(self._problem(error, line)) from None
                if self.n_bad is not None:
                    table = self._counted(table, types, request.time)
                yield from table.to_batches()

    def _skip(self, line: Any) -> str:
        """Count a line of another number of cells, and leave it out."""
        self.n_bad = (self.n_bad or 0) + 1
        return "skip"

    def _counted(self, table: Piece, kinds: Mapping[str, Any], time: int | None) -> Piece:
        """Return text as numbers, missing where it is none, without the rows that lack a time."""
        n_bad = self.n_bad or 0
        for place, name in enumerate(kinds):
            cells = table.column(place)
            if kinds[name] == pyarrow.float64():
                text = compute.utf8_trim_whitespace(cells)
                text = compute.replace_substring(text, self.decimal, ".")
                is_number = compute.match_substring_regex(text, NUMBER)
                numbers = compute.if_else(is_number, text, None).cast(kinds[name])
                n_bad += numbers.null_count - cells.null_count
                table = table.set_column(place, name, numbers)
        times = np.array([] if time is None else table.column(str(time)).to_pylist(), object)
        if not are_times(times):
            has_time = [are_times(times[k : k + 1]) for k in range(len(times))]
            n_bad += has_time.count(False)
            table = table.filter(pyarrow.array(has_time))
        self.n_bad = n_bad
        return table

    def _lines(self, read: Callable[[int], bytes]) -> Iterator[tuple[int, bytes]]:
        """Yield the text after the names in pieces of whole lines, and the line before each.

        A pipe is read as far as its lines have arrived.
        """
        size, rest, line = max(BLOCK_BYTES, LEAST_BYTES * self.width), b"", 0
        piece = b"\n"
        while piece:
            with naming_errors(self.name):
                piece = read(size)
            end = piece.rfind(b"\n") + 1
            # A view spares a copy of the block.
            text = b"".join([rest, memoryview(piece)[:end]]) if end else b""
            rest = piece[end:] if end else rest + piece
            if len(rest) > max(LONGEST_LINE, size):
                raise StreamError(f"{self.name} is not a table: line {line + 1} has no end.")
            if not piece:
                text = rest
            n_lines, skipped = text.count(b"\n"), max(self.layout.skipped_lines - line, 0)
            if skipped:
                text = b"".join(text.split(b"\n", skipped)[skipped:])
            before, line = line + min(skipped, n_lines), line + n_lines
            if self.layout.blanks:
                text = b"\n".join(b" ".join(words.split()) for words in text.split(b"\n"))
            if text and (self.width == 1 or not text.isspace()):
                yield before, text

    def _problem(self, error: Exception, before: int) -> str:
        """Return the message for an error of Arrow in the text after line ``before``."""
        message = re.sub(r"Row #(\d+)", lambda at: f"Row #{before + int(at[1])}", str(error))
        cell = NO_NUMBER.search(message)
        if cell is None:
            return f"{self.name} cannot be read: {one_line(message)}."
        place, line, word = int(cell[1]), int(cell[2]), cell[3]
        column: Any = self.columns[place] if self.columns else place
        row = line - self.layout.skipped_lines - 1
        advice = f"Empty the cell, or pass exclude={column!r}."
        if row == 0:
            advice = f"Pass skip_rows=1 if the row has units, or exclude={column!r}."
        if (kind := _kind(word)) != "text":
            advice = "Pass decimal=',' to read it."
            if kind == "dates":
                advice = f"Pass time={column!r} or exclude={column!r}."
        where = f"row {row} (line {line}) of column {column!r}"
        return f"{self.name} has {word!r:.60} in {where}, not a number. {advice}"


def _parsed(text: bytes, *options: Any) -> Piece:
    """Return the table of lines. After a signal, whose handler has returned, Arrow starts again."""
    while True:
        with suppress(pyarrow.ArrowCancelled):
            return pyarrow.csv.read_csv(pyarrow.BufferReader(text), *options)


def _kind(word: str) -> str:
    """Return a word for a cell that is not a number.

    >>> _kind("1,5"), _kind("2024-05-31"), _kind("red")
    ('decimal commas', 'dates', 'text')
    """
    if re.match(r"\s*\d{1,4}[-/.:]\d{1,2}[-/.:T ]", word):
        return "dates"
    return "decimal commas" if re.fullmatch(r"\s*[+-]?\d*,\d+\s*", word) else "text"
