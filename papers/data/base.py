"""Arrays from the folder that EIGENSTREAM_DATA names."""

import zlib
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from eigenstream._checks import check_finite

#: The variable that names the folder.
VARIABLE = "EIGENSTREAM_DATA"


def arrays(path: Path, names: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    """Read the named arrays of one file."""
    if not path.is_file():
        raise ValueError(
            f"{VARIABLE} names a folder without {path.name}: {path.parent}. See "
            f"docs/papers.md for how to make it, or unset {VARIABLE}."
        )
    try:
        # Read from an open file, which closes whatever becomes of it.
        with path.open("rb") as file:
            archive = np.load(file, allow_pickle=False)
            missing = [name for name in names if name not in archive]
            held = {} if missing else {name: np.asarray(archive[name]) for name in names}
    except (ValueError, TypeError, KeyError, EOFError, OSError, BadZipFile, zlib.error) as refusal:
        raise ValueError(
            f"{path} is damaged, or no .npz file of plain arrays: docs/papers.md says how to "
            "make it."
        ) from refusal
    if missing:
        raise ValueError(f"{path} lacks the arrays {', '.join(missing)}.")
    for name, array in held.items():
        if array.dtype.kind == "f":
            rows = array.reshape(max(np.atleast_1d(array).shape[0], 1), -1)
            check_finite(rows, name=f"{name} in {path}")
    return held
