"""Run an experiment of [HPCA] section 7: learn from the labels of some classes, test on others.

Which weight, and which sharpness of the kernel, is decided on some of the training rows, by one of
two rules; then all rows are learned with what was decided. The test is never looked at.
"""

import os
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import sqrt
from threading import Event
from time import thread_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from eigenstream._checks import check_whole
from eigenstream._linalg import Float64s, Floats
from eigenstream.demo import Clock, judge
from eigenstream.estimators import ClassSubspace, median_square
from eigenstream.evaluation import BalancedRisk, balanced_risk
from eigenstream.features import RBFNetwork
from papers.base import Curve, Effort
from papers.hpca._recipe import (
    RAW,
    SHRINKAGE,
    LabelledSet,
    Learned,
    Method,
    NeighbourPictures,
    Neighbours,
    PairFindings,
    PairRecipe,
    ResultKey,
    Rings,
    RiskCurve,
    Run,
    Task,
)

#: The largest distance of two points under the kernel exp(-C |x - y|^2). The paper halves the
#: kernel to have 1 there; thresholds are given in its units.
DIAMETER = sqrt(2.0)
#: Repetitions that run at the same time, at most: each may hold several Gram matrices.
MOST_AT_ONCE = 4
#: Nearest neighbours shown of each query.
NEAREST = 4


@threadpool_limits.wrap(1, user_api="blas")  # repetitions run in threads of their own
def run(recipe: PairRecipe, effort: Effort, seeds: int, clock: Clock) -> PairFindings:
    """Run a recipe of this family."""
    runs = recipe.runs(effort, check_whole(seeds, "seeds"))
    with clock.spent("images"):
        first = runs[0][1]()
    steps = sum(1 + len(methods) for _, methods in first.tasks)
    plural = "s" if len(runs) > 1 else ""
    clock.begin(f"learning, {len(runs)} repetition{plural}", steps * len(runs))
    stop = Event()

    def one(number: int) -> PairFindings:
        with clock.spent("images"):
            made = runs[number][1]() if number else first
        return _one_run(recipe, made, effort, clock, stop)

    found = PairFindings(runs=[label for label, _ in runs])
    with warnings.catch_warnings():
        # The tables show which kernels are too sharp, and where eigenvalues are too few.
        warnings.simplefilter("ignore", UserWarning)
        with ThreadPoolExecutor(min(os.cpu_count() or 1, MOST_AT_ONCE)) as pool:
            try:
                for part in pool.map(one, range(len(runs))):
                    found.add(part)
            except BaseException:
                stop.set()
                pool.shutdown(cancel_futures=True)
                raise
    return found


def _one_run(
    recipe: PairRecipe, one: Run, effort: Effort, clock: Clock, stop: Event
) -> PairFindings:
    """Learn every task by all its methods, and judge; end early when asked to."""
    found = PairFindings()
    for task, methods in one.tasks:
        found.sizes[task.name] = (len(np.unique(task.train.labels)), len(task.train.rows))
        with clock.spent("judging"):
            for test, sample in task.tests.items():
                record(found, ResultKey(task.name, RAW, test), sample, Learned(0, 0, None, 0))
        clock.advance(1)
        learner = _TaskLearner(recipe, task, effort)
        for method in methods:
            if stop.is_set():
                return found
            with clock.spent(f"{task.name}: {method.name}"):
                learned, what = learner.learn(method)
            with clock.spent("judging"):
                for test, sample in task.tests.items():
                    after = LabelledSet(learned.transform(sample.rows), sample.labels)
                    record(found, ResultKey(task.name, method, test), after, what)
            if recipe.rings and method.space == "linear" and task is one.tasks[0][0]:
                eta = next(iter(recipe.paper.values())).eta
                found.rings = rings = rings_of(learned, eta, one.pictures.shape[0])
                n = rings.n_positive
                found.ring_shares.append((rings.shares[:n].mean(), rings.shares[n:].mean()))
            if (task.name, method) == one.featured:
                found.shown = shown(one, task, method, learned)
            clock.advance(1)
    return found


@dataclass(frozen=True)
class _Choice:
    """A weight and a sharpness, the loss that chose them, and the estimator that they gave."""

    eta: float
    gamma: float
    loss: float
    fitted: ClassSubspace


