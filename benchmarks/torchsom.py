"""Batch training of a map of 25 x 15 units, compared with the published times of TorchSOM."""

from time import process_time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._tools import show
from eigenstream import SelfOrganizingMap

ROWS, PASSES, UNITS = 16_000, 100, (25, 15)
#: Seconds in the table of TorchSOM for each number of features: 8 cores, and a T4 GPU.
PUBLISHED = {50: (21.9, 10.8), 300: (30.4, 11.6)}


def noise(width: int) -> Any:
    """Return rows of white noise."""
    return np.random.default_rng(0).standard_normal((ROWS, width))


def seconds(rows: Any) -> float:
    """Return the time of one thread for all passes."""
    som = SelfOrganizingMap(UNITS, training="batch", max_iter=PASSES, random_state=0)
    with threadpool_limits(1):
        start = process_time()
        som.fit(rows)
        return process_time() - start


def main() -> None:
    """Compare the times."""
    seconds(noise(4))  # compiles
    table = [
        [str(width), f"{seconds(noise(width)):.1f}", *map(str, theirs)]
        for width, theirs in PUBLISHED.items()
    ]
    show(
        f"Seconds for {PASSES} passes over {ROWS:,} rows",
        ["features", "ours, one thread", "TorchSOM, 8 cores", "TorchSOM, a T4 GPU"],
        table,
    )


if __name__ == "__main__":
    main()
