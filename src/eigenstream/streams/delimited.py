"""CSV, TSV and other text tables, packed or not, parsed by Arrow."""

import csv
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from eigenstream.streams._arrow_columns import Named, block_of
from eigenstream.streams._places import File, as_pipe
from eigenstream.streams._text_head import NOTHING, layout_of
from eigenstream.streams.base import RowBlock, RowTable, StreamError, Wanted, needed, rows_within

#: Text that is parsed at a time.
BLOCK_BYTES = 2 << 20

#: A line longer than this is none of a table.
LONGEST_LINE = 16 << 20

#: How much of a file is looked at to tell what it is.
HEAD = 1 << 16

#: How a date begins, or a time of the day.
DATE = re.compile(r"\s*\d{1,4}[-/.:]\d{1,2}[-/.:T ]")

#: A number with a comma.
COMMA = re.compile(r"\s*[+-]?\d*,\d+\s*")

#: What may come before text in UTF-8, to say that it is that.
BYTE_ORDER = b"\xef\xbb\xbf"


class Delimited(RowTable):
    """The rows of a text table; the first line names the columns unless it is all numbers."""

    options = ("delimiter", "decimal")

    def __init__(self, file: File, delimiter: str | None = None, decimal: str = ".") -> None:
        self.file, self.name = file, file.name
        self.rereadable = file.rereadable
        self.dtype = np.dtype(np.float64)
        if delimiter is not None and (not isinstance(delimiter, str) or len(delimiter) != 1):
            raise ValueError(f"delimiter must be one character, got {delimiter!r}.")
        if decimal not in (".", ","):
            raise ValueError(f"decimal must be '.' or ',', got {decimal!r}.")
        if decimal == delimiter:
            raise ValueError(f"delimiter and decimal are both {decimal!r}: numbers would be cut.")
        self.decimal = decimal
        self.n_bytes = file.size() or 1
        # A named pipe is looked at as standard input is.
        self._piped: Any = None if self.rereadable else as_pipe(file.open())
        head, before = self._head()
        try:
            layout = layout_of(head, file.suffix, delimiter, decimal)
        except csv.Error as refusal:
            raise StreamError(f"{self.name} is no table: {refusal}.") from None
        if layout is None:
            raise StreamError(f"{self.name} is empty." if not head.strip() else self._only_notes())
        self.layout, self.width, self.columns = layout, layout.width, layout.names
        self.headed = layout.headed
        self.no_numbers = {
            place: f"{_kind(word)} ({word!r:.40} in row {row})"
            for place, (word, row) in layout.words.items()
        }
        self._start = before + layout.start
        if self.columns is not None:
            twice = [one for at, one in enumerate(self.columns) if one in self.columns[:at]]
            if twice:
                raise StreamError(f"{self.name} has two columns called {twice[0]!r}.")
            if not layout.has_rows and not self._more:
                raise StreamError(f"{self.name} has a line of names, and no rows.")

    def _only_notes(self) -> str:
        if self._more:
            return f"{self.name} begins with more than {HEAD >> 10} kB of notes (#): no table."
        return f"{self.name} has lines of notes (#), and no rows."

    def _head(self) -> tuple[str, int]:
        """Return the first lines, checked to be text, and how many bytes come before them."""
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
        wide = _wide(raw)
        if wide:
            raise StreamError(
                f"{self.name} is text in {wide}. Convert it: iconv -f {wide} -t UTF-8."
            )
        if b"\0" in raw:
            raise StreamError(f"{self.name} is no text: it holds zero bytes.")
        before = len(BYTE_ORDER) if raw.startswith(BYTE_ORDER) else 0
        raw = raw[before:]
        if self._more:  # the last line is not whole
            if b"\n" not in raw:
                raise StreamError(f"{self.name} is no table: its first line has no end.")
            raw = raw[: raw.rindex(b"\n") + 1]
        try:
            return raw.decode("utf-8"), before
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
        kind = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}.get(self.file.packing)
        with ExitStack() as stack:
            stream: Any = self._piped or stack.enter_context(self.file.open())
            self._packed = stream
            if kind:
                packed = pyarrow.PythonFile(stream, mode="r")
                stream = pyarrow.CompressedInputStream(packed, kind)
            yield stream

    def passed(self, block: RowBlock, stop: int | None) -> None:
        """Note how far the pass has come: by the bytes that were read of the file."""
        if self._piped is None:
            self.share = min(self._packed.tell() / self.n_bytes, 1.0)
        super().passed(block, stop)

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
        numbers = [one for one in named.labels if self.layout.numbers[int(one)]]
        types.update(dict.fromkeys(numbers, pyarrow.float64()))
        parse = arrow_csv.ParseOptions(delimiter=self.layout.delimiter)
        convert = arrow_csv.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            null_values=list(NOTHING),
            strings_can_be_null=True,
            decimal_point=self.decimal,
        )
        n_rows = 0
        for lines in self._lines():
            read = arrow_csv.ReadOptions(
                use_threads=False, block_size=len(lines) + 1, column_names=names
            )
            try:
                table = arrow_csv.read_csv(
                    pyarrow.BufferReader(pyarrow.py_buffer(lines)), read, parse, convert
                )
            except pyarrow.ArrowException as refusal:
                if "Empty CSV" in str(refusal):
                    continue  # blank lines
                raise StreamError(self._worded(str(refusal), n_rows)) from None
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
            self._skip(stream, self._start)
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
                        yield self._cut_alike(memoryview(held)[:cut])
                    held[: end - cut] = held[cut:end]
                count = end - cut
                if not got:
                    return

    def _cut_alike(self, lines: memoryview) -> memoryview:
        """Return lines with one blank between two columns, where any number of them parts two."""
        if not self.layout.blanks:
            return lines
        # A line's end may be of two characters, of which the first is a blank here, too.
        return memoryview(b"\n".join(b" ".join(one.split()) for one in bytes(lines).split(b"\n")))

    def _skip(self, stream: Any, count: int) -> None:
        """Read past what comes before the first row."""
        if self._piped:
            stream.read(count)
            return
        while count > 0:
            skipped = len(self._piece(stream, count))
            if not skipped:
                return
            count -= skipped

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
                f"{number}{named}. {_hint(value[1], self.layout.delimiter)}"
            )
        if counts:
            return f"{self.name} has {counts[2]} columns{place}, and {counts[1]} before."
        if "UTF8" in said:
            return f"{self.name} is not text in UTF-8{place}. Convert it: iconv -f LATIN1 -t UTF-8."
        return f"{self.name} cannot be read{place}: {said[:160]}."


