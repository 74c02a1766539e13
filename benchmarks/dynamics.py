"""What an ODE solution costs: prototypes that win or share, and units of Sanger's rule.

Seconds of the processor: of 201 times to alpha = 100 for prototypes in as many clusters, of 401 to
alpha = 800 for units. The first solution of a process loads compiled loops, or compiles them once
for a machine. It has a separate column.
"""

from collections.abc import Callable, Iterator
from time import perf_counter, process_time

import numpy as np

from benchmarks._tools import show
from eigenstream.theory import CompetitiveDynamics, PrincipalDynamics

ROUNDS = 7


def prototypes(K: int, softness: float | None) -> Callable[[], object]:
    model = CompetitiveDynamics(2 * np.eye(K), learning_rate=0.5, softness=softness)
    R = 0.01 * np.random.default_rng(K).standard_normal((K, K))
    return lambda: model.solve(R, R @ R.T + 0.1 * np.eye(K), np.linspace(0, 100, 201))


def units(*strengths: float) -> Callable[[], object]:
    M, model = len(strengths), PrincipalDynamics(strengths, learning_rate=0.1)
    R = 0.06 + 1e-6 * np.random.default_rng(M).standard_normal((M, M))
    return lambda: model.solve(R, np.eye(M), np.linspace(0, 800, 401))


def solutions() -> Iterator[tuple[str, Callable[[], object]]]:
    for K in (2, 3, 4, 5):
        yield f"winner takes all, K = {K}", prototypes(K, None)
    for K, beta in ((2, 1.0), (2, 4.0), (2, 100.0), (3, 1.0), (3, 4.0), (4, 1.0)):
        yield f"soft, beta = {beta:g}, K = {K}", prototypes(K, beta)
    yield "Sanger, M = 2", units(0.6, 0.4)
    yield "Sanger, M = 3", units(0.6, 0.4, 0.2)
    yield "Sanger, M = 5", units(0.9, 0.8, 0.6, 0.4, 0.2)


def main() -> None:
    rows = []
    for name, solve in solutions():
        start = perf_counter()
        solve()
        first, times = perf_counter() - start, []
        for _ in range(ROUNDS):
            start = process_time()
            solve()
            times.append(1e3 * (process_time() - start))
        best, median = min(times), float(np.median(times))
        rows.append([name, f"{best:.1f}", f"{median:.1f}", f"{1e3 * first:.0f}"])
    show("ODE solutions, ms", ["", f"best of {ROUNDS}", "median", "first, by the clock"], rows)


if __name__ == "__main__":
    main()
