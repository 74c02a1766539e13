"""CSV, TSV and other text tables, packed or not, parsed by Arrow."""

import csv
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from eigenstream.streams._arrow_columns import Named, block_of
from eigenstream.streams._places import File, as_pipe
from eigenstream.streams.base import RowBlock, RowTable, StreamError, Wanted, needed, rows_within

#: Text that is parsed at a time.
BLOCK_BYTES = 2 << 20

#: A line longer than this is none of a table.
LONGEST_LINE = 16 << 20

#: How much of a file is looked at to tell what it is.
HEAD = 1 << 16

#: How a missing value may be written.
NOTHING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "-", "?", "#N/A", "n/a")


class Delimited(RowTable):
    """The rows of a text table; the first line names the columns unless it is all numbers."""

    options = ("delimiter",)

    def __init__(self, file: File, delimiter: str | None = None) -> None:
        self.file, self.name = file, file.name
        self.rereadable = file.rereadable
        self.dtype = np.dtype(np.float64)
        if delimiter is not None and (not isinstance(delimiter, str) or len(delimiter) != 1):
            raise ValueError(f"delimiter must be one character, got {delimiter!r}.")
        # A named pipe is looked at as standard input is.
        self._piped: Any = None if self.rereadable else as_pipe(file.open())
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
        self.headed = not all(_is_number(cell) for cell in lines[0]) or _is_numbered(lines[:2])
        if self.headed:
            self.columns = tuple(cell.strip() for cell in lines[0])
            twice = [one for at, one in enumerate(self.columns) if one in self.columns[:at]]
            if twice:
                raise StreamError(f"{self.name} has two columns called {twice[0]!r}.")
            if len(lines) == 1 and not self._more:
                raise StreamError(f"{self.name} has a line of names, and no rows.")
        below = lines[1:] if self.headed else lines
        self._numbers = [
            bool(below) and all(_is_number(line[one]) for line in below if one < len(line))
            for one in range(self.width)
        ]

    def _head(self) -> list[str]:
        """Return the first lines, checked to be text."""
        if self.rereadable:
            with self._bytes() as stream:
                raw = self._piece(stream, HEAD)
                while b"\n" not in raw and len(raw) < LONGEST_LINE:
                    more = self._piece(stream, HEAD)
                    if not more:
                        break
                    raw += more
                self._more = bool(self._piece(stream, 1))
        else:
            raw = self._piped.first_line(LONGEST_LINE)
            self._more = True
            raw = raw if b"\n" in raw else raw + b"\n"
        if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise StreamError(
                f"{self.name} is text in UTF-16. Convert it: iconv -f UTF-16 -t UTF-8."
            )
        if b"\0" in raw:
            raise StreamError(f"{self.name} is no text: it holds zero bytes.")
        raw = raw.removeprefix(b"\xef\xbb\xbf")
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
        kind = {".gz": "gzip", ".zst": "zstd"}.get(self.file.packing)
        with ExitStack() as stack:
            stream: Any = self._piped or stack.enter_context(self.file.open())
            if kind:
                packed = pyarrow.PythonFile(stream, mode="r")
                stream = pyarrow.CompressedInputStream(packed, kind)
            yield stream

    def blocks(self, wanted: Wanted) -> Iterator[RowBlock]:
        """Yield the wanted rows."""
        yield from rows_within(self._every(wanted), wanted)

    def _every(self, wanted: Wanted) -> Iterator[RowBlock]:
        """Parse whole lines, some megabytes at a time.

        Arrow has a reader that goes through a file by itself, ahead in threads of its own; it
        falls when a file of Python's is closed under it, and this one is read ahead anyway.
        """
        pyarrow = needed("pyarrow", "pyarrow", "CSV files")
        arrow_csv = needed("pyarrow.csv", "pyarrow", "CSV files")
        assert self.width is not None
        names = [str(place) for place in range(self.width)]
        named = Named.of(wanted, names)
        types = dict.fromkeys(named.features, pyarrow.float64())
        types.update(dict.fromkeys(named.marks, pyarrow.string()))
        # Labels that are numbers in the first lines are numbers in all of them.
        numbers = [one for one in named.labels if self._numbers[int(one)]]
        types.update(dict.fromkeys(numbers, pyarrow.float64()))
        parse = arrow_csv.ParseOptions(delimiter=self.delimiter)
        convert = arrow_csv.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            null_values=list(NOTHING),
            strings_can_be_null=True,
        )
        n_rows, header = 0, int(self.headed)
        for lines in self._lines():
            read = arrow_csv.ReadOptions(
                use_threads=False, block_size=len(lines) + 1, column_names=names, skip_rows=header
            )
            try:
                table = arrow_csv.read_csv(
                    pyarrow.BufferReader(pyarrow.py_buffer(lines)), read, parse, convert
                )
            except pyarrow.ArrowException as refusal:
                if "Empty CSV" in str(refusal):
                    continue  # blank lines
                raise StreamError(self._worded(str(refusal), n_rows - header)) from None
            header = 0
            for batch in table.to_batches():
                yield block_of(batch, named, self.name)
            n_rows += table.num_rows
        if n_rows == 0:
            raise StreamError(f"{self.name} has no rows.")

    def _lines(self) -> Iterator[memoryview]:
        """Yield whole lines, as many as fit a block; they are overwritten by the next ones."""
        held = bytearray(BLOCK_BYTES)
        count = 0
        with self._bytes() as stream:
            while True:
                if count > len(held) // 2:  # a line that is longer than a block
                    if len(held) >= 2 * LONGEST_LINE:
                        raise StreamError(
                            f"{self.name} has a line longer than {LONGEST_LINE >> 20} MB: no table."
                        )
                    held = held + bytearray(len(held))
                end = count
                while True:
                    got = self._read_into(stream, memoryview(held)[end:])
                    end += got
                    if not got or end == len(held) or self._piped:  # from a pipe as it comes
                        break
                cut = held.rfind(b"\n", count, end) + 1 if got else end
                if cut:
                    if not held[:64].isspace() or not held[:cut].isspace():
                        yield memoryview(held)[:cut]
                    held[: end - cut] = held[cut:end]
                count = end - cut
                if not got:
                    return

    def _read_into(self, stream: Any, space: memoryview) -> int:
        """Read what fits; return how much that was, and 0 at the end."""
        try:
            if self._piped:
                some = stream.read_some(len(space))
                space[: len(some)] = some
                return len(some)
            return int(stream.readinto(space))
        except OSError as refusal:
            raise self._unpackable(refusal) from None

    def _piece(self, stream: Any, count: int) -> bytes:
        try:
            found: bytes = stream.read_some(count) if self._piped else stream.read(count)
        except OSError as refusal:
            raise self._unpackable(refusal) from None
        return found

    def _unpackable(self, refusal: OSError) -> StreamError:
        said = " ".join(str(refusal).split())
        return StreamError(f"{self.name} cannot be unpacked: {said}.")

    def _worded(self, said: str, before: int) -> str:
        said = " ".join(said.split())
        row = re.search(r"Row #(\d+)", said)
        place = "" if row is None else f" at row {int(row[1]) - 1 + before}"
        column = re.search(r"CSV column #(\d+)", said)
        value = re.search(r"invalid value '(.*)'", said)
        counts = re.search(r"Expected (\d+) columns, got (\d+)", said)
        if column and value:
            number = int(column[1])
            named = f" ({self.columns[number]!r})" if self.columns else ""
            return (
                f"{self.name} has {value[1]!r:.40} where a number is due{place}, column "
                f"{number}{named}. Mend it, select other columns with columns=[...], "
                "or name a column of labels with labels=."
            )
        if counts:
            return f"{self.name} has {counts[2]} columns{place}, and {counts[1]} before."
        if "UTF8" in said:
            return f"{self.name} is not text in UTF-8{place}. Convert it: iconv -f LATIN1 -t UTF-8."
        return f"{self.name} cannot be read{place}: {said[:160]}."


def _delimiter(head: list[str], suffix: str) -> str:
    """Return what separates the columns: of the usual ones, the commonest in the first line.

    Blanks come last: names of columns hold them, too.

    >>> _delimiter(["sepal length (cm),sepal width (cm)"], ".csv"), _delimiter(["1 2 3"], ".txt")
    (',', ' ')
    """
    if suffix == ".tsv":
        return "\t"
    line = next((one for one in head if one.strip()), "")
    found = max((",", ";", "\t", "|"), key=line.count)
    return found if found in line or " " not in line else " "


def _is_numbered(lines: list[list[str]]) -> bool:
    """Tell the numbers by which pandas names columns without names: 0,1,2 above 0.5,1.5,2.5.

    >>> _is_numbered([["0", "1", "2"], ["0.5", "1.5", "2.5"]])
    True
    """
    if len(lines) < 2 or len(lines[0]) < 3:
        return False
    counted = lines[0] == [str(place) for place in range(len(lines[0]))]
    return counted and not any(cell.strip().lstrip("+-").isdigit() for cell in lines[1])


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell.strip() in NOTHING
    return True
