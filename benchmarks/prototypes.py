"""Prototypes compared with k-means of scikit-learn, river and faiss: one pass, one thread."""

import tracemalloc
from importlib.util import find_spec
from time import process_time
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.datasets import load_digits

from benchmarks._tools import console, race, show, stored_images
from eigenstream import CompetitiveLearning
from eigenstream.prototypes._steps import WINNER, learn

#: Prototypes and features of the race, and its rows; and those for river, a Python call each.
K, D, ROWS, FEW = 100, 784, 20_000, 30
SEEDS = range(3)


def images(n: int) -> Any:
    """Rows like images: clusters whose columns hang together, all positive."""
    rng = np.random.default_rng(0)
    smooth = np.cumsum(rng.standard_normal((40, D)), axis=1)
    return np.abs(smooth[rng.integers(40, size=n)] / 28 + 0.3 * rng.standard_normal((n, D)))


def minibatch(rows: Any, start: Any) -> Any:
    model = MiniBatchKMeans(K, batch_size=1024, init=start, n_init=1)
    for at in range(0, len(rows), 1024):
        model.partial_fit(rows[at : at + 1024])
    return model


def one_pass() -> None:
    rows = images(ROWS)
    start = rows[:K].copy()
    counted = np.stack([np.full(ROWS // 10, -1.0), np.zeros(ROWS // 10), np.ones(ROWS // 10)])
    runs: dict[str, tuple[int, Any]] = {
        "CompetitiveLearning, winner": (
            ROWS,
            lambda: CompetitiveLearning(K, init=start).partial_fit(rows).prototypes_,
        ),
        "the same, row by row": (
            ROWS // 10,
            lambda: learn(start.copy(), rows[: ROWS // 10], WINNER, counted, np.ones(K), block=0),
        ),
        "soft, constant rate": (
            ROWS // 4,
            lambda: (
                CompetitiveLearning(K, init=start, assignment="soft", learning_rate=0.01)
                .partial_fit(rows[: ROWS // 4])
                .prototypes_
            ),
        ),
        "rank, constant rate": (
            ROWS // 4,
            lambda: (
                CompetitiveLearning(K, init=start, assignment="rank", learning_rate=0.01)
                .partial_fit(rows[: ROWS // 4])
                .prototypes_
            ),
        ),
        "MiniBatchKMeans(batch_size=1024).partial_fit": (ROWS, lambda: minibatch(rows, start)),
        "the distances alone: one matrix product a row": (
            ROWS,
            lambda: [rows[at : at + 1024] @ start.T for at in range(0, ROWS, 1024)],
        ),
        "KMeans, one iteration": (
            ROWS,
            lambda: KMeans(K, init=start, n_init=1, max_iter=1).fit(rows),
        ),
    }
    if find_spec("faiss"):
        import faiss

        single = rows.astype(np.float32)

        def theirs() -> None:
            faiss.omp_set_num_threads(1)
            model = faiss.Kmeans(D, K, niter=1, max_points_per_centroid=ROWS)
            model.train(single, init_centroids=single[:K])

        runs["faiss, float32, one iteration"] = (ROWS, theirs)
    else:
        console.print("faiss is not installed: pip install faiss-cpu.")
    if find_spec("river"):
        from river import cluster

        named = [{str(j): float(v) for j, v in enumerate(row)} for row in rows[:FEW]]

        def river() -> None:
            model = cluster.KMeans(n_clusters=K, halflife=0.5, sigma=1, seed=0)
            for x in named:
                model.learn_one(x)

        runs["river's KMeans"] = (FEW, river)
    else:
        console.print("river is not installed: pip install river, or the extra 'bench'.")
    for _, run in runs.values():
        run()
    times = race({k: run for k, (_, run) in runs.items()}, rounds=3, clock=process_time)
    per = {name: 1e6 * times[name] / runs[name][0] for name in runs}
    first = per["CompetitiveLearning, winner"]
    show(
        f"{K} prototypes, {D} features, one pass: microseconds a row",
        ["", "µs", "times ours"],
        [[name, f"{each:.2f}", f"{each / first:.2f}"] for name, each in per.items()],
    )


def records() -> None:
    """Measure the time that recording prototypes every n steps adds to a run."""
    every, table = (1, 5, 20, 100, 1000, 2000), []
    for n_prototypes, width in ((2, 1000), (16, 1000), (K, D)):
        rng = np.random.default_rng(0)
        rows = rng.standard_normal((10_000, width))
        start = 0.3 * rng.standard_normal((n_prototypes, width))
        common: dict[str, Any] = {"init": start, "learning_rate": 0.5 / width}

        def run(n: int | None, rows: Any = rows, common: Any = common) -> None:
            # Records of every step are as large as 100 such runs.
            part = rows[:1000] if n == 1 else rows
            CompetitiveLearning(len(common["init"]), **common, record_every=n).partial_fit(part)

        run(1)
        runs: dict[str, Any] = {"": lambda run=run: run(None)}
        times = race(
            runs | {str(n): lambda n=n, run=run: run(n) for n in every},
            rounds=12,
            clock=process_time,
        )
        plain = times[""]
        shares = [10 * times["1"] / plain - 1] + [times[str(n)] / plain - 1 for n in every[1:]]
        name = f"{n_prototypes} of {width} features"
        table.append(
            [name, f"{1e6 * plain / len(rows):.1f}", *(f"{100 * s:.0f} %" for s in shares)]
        )
    show(
        "Time that records every n steps add",
        ["prototypes", "µs a step", *(f"n = {n}" for n in every)],
        table,
    )


def memory() -> None:
    table = []
    for n in (20_000, 80_000):
        model = CompetitiveLearning(K, init=images(K))
        chunks = [images(1000)]
        model.partial_fit(chunks[0])
        tracemalloc.start()
        for _ in range(n // 1000):
            model.partial_fit(chunks[0])
        table.append([f"{n}", f"{tracemalloc.get_traced_memory()[1] / 2**20:.1f}"])
        tracemalloc.stop()
    show("Memory of a pass in chunks of 1000 rows", ["rows", "MiB at most"], table)


def shares(name: str, rows: Any, n_prototypes: int) -> list[str]:
    """Inertia of one pass in random order over that of k-means that stands still."""
    found = []
    for seed in SEEDS:
        shuffled = np.random.default_rng(seed).permutation(rows)
        theirs = KMeans(n_prototypes, n_init=1, random_state=seed).fit(rows).inertia_
        line = []
        for given in ({}, {"init": "k-means++"}):
            line.append(
                CompetitiveLearning(n_prototypes, random_state=seed, **given).fit(shuffled).inertia_
                / theirs
            )
        found.append(line)
    return [name, str(n_prototypes)] + [
        " ".join(f"{one:.3f}" for one in column) for column in np.transpose(found)
    ]


def quality() -> None:
    sets = [("digits", load_digits().data, 10), ("digits", load_digits().data, 50)]
    for name, count in (("mnist", 10), ("mnist", 100), ("letters", 26), ("letters", 100)):
        if stored := stored_images(name):
            sets.append((name, stored[0].astype(np.float32), count))
    show(
        "Inertia after one pass, divided by that of KMeans(n_init=1), three seeds",
        ["", "prototypes", "init='k-means'", "'k-means++'"],
        [shares(*one) for one in sets],
    )


def merging() -> None:
    """Measure the inertia of parts learned apart and merged, over that of one pass."""
    stored = stored_images("mnist")
    if stored is None:
        return
    rows = stored[0].astype(np.float32)
    table = []
    for count, parts in ((10, 2), (10, 4), (10, 8), (100, 2), (100, 4)):
        found = []
        for seed in SEEDS:
            shuffled = np.random.default_rng(seed).permutation(rows)
            model = CompetitiveLearning(count, init_size=500, random_state=seed)
            whole = -clone(model).fit(shuffled).score(rows)
            apart = [clone(model).fit(part) for part in np.array_split(shuffled, parts)]
            merged = apart[0]
            for other in apart[1:]:
                merged = merged.merge(other)
            found.append(-merged.score(rows) / whole)
        table.append([str(count), str(parts), " ".join(f"{one:.3f}" for one in found)])
    show(
        "Inertia of merged parts, divided by that of one pass, three seeds",
        ["prototypes", "parts", "MNIST"],
        table,
    )


def main() -> None:
    one_pass()
    records()
    memory()
    quality()
    merging()
