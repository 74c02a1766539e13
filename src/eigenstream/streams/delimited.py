"""CSV, TSV and other text tables, packed or not, parsed by Arrow."""

import csv
import re
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from eigenstream.streams._arrow_columns import block_of
from eigenstream.streams._places import File
from eigenstream.streams.base import Block, StreamError, Table, Wanted, needed, rows_within

#: Text that is parsed at a time.
BLOCK_BYTES = 4 << 20

#: How much of a file is looked at to tell what it is.
HEAD = 1 << 16

#: How a missing value may be written.
NOTHING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "-", "?", "#N/A", "n/a")


class Delimited(Table):
    """The rows of a text table; the first line names the columns unless it is all numbers."""

    options = ("delimiter",)

    def __init__(self, file: File, delimiter: str | None = None) -> None:
        self.file, self.name = file, file.name
        self.rereadable = file.rereadable
        self.dtype = np.dtype(np.float64)
        if delimiter is not None and (not isinstance(delimiter, str) or len(delimiter) != 1):
            raise ValueError(f"delimiter must be one character, got {delimiter!r}.")
        head = self._head()
        self.delimiter = delimiter or _delimiter(head, file.suffix)
        try:
            lines = list(csv.reader(head, delimiter=self.delimiter))
        except csv.Error as refusal:
            raise StreamError(f"{self.name} is no table: {refusal}.") from None
        lines = [line for line in lines if line]
        if not lines:
            raise StreamError(f"{self.name} is empty.")
        self.width = len(lines[0])
        self.headed = not all(_is_number(cell) for cell in lines[0])
        if self.headed:
            self.columns = tuple(cell.strip() for cell in lines[0])
            twice = [one for at, one in enumerate(self.columns) if one in self.columns[:at]]
            if twice:
                raise StreamError(f"{self.name} has two columns called {twice[0]!r}.")
            if len(lines) == 1 and not self._more:
                raise StreamError(f"{self.name} has a line of names, and no rows.")

    def _head(self) -> list[str]:
        """Return the first lines, checked to be text."""
        if self.rereadable:
            with self._bytes() as stream:
                raw = _read(stream, HEAD, self.name)
        else:
            raw = self.file.start(HEAD)
        if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise StreamError(
                f"{self.name} is text in UTF-16. Convert it: iconv -f UTF-16 -t UTF-8."
            )
        if b"\0" in raw:
            raise StreamError(f"{self.name} is no text: it holds zero bytes.")
        raw = raw.removeprefix(b"\xef\xbb\xbf")
        self._more = len(raw) >= HEAD
        if self._more:  # the last line is not whole
            if b"\n" not in raw:
                raise StreamError(f"{self.name} is no table: its first line has no end.")
            raw = raw[: raw.rindex(b"\n") + 1]
        try:
            return raw.decode("utf-8").splitlines()
        except UnicodeDecodeError as refusal:
            line = raw.count(b"\n", 0, refusal.start) + 1
            raise StreamError(
                f"{self.name} is not text in UTF-8: byte {raw[refusal.start]:#x} in line {line}. "
                "Convert it: iconv -f LATIN1 -t UTF-8."
            ) from None

    @contextmanager
    def _bytes(self) -> Iterator[Any]:
        """Open the file, unpacked."""
        pyarrow = needed("pyarrow", "pyarrow", "CSV files")
        with ExitStack() as stack:
            stream: Any = self.file.open()
            if self.rereadable:
                stack.enter_context(stream)
            stream = pyarrow.PythonFile(stream, mode="r")
            kind = {".gz": "gzip", ".zst": "zstd"}.get(self.file.packing)
            yield pyarrow.CompressedInputStream(stream, kind) if kind else stream

    def blocks(self, wanted: Wanted) -> Iterator[Block]:
        """Yield the wanted rows."""
        yield from rows_within(self._every(wanted), wanted)

    def _every(self, wanted: Wanted) -> Iterator[Block]:
        pyarrow = needed("pyarrow", "pyarrow", "CSV files")
        arrow_csv = needed("pyarrow.csv", "pyarrow", "CSV files")
        assert self.width is not None
        names = [str(place) for place in range(self.width)]
        features = range(self.width) if wanted.features is None else wanted.features
        marks = [one for one in (wanted.sequence, wanted.time) if one is not None]
        types = {names[one]: pyarrow.float64() for one in features}
        types.update({names[one]: pyarrow.string() for one in marks})
        seen = False
        with self._bytes() as stream, self._said(marks):
            reader = arrow_csv.open_csv(
                stream,
                read_options=arrow_csv.ReadOptions(
                    use_threads=False,
                    block_size=BLOCK_BYTES,
                    column_names=names,
                    skip_rows=int(self.headed),
                ),
                parse_options=arrow_csv.ParseOptions(delimiter=self.delimiter),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=types,
                    include_columns=list(types),
                    null_values=list(NOTHING),
                    strings_can_be_null=True,
                ),
            )
            with reader:
                for batch in reader:
                    seen = seen or batch.num_rows > 0
                    yield block_of(
                        batch,
                        [names[one] for one in features],
                        None if wanted.sequence is None else names[wanted.sequence],
                        None if wanted.time is None else names[wanted.time],
                        self.name,
                    )
        if not seen:
            raise StreamError(f"{self.name} has no rows.")

    @contextmanager
    def _said(self, marks: list[int]) -> Iterator[None]:
        """Turn what Arrow says into the place and the remedy."""
        pyarrow = needed("pyarrow", "pyarrow", "CSV files")
        try:
            yield
        except (pyarrow.ArrowException, OSError, zlib.error) as refusal:
            raise StreamError(self._worded(str(refusal))) from None

    def _worded(self, said: str) -> str:
        said = " ".join(said.split())
        row = re.search(r"Row #(\d+)", said)
        place = "" if row is None else f" at row {int(row[1]) - 1 - self.headed}"
        column = re.search(r"CSV column #(\d+)", said)
        value = re.search(r"invalid value '(.*)'", said)
        counts = re.search(r"Expected (\d+) columns, got (\d+)", said)
        if column and value:
            number = int(column[1])
            named = f" ({self.columns[number]!r})" if self.columns else ""
            return (
                f"{self.name} has {value[1]!r:.40} where a number is due{place}, column "
                f"{number}{named}. Mend it, or select other columns with columns=[...]."
            )
        if counts:
            return f"{self.name} has {counts[2]} columns{place}, and {counts[1]} before."
        if "straddl" in said:
            return f"{self.name} has a line longer than {BLOCK_BYTES >> 20} MB{place}: no table."
        if "Empty CSV" in said:
            return f"{self.name} is empty."
        if "UTF8" in said:
            return f"{self.name} is not text in UTF-8{place}. Convert it: iconv -f LATIN1 -t UTF-8."
        return f"{self.name} cannot be read{place}: {said[:160]}."


def _read(stream: Any, count: int, name: str) -> bytes:
    """Return the first bytes of a packed file."""
    raw = b""
    try:
        while len(raw) < count:
            piece = stream.read(count - len(raw))
            if not piece:
                break
            raw += piece
    except OSError as refusal:
        raise StreamError(f"{name} cannot be unpacked: {' '.join(str(refusal).split())}.") from None
    return raw


def _delimiter(head: list[str], suffix: str) -> str:
    """Return what separates the columns: of the usual ones, the commonest in the first line."""
    if suffix == ".tsv":
        return "\t"
    line = next((one for one in head if one.strip()), "")
    return max((",", ";", "\t", "|", " "), key=lambda one: (line.count(one) > 0, line.count(one)))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell.strip() in NOTHING
    return True
