"""A lesson on principal components: the variance probe, coding, iterations, and scaling."""

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from eigenstream import StreamPCA, plotting
from eigenstream.demo import Clock
from eigenstream.reports.base import PageTable, Report, Section
from papers.base import Effort, Outcome, Paper, degrees, drawing, pictures

#: Features of the matrix on which the iterations are compared, and its eigenvalues.
WIDTH = 50
SPECTRUM = 0.9 ** np.arange(WIDTH)
#: Components kept of the digits.
KEPT = (1, 2, 4, 8, 16, 32, 64)
#: Widths of the scaling picture, and rows of each.
WIDTHS = (50, 100, 200, 400, 800)
ROWS: Mapping[Effort, int] = {"tiny": 500, "quick": 4000, "default": 40_000, "full": 200_000}


def power_iteration(moment: Any, start: Any, products: int) -> Any:
    """Return b / |b| after each product b <- R b, one a row.

    >>> power_iteration(np.diag([2.0, 1.0]), np.array([1.0, 1.0]), 20)[-1].round(6)
    array([1.e+00, 1.e-06])
    """
    vectors, b = [], start
    for _ in range(products):
        b = moment @ b
        b = b / np.linalg.norm(b)
        vectors.append(b)
    return np.array(vectors)


def krylov(moment: Any, start: Any, products: int) -> Any:
    """Return the best direction in span(b, R b, ..., R^k b) for each k, one a row.

    Gram-Schmidt, twice, makes the vectors orthonormal. The best direction is the top eigenvector
    of R within their span.

    >>> krylov(np.diag([2.0, 1.0]), np.array([1.0, 1.0]), 1).round(6) + 0.0
    array([[1., 0.]])
    """
    basis, vectors = [start / np.linalg.norm(start)], []
    for _ in range(products):
        b = moment @ basis[-1]
        size = np.linalg.norm(b)
        for _ in range(2):
            b = b - np.array(basis).T @ (np.array(basis) @ b)
        if np.linalg.norm(b) > 1e-12 * size:  # otherwise the span is whole
            basis.append(b / np.linalg.norm(b))
        Q = np.array(basis).T
        vectors.append(Q @ np.linalg.eigh(Q.T @ moment @ Q)[1][:, -1])
    return np.array(vectors)


def probe() -> tuple[Section, dict[str, Any]]:
    """Show the variance along every direction of the plane."""
    rows = np.random.default_rng(0).multivariate_normal([0, 0], [[2.0, 0.9], [0.9, 0.6]], 2000)
    pca = StreamPCA(2).fit(rows)
    angles = np.linspace(0, 180, 181)
    turned = np.radians(angles)
    values = [pca.variance_along(q) for q in np.column_stack([np.cos(turned), np.sin(turned)])]
    lines: dict[str, Any] = {"psi(q) = q'Rq": (angles, values)}
    for k, value in enumerate(pca.eigenvalues_):
        lines[f"eigenvalue {k + 1}"] = (angles[[0, -1]], np.full(2, value))
    ax = plotting.courses(lines, labels=("direction q, degrees", "variance"))
    text = (
        "The variance of the rows along a unit vector q is psi(q) = q'Rq. Its largest and smallest "
        "values are the eigenvalues of R, at the eigenvectors."
    )
    block = drawing(ax, "The variance along every direction of the plane")
    extremes = {"largest": max(values), "smallest": min(values)}
    return Section("The variance probe", text, (block,)), extremes | {
        "eigenvalues": pca.eigenvalues_.tolist()
    }


def coding() -> tuple[Section, dict[str, Any]]:
    """Encode digits by few numbers, decode them, and compare the error with eigenvalues."""
    rows = load_digits().data
    full = StreamPCA(None).fit(rows)
    errors, decoded = [], [rows[:10]]
    for count in KEPT:
        pca = StreamPCA(count).fit(rows)
        back = pca.inverse_transform(pca.transform(rows))
        errors.append(float(((rows - back) ** 2).sum(axis=1).mean()))
        if count in (4, 16):
            decoded.append(back[:10])
    counts = np.arange(len(full.eigenvalues_) + 1)
    left = full.eigenvalues_.sum() - np.append(0, np.cumsum(full.eigenvalues_))
    ax = plotting.courses(
        {"sum of the left-out eigenvalues": (counts, left)},
        {"mean squared decode error": (KEPT, errors, np.zeros(len(KEPT)))},
        labels=("components kept", ""),
    )
    text = (
        "Encode a row as a = Qx with the first components, decode it as Q'a. The mean squared "
        "error of decoding equals the sum of the eigenvalues left out."
    )
    blocks = (
        drawing(ax, "What coding loses", "1797 digits of 8 × 8 pixels."),
        pictures(
            plotting.gray(np.concatenate(decoded), 8),
            "Ten digits: as they are, from 4 numbers, from 16",
            columns=10,
        ),
    )
    left_out = [float(left[min(count, len(left) - 1)]) for count in KEPT]
    return Section("Encoding and decoding", text, blocks), {"error": errors, "left out": left_out}


