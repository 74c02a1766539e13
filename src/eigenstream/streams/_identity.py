"""What tells one stream from another: its sources, how they are read, and the steps behind them."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from hashlib import blake2b
from typing import Any

import numpy as np

from eigenstream._checks import is_sparse, warn_user
from eigenstream.streams._columns import Reading
from eigenstream.streams._places import File, Pipe, within
from eigenstream.streams._steps import Preprocessing
from eigenstream.streams.base import RowTable, SlicedTable, StreamError, Wanted, as_floats

__all__ = ["check_identity", "identity_of"]

#: What is read of a file: its first and last bytes, and some between. A smaller file is read whole.
EDGE, BETWEEN, PIECES = 1 << 16, 1 << 12, 16

#: Of a folder with more files, so many are looked into; the names and sizes of all count.
MOST_FILES = 64

#: Of rows in memory: how many numbers are looked at, at each of three places.
NUMBERS = 1 << 14

#: What each fact is called where it differs.
WORDS = {
    "name": "is called {}",
    "rows": "has {} rows",
    "columns": "has {} columns",
    "dtype": "holds {}",
    "bytes": "has {} bytes",
    "digest": "has other content",
}


def identity_of(
    tables: Sequence[RowTable],
    plan: Reading,
    preprocessing: Preprocessing,
    labels: str | None = None,
) -> dict[str, Any]:
    """Return the facts as lists, dicts, numbers and text."""
    reading = {
        name: str(value)
        for name, value in vars(plan).items()
        if name not in ("width", "names") and value is not None
    }
    if labels is not None:
        reading["labels beside the rows"] = labels
    steps = [repr(step) for step in preprocessing.steps]
    learned = [
        "" if step.learns_first else _digest_of_state(step.fresh().state())
        for step in preprocessing.steps
    ]
    return {
        "sources": [_facts(table) for table in tables],
        "reading": reading,
        "steps": steps,
        "learned": learned,
    }


def check_identity(expected: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    """Refuse a stream that differs from the one expected, naming the first thing that does."""
    before, now = expected["sources"], found["sources"]
    for old, new in zip(before, now, strict=False):
        for fact, words in WORDS.items():
            if old.get(fact) != new.get(fact):
                then = "" if fact == "digest" else f", and {words.format(old.get(fact))} there"
                raise StreamError(f"{new['name']} {words.format(new.get(fact))}{then}")
    if len(before) != len(now):
        raise StreamError(f"there are {len(now)} sources, and {len(before)} there")
    for name in sorted({*expected["reading"], *found["reading"]}):
        old, new = (one["reading"].get(name) for one in (expected, found))
        if old != new:
            raise StreamError(f"{name}={new}, and {name}={old} there")
    if list(expected["steps"]) != list(found["steps"]):
        told = [", ".join(one["steps"]) or "none" for one in (found, expected)]
        raise StreamError(f"the steps of preprocessing are {told[0]}, and {told[1]} there")
    for step, old, new in zip(found["steps"], expected["learned"], found["learned"], strict=True):
        # A step that has still to learn takes over what it had learned.
        if old and new and old != new:
            raise StreamError(f"{step} has learned something else than there")
    touched = [
        new["name"]
        for old, new in zip(before, now, strict=True)
        if old.get("changed") != new.get("changed")
    ]
    if touched:
        more = f" and {len(touched) - 1} more" if len(touched) > 1 else ""
        warn_user(
            f"{touched[0]}{more}: copied or written to since the checkpoint. Size, beginning, end "
            "and some places between are the same, so the fit goes on; what lies elsewhere was not "
            "compared."
        )


def _facts(table: RowTable) -> dict[str, Any]:
    """Return what is known of a source without reading all of it."""
    facts: dict[str, Any] = {"name": _plain_name(table.name), "rows": table.n_rows}
    facts |= {"columns": table.width, "dtype": None if table.dtype is None else str(table.dtype)}
    file = getattr(table, "file", None)
    files = getattr(table, "files", None) or ([] if file is None else [file])
    if any(isinstance(one, Pipe) or not one.rereadable for one in files):
        raise StreamError(
            f"{table.name} cannot be read from the middle in another process, so that no "
            "checkpoint serves. Write it to a file first."
        )
    if files:
        return facts | _of_files(files)
    if table.rereadable and table.n_rows is not None:
        facts["digest"] = _of_rows(table, table.n_rows)
    return facts


def _plain_name(name: str) -> str:
    """Return a name without folders: data may be moved."""
    path, mark, part = name.partition("::")
    return os.path.basename(path.rstrip("/")) + mark + part


def _of_files(files: Sequence[File]) -> dict[str, Any]:
    every = [one for file in files for one in (_inside(file) if file.is_folder else [file])]
    found = blake2b(digest_size=16)
    size, changed = 0, 0
    looked = set(np.linspace(0, len(every) - 1, min(len(every), MOST_FILES)).astype(int).tolist())
    for number, file in enumerate(every):
        length = file.size() or 0
        size += length
        found.update(f"{os.path.basename(file.path)}:{length};".encode())
        if number in looked:
            _sample(file, length, found)
        if file.system is None:
            changed = max(changed, os.stat(file.path).st_mtime_ns)
    return {"bytes": size, "digest": found.hexdigest(), "changed": changed}


def _inside(folder: File) -> Iterator[File]:
    for name in sorted(within(folder)):
        yield File(name, "", folder.system)


def _sample(file: File, length: int, found: Any) -> None:
    """Add some bytes of a file to a digest."""
    with file.open() as stream:
        if length <= 2 * EDGE + PIECES * BETWEEN:
            found.update(stream.read())
            return
        places = np.linspace(EDGE, length - EDGE - BETWEEN, PIECES).astype(np.int64).tolist()
        for place, count in [(0, EDGE), *((one, BETWEEN) for one in places), (length - EDGE, EDGE)]:
            stream.seek(place)
            found.update(stream.read(count))


def _of_rows(table: RowTable, n_rows: int) -> str:
    """Return a digest of some rows in memory: the first, some in the middle, and the last."""
    count = max(NUMBERS // max(table.width or 1, 1), 1)
    found = blake2b(digest_size=16)
    # Where rows are computed or read past (Dask, Arrow's datasets), the first ones must do.
    at_once = isinstance(table, SlicedTable) or hasattr(table, "frame")
    places = {0, n_rows // 2, max(n_rows - count, 0)} if at_once else {0}
    for start in sorted(places):
        wanted = Wanted(start=start, stop=start + count, block_rows=count)
        with closing(table.blocks(wanted)) as blocks:  # type: ignore[type-var]
            block: Any = next(blocks, None)
        if block is not None:
            rows = block.rows.toarray() if is_sparse(block.rows) else np.asarray(block.rows)
            if rows.dtype.kind in "biuf":
                rows = as_floats(rows, np.dtype(np.float64), table.name)
                found.update(np.ascontiguousarray(rows).data)
    return found.hexdigest()


def _digest_of_state(state: Mapping[str, Any]) -> str:
    found = blake2b(digest_size=16)
    for name in sorted(state):
        value = state[name]
        found.update(name.encode())
        found.update(value.tobytes() if isinstance(value, np.ndarray) else str(value).encode())
    return found.hexdigest()
