"""Files that are written whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import cast


@contextmanager
def replacing(path: Path) -> Iterator[TextIOWrapper]:
    """Open a file that takes the place of ``path`` once it is complete, and never before.

    >>> from tempfile import mkdtemp
    >>> target = Path(mkdtemp()) / "note.txt"
    >>> with replacing(target) as file:
    ...     _ = file.write("whole"); early = target.exists()
    >>> early, target.read_text()
    (False, 'whole')
    """
    # A link stays a link: what it points at is replaced.
    target = path.resolve()
    if target.is_dir():
        raise IsADirectoryError(f"cannot write {path}: it is a folder")
    if target.exists() and not target.is_file():
        raise OSError(f"cannot write {path}: it is a device or a pipe, not a file")
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(f"cannot write {path}: it is read-only")
    try:
        file = tempfile.NamedTemporaryFile(  # noqa: SIM115
            "w", encoding="utf-8", dir=target.parent, prefix=f".{target.name}.", delete=False
        )
    except OSError as refusal:
        raise OSError(f"cannot write {path}: {refusal.strerror}") from refusal
    try:
        with file:
            yield cast(TextIOWrapper, file.file)
            # On the disk before it takes the place: a crash leaves the one or the other.
            file.flush()
            os.fsync(file.fileno())
        # Temporary files are private; a report is as readable as any other new file.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(file.name, 0o666 & ~mask)
        os.replace(file.name, target)
    except BaseException:
        Path(file.name).unlink(missing_ok=True)
        raise
