"""How a text table begins: what parts its columns, what they are called, where its rows start."""

import csv
from dataclasses import dataclass
from io import StringIO

__all__ = ["NOTHING", "Layout", "layout_of"]

#: How a missing value may be written.
NOTHING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "-", "?", "#N/A", "n/a")


@dataclass(frozen=True)
class Layout:
    """What the first lines of a text table say about all of them."""

    delimiter: str
    #: Whether any run of blanks parts two columns, as where numbers stand below each other.
    blanks: bool
    names: tuple[str, ...] | None
    #: Whether the names are a line of the table, which without them would be a row.
    headed: bool
    width: int
    #: How many bytes come before the first row.
    start: int
    #: Whether some row has been seen, and for each column whether its values were numbers.
    has_rows: bool
    numbers: tuple[bool, ...]
    #: Of columns that were not: the first value that is no number, and its row.
    words: dict[int, tuple[str, int]]


def layout_of(
    text: str, suffix: str = ".csv", delimiter: str | None = None, decimal: str = "."
) -> Layout | None:
    """Return how a table is laid out whose first whole lines these are; None if it has no line.

    Lines that begin with ``#`` come first or not at all; the last one names the columns where
    nothing else does and it has as many words as there are columns, as ``numpy.savetxt`` writes.

    >>> found = layout_of("# made by hand\\n# x y\\n 1  2\\n30  4\\n", ".txt")
    >>> found.names, found.width, found.blanks, found.start
    (('x', 'y'), 2, True, 21)
    >>> layout_of("a;b\\n1,5;2\\n", decimal=",").names
    ('a', 'b')
    """
    lines = list(StringIO(text, newline=""))
    at = 0
    while at < len(lines) and (not lines[at].strip() or lines[at].lstrip().startswith("#")):
        at += 1
    if at == len(lines):
        return None
    comment = next((line for line in reversed(lines[:at]) if line.strip()), "")
    blanks = False
    if delimiter is None:
        delimiter = guessed_delimiter(lines[at], suffix, decimal)
        blanks = delimiter == " "
    rest = [" ".join(line.split()) + "\n" if blanks else line for line in lines[at:]]
    reader = csv.reader(rest, delimiter=delimiter)
    first = next(reader)
    ended = reader.line_num
    below = [line for line in reader if line]
    headed = _is_numbered(first, below) or not all(_is_number(cell, decimal) for cell in first)
    names: tuple[str, ...] | None
    if headed:
        names = tuple(cell.strip() for cell in first)
        start = at + ended
    else:
        names = _commented(comment, len(first), delimiter, decimal)
        below.insert(0, first)
        start = at
    words: dict[int, tuple[str, int]] = {}
    for row, line in enumerate(below):
        for one, cell in enumerate(line[: len(first)]):
            if one not in words and not _is_number(cell, decimal):
                words[one] = cell, row
    numbers = tuple(bool(below) and one not in words for one in range(len(first)))
    size = len("".join(lines[:start]).encode())
    return Layout(delimiter, blanks, names, headed, len(first), size, bool(below), numbers, words)


def _commented(comment: str, width: int, delimiter: str, decimal: str) -> tuple[str, ...] | None:
    """Return the names of the columns that a line of comment holds, if it does."""
    words = comment.strip().removeprefix("#").strip()
    cells = words.split() if delimiter == " " else [one.strip() for one in words.split(delimiter)]
    named = len(cells) == width and all(cells) and len(set(cells)) == width
    return tuple(cells) if named and not any(_is_number(one, decimal) for one in cells) else None


def guessed_delimiter(line: str, suffix: str, decimal: str = ".") -> str:
    """Return what separates the columns: of the usual ones, the commonest in the first line.

    Blanks come last: names of columns hold them, too.

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


def _is_numbered(first: list[str], below: list[list[str]]) -> bool:
    """Tell the numbers by which pandas names columns without names: 0,1,2 above 0.5,1.5,2.5.

    >>> _is_numbered(["0", "1", "2"], [["0.5", "1.5", "2.5"]])
    True
    """
    if not below or len(first) < 3:
        return False
    counted = first == [str(place) for place in range(len(first))]
    return counted and not any(cell.strip().lstrip("+-").isdigit() for cell in below[0])


def _is_number(cell: str, decimal: str) -> bool:
    try:
        float(cell.replace(decimal, "."))
    except ValueError:
        return cell.strip() in NOTHING
    return True