class _TaskLearner:
    """Learns one task by any method; what two methods decide alike is decided once."""

    def __init__(self, recipe: PairRecipe, task: Task, effort: Effort) -> None:
        self.recipe, self.task, self.effort = recipe, task, effort
        self.median = median_square(np.asarray(task.train.rows, np.float64))
        self.some = some_of_each(task.train.labels, recipe.settings.search_rows[effort])
        self.choices: dict[Method, _Choice] = {}
        #: By space, prototypes, sharpness and weight.
        self.fits: dict[Any, ClassSubspace] = {}

    def learn(self, method: Method) -> tuple[ClassSubspace, Learned]:
        """Return what was learned from all rows, and what there is to say about it."""
        start = thread_time()
        learned, gamma, loss = self._learn(method)
        return learned, Learned(
            error=0.0,
            risk=0.0,
            # A quotient scales its directions freely, so that its distances have no unit.
            threshold=0.0 if method.criterion == "difference" else None,
            area=0.0,
            dimensions=learned.n_components_,
            n_positive=learned.n_positive_,
            eta=learned.eta_,
            scale=gamma,
            product=None if gamma is None else gamma * self.median,
            loss=loss,
            training_risk=learned.risk_,
            seconds=thread_time() - start,
        )

    def _learn(self, method: Method) -> tuple[ClassSubspace, float | None, float | None]:
        rows, labels = self.task.train.rows, self.task.train.labels
        if method.space == "linear":
            linear = self._estimator(method, None).fit(rows, labels)
            assert linear.eta_choice_ is not None
            return linear, None, float(linear.eta_choice_.losses.min())
        if method.criterion == "ratio":
            gamma = self._choice(replace(method, name="", criterion="difference")).gamma
            quotient = self._estimator(method, gamma)
            quotient.set_params(criterion="ratio", shrinkage=SHRINKAGE, eta="auto")
            return quotient.fit(rows, labels), gamma, None
        choice = self._choice(replace(method, name="", prototypes=None))
        same = method.space, method.prototypes, choice.gamma, choice.eta
        if same not in self.fits:
            self.fits[same] = self._fit(method, choice)
        return self.fits[same], choice.gamma, choice.loss

    def _fit(self, method: Method, choice: _Choice) -> ClassSubspace:
        """Learn all rows with what was chosen."""
        rows, labels = self.task.train.rows, self.task.train.labels
        if method.prototypes is not None:
            count = min(method.prototypes, len(rows))
            network = RBFNetwork(count, gamma=choice.gamma, random_state=0)
            learned = ClassSubspace(self.recipe.dimensions, eta=choice.eta, features=network)
            # Twice the speed, added up in float64.
            return learned.fit(rows.astype(np.float32), labels)
        if choice.fitted.n_samples_seen_ == len(rows):
            return choice.fitted
        return self._estimator(method, choice.gamma, choice.eta).fit(rows, labels)

    def _choice(self, method: Method) -> _Choice:
        """Return the weight and sharpness with the least loss; of equals, the first."""
        if method in self.choices:
            return self.choices[method]
        gammas = [product / self.median for product in self.recipe.settings.products[self.effort]]
        if method.scale == "paper":
            gammas = [next(iter(self.recipe.paper.values())).scale]
        some: Any = self.some if method.space == "kernel" else slice(None)
        rows, labels = self.task.train.rows[some], self.task.train.labels[some]
        best: _Choice | None = None
        for gamma in gammas:
            fitted = self._estimator(method, gamma).fit(rows, labels)
            assert fitted.eta_choice_ is not None
            assert fitted.eta_ is not None
            loss = float(fitted.eta_choice_.losses.min())
            if best is None or loss < best.loss - 1e-9:
                best = _Choice(fitted.eta_, gamma, loss, fitted)
        assert best is not None
        self.choices[method] = best
        return best

    def _estimator(self, method: Method, gamma: float | None, eta: Any = None) -> ClassSubspace:
        if eta is None:
            eta = self.recipe.settings.etas if method.rule == "classes" else "margin_risk"
        how: dict[str, Any] = {}
        if method.space == "kernel":
            how = {"kernel": "rbf", "gamma": gamma}
        elif method.space == "landmarks":
            count = min(self.recipe.settings.landmarks[self.effort], len(self.task.train.rows))
            how = {"features": RBFNetwork(count, gamma=gamma or 1.0, random_state=0)}
        return ClassSubspace(self.recipe.dimensions, eta=eta, **how)


# ---- testing, and what the page shows ----------------------------------------------------------


