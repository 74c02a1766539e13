"""Classes of labelled rows, and hashes of the values of rows and pairs."""

import numpy as np
from numpy.typing import NDArray

from eigenstream.core.types import Matrix
from eigenstream.rows.chunk import Chunk, Places


def chunk_keys(chunk: Chunk) -> tuple[list[tuple[object, object]], Places]:
    """Return the (task, label) classes of a chunk, and the index of each row's class.

    Targets are labels of shape (n,), or labels and tasks of shape (n, 2).
    """
    targets = np.asarray(chunk.targets)
    if targets.ndim == 1:
        names, codes = np.unique(targets, return_inverse=True)
        return [(None, name) for name in names.tolist()], codes.astype(np.intp)
    labels, of_label = np.unique(targets[:, 0].tolist(), return_inverse=True)
    tasks, of_task = np.unique(targets[:, 1].tolist(), return_inverse=True)
    both, codes = np.unique(of_task * len(labels) + of_label, return_inverse=True)
    names, groups = labels.tolist(), tasks.tolist()
    keys = [(groups[k // len(names)], names[k % len(names)]) for k in both.tolist()]
    return keys, codes.astype(np.intp)


def row_hashes(rows: Matrix) -> NDArray[np.uint64]:
    """Return a hash of the values of each row, rounded to 23 significant bits.

    The rounding is needed because the last bits of a feature map may depend on the chunk size.
    """
    dense = rows.toarray() if hasattr(rows, "toarray") else rows
    odd = np.random.default_rng(20060).integers(0, 2**63, dense.shape[1], np.uint64) * 2 + 1
    bits = np.ascontiguousarray(dense + 0.0, np.float64).view(np.uint64)
    bits = (bits + np.uint64(1 << 28)) >> np.uint64(29)
    return mixed((bits * odd).sum(axis=1, dtype=np.uint64))


def pair_hashes(chunk: Chunk) -> NDArray[np.uint64]:
    """Return a hash of the values of each pair, which does not depend on the order in it."""
    assert chunk.pairs is not None
    hashes = row_hashes(chunk.rows)[chunk.pairs]
    return mixed(hashes[:, 0] + hashes[:, 1])


def mixed(h: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return hashes in which each bit depends on all input bits (splitmix64)."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        h = (h ^ (h >> np.uint64(shift))) * np.uint64(factor)
    return h
