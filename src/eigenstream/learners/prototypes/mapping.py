"""Prototypes on a grid: where a map begins, how its radius falls, learning in whole passes."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import eigh

from eigenstream._blas import blas_threads
from eigenstream._linalg import Float64s
from eigenstream._state import State
from eigenstream.learners.prototypes._falling import Ends
from eigenstream.learners.prototypes.base import PrototypeLearner, PrototypePlan, values_of
from eigenstream.rules.competitive import (
    MAP,
    Grid,
    Lattice,
    Search,
    add_up,
    laid_out,
    spread,
)
from eigenstream.schedules import Schedule

__all__ = ["MapLearner", "MapPlan", "plane"]

#: The least grid.
CHAIN = Grid(1, 1)


@dataclass(frozen=True)
class MapPlan(PrototypePlan):
    """What a map is asked to be: rates and radii are schedules, ``Ends`` or (first, last)."""

    grid: Grid = CHAIN
    neighborhood: str = "gaussian"
    rates: Any = (0.5, 0.01)
    radii: Any = (1.0, 0.5)
    #: The same for as long as the number of steps is not known; None: no others.
    open_rates: Any = None
    open_radii: Any = None
    #: How many steps the pairs take, where that is known.
    n_steps: int = 0
    #: How many steps they take to half, where it is not.
    tau: float = 1.0


class MapLearner(PrototypeLearner):
    """Units on a grid that learn with their neighbours.

    >>> learner = MapLearner(MapPlan(3, init="random", grid=Grid(1, 3), n_first=2), 1)
    >>> learner.add(np.array([[0.0], [1.0]])).alive
    3
    """

    rule = MAP

    def __init__(self, plan: MapPlan, n_features: int) -> None:
        super().__init__(plan, n_features)
        self.plan: MapPlan = plan
        self.them = self.them._replace(vectors=laid_out(self.them.vectors))
        self._lattice = Lattice.of(plan.grid, plan.neighborhood)
        self.foresee(plan.n_steps)

    def foresee(self, n_steps: int) -> None:
        """Say how many steps there will be, so that rates and radii fall to their end in these."""
        self.plan = replace(self.plan, n_steps=n_steps)
        plan = self.plan
        rates, radii = plan.rates, plan.radii
        if not n_steps:
            rates, radii = plan.open_rates or rates, plan.open_radii or radii
        self.plan = replace(plan, schedule=_falling(rates, plan))
        self._radius = _falling(radii, plan)

    def _begin(self) -> None:
        rows, weights = self._take()
        places = self._placed(rows, weights)
        self.mean = places.mean(axis=0)
        self.them.vectors[...] = places - self.mean
        self.them.alive[0] = len(places)
        np.einsum("kj,kj->k", self.them.vectors, self.them.vectors, out=self.them.squares)
        self._begun = True
        self._keep(rows, weights)

    def _placed(self, rows: Float64s, weights: Float64s) -> Float64s:
        """Return where the units begin: given, on some of the rows, or on the rows' plane."""
        plan = self.plan
        if not isinstance(plan.init, str):
            return np.asarray(plan.init, np.float64)
        rows = _filled(rows)
        if plan.init == "random":
            random = np.random.RandomState(plan.seed)
            found = [
                random.permutation(len(rows)) for _ in range(-(-plan.n_prototypes // len(rows)))
            ]
            return rows[np.concatenate(found)[: plan.n_prototypes]]
        return plane(plan.grid, rows, weights)

    def _numbers(self, first: int, n: int) -> Float64s:
        return self._radius.gains(first, n)[:, None]

    def _ground(self) -> Any:
        return self._lattice

    def _check_steps(self, n: int) -> None:
        """Refuse steps beyond the row, and rates or radii that grow."""
        super()._check_steps(n)
        before = self.steps + self.waiting
        first = max(before - 1, 0)
        for name, schedule in (("learning rate", self.plan.schedule), ("radius", self._radius)):
            if schedule is not None:
                _check_falling(schedule, name, first, n + before - first)

    def check_passes(self, n: int) -> None:
        """Refuse radii that grow from one pass of batch training to the next."""
        _check_falling(self._radius, "radius", 0, n, "pass")

    def place(self, rows: Any, weights: Float64s | None = None) -> None:
        """Let the units begin among some rows, which are not learned."""
        self._keep(rows, np.ones(len(rows)) if weights is None else weights)
        self._begin()
        self._kept, self._kept_weights = [], []

    # ---- whole passes ----------------------------------------------------------------------

    def batch_pass(self, parts: Iterable[tuple[Any, Float64s | None]], number: int) -> None:
        """Move every unit to the mean of the rows, weighted by its distance to their winners.

        w_k = sum_t h_kc(t) x_t / sum_t h_kc(t) [KOHONEN]: a pass over the rows has one radius.
        """
        plan, (K, D) = self.plan, self.them.vectors.shape
        sums, counts = np.zeros((K, D)), np.zeros(K)
        heights: Any = None  # of each feature on its own, once values are missing
        self.error = self.weight = 0.0
        steps = 0
        with blas_threads(1):
            search = Search(self.them.vectors, self.mean, both=False)
            for rows, weights in parts:
                weights = np.ones(len(rows)) if weights is None else weights
                if not weights.all():
                    rows, weights = rows[weights > 0], weights[weights > 0]
                for here, some, lacking, (nearest, _, squares) in search.panels(rows):
                    own = weights[here]
                    if heights is None and lacking:
                        heights = np.tile(counts[:, None], (1, D))
                    if heights is not None:
                        gaps = np.isnan(some)
                        add_up(nearest, own, 1.0 - gaps, heights)
                        some[gaps] = 0.0
                    add_up(nearest, own, some, sums)
                    counts += np.bincount(nearest, own, K)
                    self.error += float(own @ squares)
                    self.weight += float(own.sum())
                    steps += len(some)
            heights = counts[:, None] if heights is None else heights
            near = plan.grid, plan.neighborhood, float(self._radius.gains(number, 1)[0])
            both = spread(*near, np.hstack([sums, heights]))
            moved, heights = both[:, :D], both[:, D:]
        # Units that nothing comes near to stay where they are.
        np.divide(moved, heights, out=self.them.vectors, where=heights > 0.0)
        np.einsum("kj,kj->k", self.them.vectors, self.them.vectors, out=self.them.squares)
        self.them.counts[...] = counts
        self.steps += steps

    # ---- saving ----------------------------------------------------------------------------

    def state(self) -> State:
        """Return all that has been learned, and how many steps were foreseen."""
        return super().state() | {"foreseen": self.plan.n_steps}

    def restore(self, state: State) -> None:
        """Take over what ``state`` gave, into a learner made with the same plan."""
        super().restore(state)
        self.them = self.them._replace(vectors=laid_out(self.them.vectors))
        self.foresee(int(state["foreseen"]))


def _check_falling(schedule: Schedule, name: str, first: int, n: int, unit: str = "step") -> None:
    values = values_of(schedule, name, first, n)
    grown = np.flatnonzero(np.diff(values) > 0.0)
    if grown.size:
        at = int(grown[0])
        raise ValueError(
            f"the {name} grows from {values[at]:.6g} at {unit} {first + at} to "
            f"{values[at + 1]:.6g}: a map takes shape while both fall. Use a schedule that "
            "falls, or a constant one."
        )


def _falling(given: Any, plan: MapPlan) -> Schedule:
    if isinstance(given, Schedule):
        return given
    ends = given if isinstance(given, Ends) else Ends(*given)
    return ends.falling(plan.n_steps, plan.grid.n_units, plan.tau)


def _filled(rows: Float64s) -> Float64s:
    """Return rows with the mean of a feature where one of its values is missing."""
    lacking = np.isnan(rows)
    if not lacking.any():
        return rows
    counts = np.maximum((~lacking).sum(axis=0), 1)
    return np.where(lacking, np.where(lacking, 0.0, rows).sum(axis=0) / counts, rows)


def plane(grid: Grid, rows: Float64s, weights: Float64s) -> Float64s:
    """Return places on the plane of the rows' first two principal components.

    The grid's longer side lies along the first one. Along each, places are spread as evenly
    distributed ones with the rows' variance would be, from -sqrt(3) to sqrt(3) deviations.

    >>> rows = np.array([[-1.0, 0.0], [1.0, 0.0]])
    >>> plane(Grid(1, 3), rows, np.ones(2))[:, 0]
    array([-1.73205081,  0.        ,  1.73205081])
    """
    mean = np.average(rows, axis=0, weights=weights)
    size = float(np.abs(rows - mean).max(initial=0.0)) or 1.0
    scaled = (rows - mean) / size * np.sqrt(weights / weights.sum())[:, None]
    positions = grid.positions
    spans = np.ptp(positions, axis=0)
    order = np.argsort(-spans, kind="stable")  # (x, y) of the grid: the longer side first
    n, D = scaled.shape
    wanted = min(2, n, D)
    # Of the scatter or of the rows' products, whichever is smaller.
    matrix = scaled.T @ scaled if n >= D else scaled @ scaled.T
    values, vectors = eigh(matrix, subset_by_index=[len(matrix) - wanted, len(matrix) - 1])
    deviations = np.sqrt(np.maximum(values[::-1], 0.0))
    axes = vectors[:, ::-1].T
    if n < D:
        axes = np.divide(
            axes @ scaled,
            deviations[:, None],
            out=np.zeros((wanted, D)),
            where=deviations[:, None] > 1e-8,
        )
    # The largest entry of each is positive, so that a map lies the same way on every machine.
    largest = np.abs(axes).argmax(axis=1)
    axes = axes * np.where(axes[np.arange(wanted), largest] < 0.0, -1.0, 1.0)[:, None]
    places = np.tile(mean, (grid.n_units, 1))
    for axis, deviation, along in zip(axes, deviations, order, strict=False):
        if spans[along] > 0.0:
            even = 2.0 * (positions[:, along] - positions[:, along].min()) / spans[along] - 1.0
            places += np.outer(even * np.sqrt(3.0) * deviation * size, axis)
    return places