def record(found: PairFindings, key: ResultKey, sample: LabelledSet, what: Learned) -> None:
    """Measure features and add the figures to the findings."""
    judged, risk = judge(sample.rows, sample.labels), balanced_risk(sample.rows, sample.labels)
    threshold = None if what.threshold is None else risk.threshold / DIAMETER
    figures: dict[str, Any] = {"error": judged.error, "risk": risk.risk, "area": judged.area}
    found.rows.setdefault(key, []).append(replace(what, threshold=threshold, **figures))
    if key not in found.curves:
        found.curves[key], found.risks[key] = Curve.of(judged), risk_curve(risk)


def risk_curve(found: BalancedRisk, points: int = 201) -> RiskCurve:
    """Return the curve at evenly spaced thresholds up to where every pair is called same.

    The threshold of least risk is one more, so that the curve has its exact minimum.

    >>> curve = risk_curve(balanced_risk([[0.0], [1.0], [5.0], [7.0]], list("aabb")), 5)
    >>> float(curve.thresholds[-1]), float(curve.risks[0]), float(curve.risks.min())
    (1.0, 0.5, 0.0)
    """
    decided = np.flatnonzero(found.risks < 0.5 - 1e-12)
    end = found.thresholds[min(decided[-1] + 1, len(found.risks) - 1) if len(decided) else -1]
    levels = np.sort(np.append(np.linspace(0.0, 1.0, points), found.threshold / end))
    return RiskCurve(levels, np.interp(levels * end, found.thresholds, found.risks, left=0.5))


def some_of_each(labels: NDArray[Any], most: int) -> NDArray[np.intp]:
    """Return at most so many rows (or four a class), evenly out of every class.

    >>> some_of_each(np.repeat(["b", "a"], [12, 6]), 9)
    array([ 0,  2,  4,  6,  8, 10, 12, 14, 16])
    """
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    # One of a class makes no pair.
    step = -(-len(labels) // max(most, 4 * len(first)))
    return np.sort(np.argsort(first[codes], kind="stable")[::step])


def nearest(features: Floats, query: int, count: int) -> list[int]:
    """Return the rows nearest to one of them, itself left out.

    >>> nearest(np.array([[0.0], [3.0], [1.0]]), 0, 2)
    [2, 1]
    """
    order = np.argsort(((features - features[query]) ** 2).sum(axis=1), kind="stable")
    return [int(k) for k in order if k != query][:count]


def shown(one: Run, task: Task, method: Method, learned: Any) -> NeighbourPictures:
    """Return a query of each class with what is nearest to it, before and after learning."""
    first = one.tasks[0][0]
    test, sample = next(iter(task.tests.items()))
    before, after = first.tests[test].rows, np.asarray(learned.transform(sample.rows))
    _, queries = np.unique(sample.labels, return_index=True)
    return NeighbourPictures(
        one.pictures,
        sample.labels,
        [
            Neighbours(int(q), nearest(before, q, NEAREST), nearest(after, q, NEAREST))
            for q in queries
        ],
        f"{first.name}: {RAW.name}",
        ResultKey(task.name, method, test).name,
    )


def ring_shares(vectors: Float64s, size: int) -> Float64s:
    """Return how much of the square of each row, an image, is constant on rings about the centre.

    >>> ring_shares(np.vstack([np.ones(16), np.tile([1.0, -1.0], 8)]), 4).tolist()
    [1.0, 0.0]
    """
    across = np.arange(size) - (size - 1) / 2.0
    ring = np.round(np.hypot(across[:, None], across[None])).astype(np.intp).ravel()
    members = np.zeros((ring.max() + 1, size * size))
    members[ring, np.arange(size * size)] = 1.0
    sums, counts = vectors @ members.T, np.maximum(members.sum(axis=1), 1.0)
    return np.asarray((sums**2 / counts).sum(axis=1) / (vectors**2).sum(axis=1))


def rings_of(learned: ClassSubspace, eta: float, size: int) -> Rings:
    """Return the eigenvectors with positive eigenvalues at this eta, and as many of the next."""
    contrast = learned.contrast_
    values, vectors = np.linalg.eigh(contrast.matrix((eta / 2.0, 0.5)))
    n = int((values > contrast.rounding * np.abs(values).max()).sum())
    rows = vectors.T[::-1][: 2 * n]
    return Rings(rows, values[::-1][: 2 * n], n, ring_shares(rows, size))
