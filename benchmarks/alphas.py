"""Solving for several alphas, and choosing one: beside the eigensolves that it takes."""

import numpy as np
from scipy.linalg import eigh

from benchmarks._tools import race, show
from eigenstream import SlowSubspace
from eigenstream.solvers import dense

WIDTH, COMPONENTS, CUT = 784, 10, 1e-12
ALPHAS = np.linspace(0.1, 1.0, 10)


def main() -> None:
    """Print a path of ten alphas, and the threshold of "auto", in eigensolves."""
    rows = np.random.default_rng(0).standard_normal((3000, WIDTH)).cumsum(axis=1)
    slow = SlowSubspace(COMPONENTS, alpha=0.5).fit(rows)
    reward, penalty = slow.contrast_.reward.matrix(), slow.contrast_.penalty.matrix()
    total = 0.5 * (reward - penalty)

    def apart() -> None:
        for _ in ALPHAS:
            dense.largest(total, COMPONENTS)
            dense.count_positive(total, CUT)

    def by_eigenvectors() -> None:
        values, vectors = eigh(reward + penalty)
        white = vectors / np.sqrt(values)
        dense.largest(white.T @ reward @ white, COMPONENTS)

    best = race(
        {
            "one eigensolve": lambda: dense.largest(total, COMPONENTS),
            "ten: components, then counts": apart,
            "ten: path, with its alpha": lambda: slow.path(ALPHAS),
            "threshold, by eigenvectors": by_eigenvectors,
            "threshold": lambda: dense.smallest_positive_weight(reward, penalty, COMPONENTS, CUT),
        }
    )
    one = best["one eigensolve"]
    show(
        f"SlowSubspace, {WIDTH} features, {COMPONENTS} components",
        ["", "seconds", "eigensolves"],
        [[name, f"{t:.3f}", f"{t / one:.1f}"] for name, t in best.items()],
    )


if __name__ == "__main__":
    main()
