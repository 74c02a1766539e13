"""Files that are written whole or not at all."""

import errno
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import cast

#: What a disk says that has no room: in all, for this user, for a file of this size.
NO_ROOM = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EFBIG)


@contextmanager
def full_disk_named(path: Path) -> Iterator[None]:
    """Say which file there is no room for: the system does not, of a file that is open.

    >>> with full_disk_named(Path("page.html")):
    ...     raise OSError(errno.ENOSPC, "No space left on device")
    Traceback (most recent call last):
        ...
    OSError: cannot write page.html: No space left on device
    """
    try:
        yield
    except OSError as problem:
        if problem.errno not in NO_ROOM:
            raise
        raise OSError(f"cannot write {path}: {problem.strerror}") from problem


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
            "w", encoding="utf-8", dir=target.parent, prefix=_mark(target), delete=False
        )
    except OSError as refusal:
        raise OSError(f"cannot write {path}: {refusal.strerror}") from refusal
    try:
        with full_disk_named(path), file:
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


@contextmanager
def folder_beside(path: Path) -> Iterator[Path]:
    """Give a folder beside a file for who writes files of its own there; it is gone afterwards.

    What a killed process has left of it is removed as its other temporary files are.
    """
    target = path.resolve()
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=_mark(target)) as folder:
        yield Path(folder)


class _Enough(Exception):
    """A file could be opened, and is dropped again."""


def check_writable(path: Path) -> None:
    """Refuse a file that cannot be written, before the work; what is there stays.

    >>> from tempfile import mkdtemp
    >>> check_writable(Path(mkdtemp()) / "no" / "such" / "folder.txt")
    Traceback (most recent call last):
        ...
    OSError: cannot write ...folder.txt: No such file or directory
    """
    try:
        with replacing(path):
            raise _Enough
    except _Enough:
        pass


def _mark(target: Path) -> str:
    """Return how the temporary files of this process begin."""
    return f".{target.name}.{platform.node()}-{os.getpid()}."


def remove_abandoned(path: Path) -> None:
    """Remove the temporary files that processes have left that were killed while they wrote.

    Those of processes that live, or of other machines on a shared disk, stay.
    """
    target = path.resolve()
    start = f".{target.name}.{platform.node()}-"
    try:
        there = list(target.parent.iterdir())
    except OSError:  # a folder that may be written to, and not be listed
        return
    for one in there:
        owner = one.name.removeprefix(start).partition(".")[0]
        if one.name.startswith(start) and owner.isdecimal() and not _lives(int(owner)):
            if one.is_dir():
                shutil.rmtree(one, ignore_errors=True)
            else:
                one.unlink(missing_ok=True)


def _lives(process: int) -> bool:
    if os.name != "posix":  # where asking would end it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