def iterations(seed: int) -> tuple[Section, dict[str, Any]]:
    """Compare power iteration and a Krylov space after the same number of products."""
    rng, products = np.random.default_rng(seed), np.arange(1, 41)
    turn = np.linalg.qr(rng.standard_normal((WIDTH, WIDTH)))[0]
    moment, start = turn * SPECTRUM @ turn.T, rng.standard_normal(WIDTH)
    angles = {
        "power iteration": degrees(power_iteration(moment, start, 40), turn[:, 0]),
        "Krylov, Gram-Schmidt": degrees(krylov(moment, start, 40), turn[:, 0]),
    }
    ax = plotting.courses(
        {name: (products, np.maximum(values, 1e-9)) for name, values in angles.items()},
        labels=("products R b", "degrees"),
        scales=("linear", "log"),
    )
    text = (
        f"{WIDTH} features, eigenvalues 0.9^k. Power iteration gains the factor 0.9 a product. The "
        "Krylov space keeps all products, made orthogonal, and takes the best direction of their "
        "span. solver=“krylov” does this for matrices that are never formed."
    )
    block = drawing(ax, "Degrees from the first component")
    numbers = {name: values.tolist() for name, values in angles.items()}
    return Section("Power iteration and Krylov spaces", text, (block,)), numbers


def scaling(rows: int) -> tuple[Section, dict[str, Any]]:
    """Time one pass against the width, and against the number of cores."""
    cores = [c for c in (1, 2, 4, 8, 16) if c <= (os.cpu_count() or 1)]
    seconds: dict[int, list[float]] = {}

    def learned(part: Any) -> Any:
        return StreamPCA(4, solver="dense").fit(part)

    with threadpool_limits(1, user_api="blas"):
        for count in cores:
            seconds[count] = []
            for width in WIDTHS:
                data = np.random.default_rng(0).standard_normal((rows, width))
                learned(data[:100])  # compiled before the clock starts
                start = perf_counter()
                with ThreadPoolExecutor(count) as pool:
                    parts = list(pool.map(learned, np.array_split(data, count)))
                reduce(StreamPCA.merge, parts).components_  # noqa: B018
                seconds[count].append(perf_counter() - start)
    micro = {
        f"{count} core{'s' * (count > 1)}": (WIDTHS, 1e6 * np.array(times) / rows)
        for count, times in seconds.items()
    }
    ax = plotting.courses(micro, labels=("features", "µs a row"), scales=("log", "log"))
    ax.minorticks_off()
    ax.set_xticks(WIDTHS, [str(width) for width in WIDTHS])
    speed = {
        f"{width} features": (cores, [seconds[1][k] / seconds[count][k] for count in cores])
        for k, width in enumerate(WIDTHS)
    }
    ideal = {"as many times as cores": (cores, cores)}
    gain = plotting.courses(ideal | speed, labels=("cores", "times faster"))
    text = (
        f"One pass over {rows:,} rows. Each core learns a part with one BLAS thread, and the parts "
        "are merged exactly. The work grows with the square of the width; cores share it."
    )
    blocks = (drawing(ax, "Time against width"), drawing(gain, "Gain against cores"))
    return Section("Scaling", text, blocks), {"widths": WIDTHS, "seconds": seconds}


def run(effort: Effort, seeds: int, clock: Clock) -> Outcome:
    """Make the four parts of the lesson."""
    clock.begin("parts", 4)
    sections, numbers = [], {}
    for name, part in (
        ("probe", probe),
        ("coding", coding),
        ("iterations", lambda: iterations(0)),
        ("scaling", lambda: scaling(ROWS[effort])),
    ):
        section, numbers[name] = part()
        sections.append(section)
        clock.advance(1)
    error, left_out = numbers["coding"]["error"], numbers["coding"]["left out"]
    degrees_at = {name: values[19] for name, values in numbers["iterations"].items()}
    table = PageTable(
        ("", "measured", "theory"),
        [
            ("decode error of 8 components", f"{error[3]:.4f}", f"{left_out[3]:.4f}"),
            *((f"{k}: degrees after 20 products", f"{v:.2g}", "") for k, v in degrees_at.items()),
        ],
    )
    report = Report(
        title="Principal components, step by step",
        lead=(
            "Directions of extremal variance, what is lost when few of them are kept, two ways to "
            "find the first, and how the time grows with width and cores."
        ),
        sections=(Section("Measured, and in theory", "", (table,)), *sections),
    )
    return Outcome(table, report, numbers)


PAPER = Paper("pca", "Variance probe, coding, power iteration and Krylov, scaling: a lesson", run)