def _kind(value: str) -> str:
    """Return in a word what a text is that is no number."""
    if re.match(DATE, value):
        return "dates"
    if ";" in value:
        return "semicolons"
    return "decimal commas" if re.fullmatch(COMMA, value) else "text"


def _hint(value: str, delimiter: str) -> str:
    """Return what else a text that is no number may be, and how to say so.

    >>> _hint("1,5", ";")
    "If that is a decimal comma, pass decimal=','."
    """
    if re.fullmatch(COMMA, value):
        if delimiter == ",":
            return "Write numbers without commas, or part the columns by another character."
        return "If that is a decimal comma, pass decimal=','."
    if ";" in value:
        return "If a semicolon parts the columns, pass delimiter=';', and decimal=',' if need be."
    if re.match(DATE, value):
        return "Name a column of times with time=, or select other columns with columns=[...]."
    return (
        "Mend it, select other columns with columns=[...], or name a column of labels with labels=."
    )


def _wide(raw: bytes) -> str:
    """Return the name of an encoding with zero bytes, if text begins so.

    >>> _wide("a,b".encode("utf-16")), _wide("a,b".encode("utf-16-le")), _wide(b"a,b")
    ('UTF-16', 'UTF-16LE', '')
    """
    for name, mark in (("UTF-32", "utf-32-le"), ("UTF-32", "utf-32-be")):
        if raw.startswith("\ufeff".encode(mark)):
            return name
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16"
    # Without a mark: every second byte of what stands in most tables is zero.
    for name, zeros, others in (
        ("UTF-16LE", raw[1:64:2], raw[:64:2]),
        ("UTF-16BE", raw[:64:2], raw[1:64:2]),
    ):
        if zeros and not any(zeros) and all(others):
            return name
    return ""
