"""What ``fit --report`` shows: rows are noted as they pass, and the page is written at the end."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from eigenstream.cli._options import shape_of

__all__ = ["Noted", "check_page", "page_written"]


class Noted:
    """A stream that takes note of what passes: it reads as the stream does."""

    def __init__(self, stream: Any) -> None:
        from eigenstream.reports import SeenRows

        self._stream = stream
        self.seen = SeenRows(tuple(stream.sources))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __repr__(self) -> str:
        return repr(self._stream)

    def with_labels(self, labels: Any) -> "Noted":
        """Return the stream with labels from elsewhere, of which note is taken, too."""
        return Noted(self._stream.with_labels(labels))

    def keeping_holes(self) -> "Noted":
        """Read the stream with NaN where a value is missing, from now on."""
        self._stream = self._stream.keeping_holes()
        return self

    def chunks(self, *args: Any, **how: Any) -> Iterator[Any]:
        """Start a pass; what was noted of another one is forgotten."""
        self.seen.begin()
        with closing(self._stream.chunks(*args, **how)) as chunks:
            for chunk in chunks:
                self.seen.add(chunk)
                yield chunk
        self.seen.n_filled = self._stream.n_filled


def check_page(
    path: Path | None,
    shape: str | None,
    inputs: list[str],
    columns: int | None = None,
    option: str = "--shape",
) -> None:
    """Refuse a page that cannot be written, or a shape that rows do not have, before the work."""
    from eigenstream._files import check_writable

    size = shape_of(shape, option)
    if path is None:
        if size is not None:
            shows = "components" if option == "--shape" else "units"
            raise ValueError(f"{option} says how --report shows {shows}: give --report as well.")
        return
    if path.suffix.lower() != ".html":
        raise ValueError(f"--report {path}: the name must end in .html, as {path.stem}.html.")
    if size is not None and columns not in (None, size[0] * size[1]):
        raise ValueError(
            f"{option} {shape} has {size[0] * size[1]} pixels, and the rows have {columns} columns."
        )
    for name in inputs:
        source = Path(name.partition("::")[0])
        if path.exists() and source.exists() and path.samefile(source):
            raise ValueError(f"--report {path}: this would replace what is read.")
    check_writable(path)


def page_written(
    estimator: Any, stream: Any, path: Path, shape: tuple[int, int] | None, seconds: float
) -> None:
    """Write the page about a fit of a stream that took so many seconds."""
    from eigenstream.reports import SeenRows, report

    seen = stream.seen if isinstance(stream, Noted) else None
    taken = getattr(estimator, "n_samples_seen_", None)
    if taken is None:  # prototypes say how many steps they took, a row each in every pass
        taken = estimator.n_steps_ // getattr(estimator, "n_iter_", 1)
    learned = taken + estimator.n_samples_skipped_
    if seen is not None and seen.n_rows != learned and stream.rereadable:
        # Several passes in other ways, or the second half of an interrupted one.
        seen = SeenRows.of(stream)
    command = shlex.join(["eigenstream", *sys.argv[1:]])
    took = {"reading and learning": seconds}
    report(estimator, path, seen, shape=shape, seconds=took, command=command)
