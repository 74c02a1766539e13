"""Learning from one pass over the views, and solving every variant from what it leaves."""

import os
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from time import thread_time
from typing import Any

import numpy as np
from scipy.linalg import blas
from sklearn.preprocessing import normalize

from eigenstream._linalg import Float64s, Floats
from eigenstream.demo import Clock
from eigenstream.estimators import SlowSubspace
from eigenstream.features import RBFNetwork
from eigenstream.solvers import dense
from papers.slow._recipe import CHUNK, FEATURES, ONLINE, Online, Variant


def online_rule(rule: Online) -> SlowSubspace:
    """Return a learner by the paper's rule: 0.2 on the variance, a step an observation."""
    return SlowSubspace(
        FEATURES,
        alpha=0.2,
        solver="flow",
        center=rule.center,
        schedule=rule.schedule,
        random_state=0,  # where the first views do not span the start
    )


def _online() -> dict[str, SlowSubspace]:
    return {rule.name: online_rule(rule) for rule in ONLINE}


@dataclass
class SpaceLearner:
    """Learns in one space: the two matrices for every batch solution, and the online rules."""

    space: str
    network: RBFNetwork | None = None
    slow: SlowSubspace = field(default_factory=lambda: SlowSubspace(FEATURES))
    online: dict[str, SlowSubspace] = field(default_factory=_online)

    def learn(self, chunk: Floats, clock: Clock) -> None:
        """Take in a chunk of views."""
        rows = chunk
        if self.network is not None:
            with clock.spent(f"{self.space}: kernel"):
                rows = self.network.transform(chunk)
        with clock.spent(f"{self.space}: scatters"):
            self.slow.partial_fit(rows)
        for name, rule in self.online.items():
            with clock.spent(f"{self.space}: {name}"):
                rule.partial_fit(rows)

    def mapped(self, images: Floats) -> Floats:
        """Return images in the space of the features."""
        return images if self.network is None else self.network.transform(images)

    def floor(self, views: int, width: int) -> float:
        """Return the seconds that the bare matrix products of one pass take on one core."""
        rng = np.random.default_rng(0)
        rows = rng.standard_normal((CHUNK, width)).astype(np.float32)
        seconds, wide = 0.0, rows
        if self.network is not None:
            p = len(self.network.prototypes_)
            exponent = rng.standard_normal((width, p)).astype(np.float32)
            square = rng.standard_normal((p, p)).astype(np.float32)
            wide = rows @ exponent
            seconds += _usual(lambda: rows @ exponent) + _usual(lambda: wide @ square)
        # One symmetric product for the variance; the velocity shares half of its own with it. In
        # double precision, since alpha is chosen by these.
        double = wide.astype(np.float64)
        seconds += 1.5 * _usual(lambda: blas.dsyrk(1.0, double.T, lower=1))
        return seconds * views / CHUNK


def _usual(work: Callable[[], Any]) -> float:
    """Return the median of the seconds that a piece of work takes."""
    times = []
    for _ in range(5):
        start = thread_time()
        work()
        times.append(thread_time() - start)
    return float(np.median(times))


@dataclass
class Solved:
    """The matrices of a learner, and what is solved from them."""

    learner: SpaceLearner

    def __post_init__(self) -> None:
        contrast = self.learner.slow.contrast_
        assert contrast.penalty is not None
        self.reward, self.penalty = contrast.reward.matrix(), contrast.penalty.matrix()
        self.mean = contrast.reward.mean
        self.bound: float | None = None
        self.alphas: dict[str, float] = {}

    def alpha(self, wanted: float | str) -> float:
        """Return the alpha that a variant asks for."""
        if not isinstance(wanted, str):
            return wanted
        if wanted not in self.alphas:
            chooser = self.learner.slow.solved_with(n_components=FEATURES, alpha=wanted)
            with warnings.catch_warnings():
                # That the bound is vacuous is one of the findings.
                warnings.filterwarnings("ignore", "the bound of Theorem 5 is vacuous")
                chosen, bound = chooser.alpha_, chooser.bound_
            assert chosen is not None
            self.alphas[wanted] = chosen
            self.bound = bound if wanted == "bound" else self.bound
        return self.alphas[wanted]

    def basis(self, alpha: float, center: bool = True) -> tuple[Float64s, Float64s]:
        """Return the learned directions as columns, and their eigenvalues."""
        # The mean square about zero is the variance plus the square of the mean.
        reward = self.reward if center else self.reward + np.outer(self.mean, self.mean)
        pairs = dense.largest(alpha * reward - (1.0 - alpha) * self.penalty, FEATURES)
        return pairs.vectors, pairs.values

    def features(self, variant: Variant | Online, images: Floats) -> Floats:
        """Return what a variant makes of images already in the learner's space."""
        if isinstance(variant, Online):
            online = self.learner.online[variant.name.removesuffix(", unit features")]
            learned = (images - online.mean_) @ online.components_.T
            return normalize(learned) if variant.unit else learned
        columns, _ = self.basis(self.alpha(variant.alpha), variant.center)
        learned = (images - self.mean if variant.center else images) @ columns
        return normalize(learned) if variant.unit else learned


def taught(
    chunks: Iterator[Floats], learners: list[SpaceLearner], clock: Clock
) -> Iterator[Floats]:
    """Yield chunks once every learner has learned from them, side by side on all cores."""

    def following() -> Floats | None:
        with clock.spent("views"):
            return next(chunks, None)

    # BLAS and the compiled sampling release the interpreter's lock, so threads run at once.
    with ThreadPoolExecutor(min(len(learners) + 1, _cores())) as pool:
        chunk = following()
        while chunk is not None:
            upcoming = pool.submit(following)
            busy = [pool.submit(learner.learn, chunk, clock) for learner in learners]
            for learning in busy:
                learning.result()
            yield chunk
            chunk = upcoming.result()


def _cores() -> int:
    """Return how many cores this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1
