"""Fits of each size compared with those of other libraries, in processor seconds of one thread.

The floor is ``rows.T @ (rows @ V)``, where V has a column for each component.
"""

import warnings
from collections.abc import Callable
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from deeptime.covariance import Covariance
from deeptime.decomposition import TICA, VAMP
from scipy.sparse import random_array
from sklearn.cluster import MiniBatchKMeans
from sklearn.decomposition import PCA, IncrementalPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import SGDClassifier

from benchmarks._tools import race, show
from benchmarks.baseline import slow_rows
from eigenstream import (
    ClassSubspace,
    CompetitiveLearning,
    DynamicSubspace,
    Perceptron,
    SlowSubspace,
    StreamPCA,
)


class Match(NamedTuple):
    """A piece of work that both do, and the name of the other's class."""

    ours: Callable[[], object]
    peer: str
    theirs: Callable[[], object]


def dense_fits(rows: np.ndarray, d: int) -> dict[str, Match]:
    """Return fits of dense rows in time order, with ten classes."""
    labels = np.arange(len(rows)) % 10
    shifted = rows + np.random.default_rng(0).standard_normal((10, rows.shape[1]))[labels]
    return {
        "PCA": Match(lambda: StreamPCA(d).fit(rows), "PCA", lambda: PCA(d).fit(rows)),
        "PCA, one pass": Match(
            lambda: StreamPCA(d, solver="flow").fit(rows),
            "IncrementalPCA",
            lambda: IncrementalPCA(d).fit(rows),
        ),
        "slow features": Match(
            lambda: SlowSubspace(d, criterion="ratio").fit(rows),
            "TICA",
            lambda: TICA(lagtime=1, dim=d).fit_fetch(rows),
        ),
        "propagator": Match(
            lambda: DynamicSubspace(d).fit(rows),
            "VAMP",
            lambda: VAMP(lagtime=1, dim=d).fit_fetch(rows),
        ),
        "classes": Match(
            lambda: ClassSubspace().fit(shifted, labels),
            "LinearDiscriminantAnalysis",
            lambda: LinearDiscriminantAnalysis().fit(shifted, labels),
        ),
    }


def wide_fits(rows: np.ndarray, d: int) -> dict[str, Match]:
    """Return fits of fewer rows than columns."""
    full = PCA(d, svd_solver="full")
    return {
        "PCA": Match(lambda: StreamPCA(d).fit(rows), "PCA", lambda: PCA(d).fit(rows)),
        "exact PCA": Match(lambda: StreamPCA(d).fit(rows), "PCA(full)", lambda: full.fit(rows)),
    }


def sparse_fits(rows: Any, d: int) -> dict[str, Match]:
    """Return a fit of sparse rows."""
    peer = PCA(d, svd_solver="arpack")
    return {"PCA": Match(lambda: StreamPCA(d).fit(rows), "PCA(arpack)", lambda: peer.fit(rows))}


def single_rows(rows: np.ndarray, d: int) -> dict[str, Match]:
    """Return calls with a single row, a hundred of each."""
    pca, peer = StreamPCA(d).fit(rows), PCA(d).fit(rows)
    ours = [StreamPCA(d), CompetitiveLearning(8), Perceptron()]
    theirs = [Covariance(lagtime=1), MiniBatchKMeans(8, n_init=1), SGDClassifier()]
    labels = np.arange(len(rows)) % 2
    for k, model in enumerate((*ours, *theirs)):
        supervised = k % 3 == 2
        model.partial_fit(rows, *((labels, [0, 1]) if supervised else ()))

    def each(call: Callable[..., object], *, n: int = 1, labelled: bool = False) -> Any:
        def calls() -> None:
            for k in range(100):
                y = (labels[k : k + n],) if labelled else ()
                call(rows[k : k + n], *y)

        return calls

    return {
        "transform": Match(each(pca.transform), "PCA", each(peer.transform)),
        "moments": Match(
            each(ours[0].partial_fit), "Covariance, 2 rows", each(theirs[0].partial_fit, n=2)
        ),
        "prototypes": Match(
            each(ours[1].partial_fit), "MiniBatchKMeans", each(theirs[1].partial_fit)
        ),
        "classifier": Match(
            each(ours[2].partial_fit, labelled=True),
            "SGDClassifier",
            each(theirs[2].partial_fit, labelled=True),
        ),
    }


def sizes() -> dict[str, Callable[[], tuple[Any, int, dict[str, Match]]]]:
    """Return the rows, the number of components and the work of each size."""
    rng = np.random.default_rng(0)

    def prepared(make: Callable[..., Any], rows: Any, d: int) -> Any:
        return rows, d, make(rows, d)

    return {
        "200 x 5": lambda: prepared(dense_fits, slow_rows(200, 6)[:, :5].copy(), 2),
        "10,000 x 50": lambda: prepared(dense_fits, slow_rows(10_000, 50), 10),
        "60,000 x 784": lambda: prepared(dense_fits, slow_rows(60_000, 784), 10),
        "1,000 x 20,000": lambda: prepared(wide_fits, rng.standard_normal((1000, 20_000)), 10),
        "20,000 x 4,000, 0.5 % nonzero": lambda: prepared(
            sparse_fits, random_array((20_000, 4000), density=0.005, format="csr", rng=rng), 10
        ),
        "100 calls of one row of 20": lambda: prepared(single_rows, slow_rows(500, 20), 2),
    }


def digits(value: float, n: int = 3) -> str:
    """Return a number with ``n`` digits, without an exponent.

    >>> digits(1234.5), digits(0.01234)
    ('1230', '0.0123')
    """
    return np.format_float_positional(value, precision=n, fractional=False, trim="-")


def main() -> None:
    """Race every size."""
    table = []
    for size, prepare in sizes().items():
        rows, d, work = prepare()
        basis = np.ones((rows.shape[1], d))
        contestants: dict[str, Callable[[], object]] = {
            "floor": lambda rows=rows, basis=basis: rows.T @ (rows @ basis)
        }
        for name, match in work.items():
            contestants |= {f"our {name}": match.ours, f"their {name}": match.theirs}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            small = rows.size < 1e6
            for run in contestants.values() if small else ():  # compile, and load
                run()
            seconds = race(contestants, 9 if small else 2, clock=process_time)
        for name, match in work.items():
            ours, theirs = seconds[f"our {name}"], seconds[f"their {name}"]
            line = [ours, theirs, seconds["floor"]]
            cells = [digits(1e3 * each) for each in line]
            table.append([f"{size}: {name}", *cells, match.peer, digits(ours / theirs, 2)])
    show(
        "Processor milliseconds of one thread, the least of interleaved runs",
        ["", "eigenstream", "other", "floor", "other class", "ours / other"],
        table,
    )
