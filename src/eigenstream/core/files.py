"""Atomic replacement of files."""

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from io import TextIOWrapper
from pathlib import Path
from shutil import rmtree
from typing import cast

#: The error codes of a full disk, an exceeded quota and a file that is too large.
NO_ROOM = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EFBIG)


@contextmanager
def replacing(path: Path) -> Iterator[TextIOWrapper]:
    """Open a temporary file that replaces ``path`` when it is complete.

    >>> from tempfile import mkdtemp
    >>> target = Path(mkdtemp()) / "note.txt"
    >>> with replacing(target) as file:
    ...     _ = file.write("whole"); early = target.exists()
    >>> early, target.read_text()
    (False, 'whole')
    """
    # Replace the target of a link, not the link.
    target = path.resolve()
    if target.exists() and not (target.is_file() and os.access(target, os.W_OK)):
        raise OSError(f"cannot write {path}: it is read-only, or not a file")
    try:
        file = tempfile.NamedTemporaryFile(  # noqa: SIM115
            "w", encoding="utf-8", dir=target.parent, prefix=f".{target.name}.", delete=False
        )
    except OSError as refusal:
        raise OSError(f"cannot write {path}: {refusal.strerror}") from refusal
    try:
        with file:
            yield cast(TextIOWrapper, file.file)
            # Write to the disk before replacing, so that a crash leaves a complete file.
            file.flush()
            os.fsync(file.fileno())
        # Temporary files are private. Give the file the owner and the mode of the one that it
        # replaces, or else the mode of other new files.
        mask = os.umask(0)
        os.umask(mask)
        mode = 0o666 & ~mask
        if target.exists():
            before = target.stat()
            mode = stat.S_IMODE(before.st_mode)
            with suppress(OSError, AttributeError):  # only the superuser changes the owner
                os.chown(file.name, before.st_uid, before.st_gid)
        os.chmod(file.name, mode)
        os.replace(file.name, target)
    except BaseException as problem:
        Path(file.name).unlink(missing_ok=True)
        # Errors of a full disk do not name the file.
        if isinstance(problem, OSError) and problem.errno in NO_ROOM:
            raise OSError(f"cannot write {path}: {problem.strerror}") from problem
        raise


@contextmanager
def folder_beside(path: Path) -> Iterator[Path]:
    """Create a temporary folder next to a file, for libraries that write files by name."""
    target = path.resolve()
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as folder:
        yield Path(folder)


def remove_leftovers(path: Path) -> None:
    """Remove the incomplete files that a killed process has left next to a file.

    >>> from tempfile import mkdtemp
    >>> target = Path(mkdtemp()) / "fit.eigs"
    >>> part = target.parent / ".fit.eigs.0a1b2c3d"
    >>> _ = part.write_text("a part")
    >>> remove_leftovers(target)
    >>> part.exists()
    False
    """
    target = path.resolve()
    for part in target.parent.glob(f".{escape(target.name)}.????????"):
        if part.is_dir():
            rmtree(part, ignore_errors=True)
        else:
            part.unlink(missing_ok=True)


class _Enough(Exception):
    """Raised to discard a file after it was opened for a test."""


def check_writable(path: Path) -> None:
    """Raise if a file cannot be written, without changing an existing file.

    >>> from tempfile import mkdtemp
    >>> check_writable(Path(mkdtemp()) / "no" / "such" / "folder.txt")
    Traceback (most recent call last):
        ...
    OSError: cannot write ...folder.txt: No such file or directory
    """
    with suppress(_Enough), replacing(path):
        raise _Enough
