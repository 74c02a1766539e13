"""The self-organising map: prototypes on a grid, whose neighbours learn together."""

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from math import isqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenstream.core.checks import check_vectors, warn_user
from eigenstream.core.documented import COUNT, words
from eigenstream.core.linalg import Float64s, blas_threads, canonical_signs
from eigenstream.core.storable import storable
from eigenstream.core.types import (
    Array,
    Constraints,
    LabelsLike,
    RandomState,
    RowsLike,
    WeightsLike,
)
from eigenstream.prototypes._competition import Competition, Division, Spread, Tally
from eigenstream.prototypes._map_reading import MapReading
from eigenstream.prototypes._steps import MAP, Pace, as_pace
from eigenstream.prototypes.base import NO_ROWS_LEFT, PrototypeEstimator
from eigenstream.prototypes.grids import NEIGHBORHOODS, Grid, as_grid, smooth
from eigenstream.rows.chunk import Chunk
from eigenstream.rows.fit import Fit
from eigenstream.rows.rows import RowsInMemory
from eigenstream.schedules import LearningRate

#: Rows among which a map is placed, at least.
FIRST = 1000

#: The automatic number of units is this number times the root of the number of rows.
UNITS_PER_ROOT = 5.0

#: The side of the automatic grid if the number of rows is unknown.
SIDE = 20

#: Larger ratios of deviations of columns raise a warning: the smaller columns hardly count.
MOST_SCALES = 100.0

#: Smaller deviations, relative to the mean, are rounding errors of a constant.
CONSTANT = 1e-8

#: Rows per unit after which radius and rate are halved where the number of steps is not known.
ROWS_TO_HALF = 5.0

#: Fewest steps per unit that the automatic rate is computed for.
FEWEST = 2.0

#: The last automatic radius. A larger radius keeps neighbours together, a smaller one fits rows
#: closer. Below 1, "bubble" and "cut-gaussian" move the nearest unit alone, as k-means does.
LAST_RADIUS = {"gaussian": 0.7, "bubble": 1.0, "cut-gaussian": 1.0}


@storable(horizon="int", side="int?", grid="-", tau="-")
class MapUnits(Competition):
    """Units of a map. ``side`` is that of the automatic grid, 0 before it is chosen."""

    side = 0

    def __init__(self, plan: Mapping[str, Any], n_features: int, seed: int, side: int) -> None:
        super().__init__(plan, n_features, seed)
        self.side, self.horizon = side, plan["n_steps"] or 0
        self.follow_plan()

    def follow_plan(self) -> None:
        """Set the grid, the rule, the rates and the radii by the parameters."""
        self.grid = grid = grid_of(self.plan, self.side)
        reach, gaussian = NEIGHBORHOODS[self.plan["neighborhood"]]
        place = grid.rows, grid.columns, grid.hexagonal, bool(grid.periodic), gaussian, reach
        self.rule, self.tau = (MAP, {"grid": place}), ROWS_TO_HALF * grid.n_units
        self.paces_of_steps = self.pace_of("learning_rate"), self.pace_of("radius")

    def resume(self, plan: Mapping[str, Any]) -> None:
        """Set the parameters after loading, and check the values of the file."""
        super().resume(plan)
        if len(self.vectors) not in (0, self.grid.n_units):
            raise ValueError(f"{self.grid!r} cannot have {len(self.vectors)} units.")

    def pace_of(self, name: str) -> Pace:
        """Return a schedule, or the first and last value, by default automatic ones.

        ``python -m benchmarks defaults`` prints the errors of maps with the automatic values.
        """
        if pace := as_pace(self.plan[name], name, "auto", zero=True):
            return pace
        grid, init = self.grid, self.plan["init"]
        ordered = isinstance(init, str) and init == "pca"
        if name == "learning_rate":
            steps = max(self.horizon / grid.n_units, FEWEST)
            last = 0.06 + (0.4 / steps if ordered else 0.0)
            return 0.5, last if self.horizon else 0.01
        # Ordered initial units need only a small radius.
        share = 0.1 if ordered and self.horizon else 0.5
        last = LAST_RADIUS[self.plan["neighborhood"]]
        return max(share * max(grid.rows, grid.columns), 1.0), last

    @property
    def n_first(self) -> int:
        """The number of first rows from which the initial units are chosen."""
        if not isinstance(self.plan["init"], str):
            return 1
        return self.plan["init_size"] or max(FIRST, self.grid.n_units)

    def place(self, rows: Float64s, weights: Float64s) -> bool:
        """Choose the initial units."""
        grid, init, lacking = self.grid, self.plan["init"], np.isnan(rows)
        if lacking.any():  # use the mean of the feature for a missing value
            counts = np.maximum((~lacking).sum(axis=0), 1)
            rows = np.where(lacking, np.where(lacking, 0.0, rows).sum(axis=0) / counts, rows)
        if not self.plan["scale"]:
            warn_of_scales(rows)
        if not isinstance(init, str):
            places = init
        elif init == "pca":
            places = plane(grid, rows, weights)
        else:
            random, rounds = np.random.RandomState(self.seed), -(-grid.n_units // len(rows))
            order = np.concatenate([random.permutation(len(rows)) for _ in range(rounds)])
            places = rows[order[: grid.n_units]]
        self.mean = places.mean(axis=0)
        self.set(places - self.mean)
        return False

    def note(
        self, rows: Float64s, weights: Float64s, labels: NDArray[np.int64], squares: Float64s
    ) -> None:
        """Add the errors and wins of rows."""
        super().note(rows, weights, labels, squares)
        if self.plan["training"] == "sequential":
            self.counts += np.bincount(labels, weights, len(self.counts))

    def move(self, tally: Tally, pass_number: int) -> None:
        """Replace each unit by the mean of the rows near it. Units without such rows stay."""
        with blas_threads(1):
            sums, heights = self.take(tally, self.steps)
            radius = float(self.paces(pass_number, 1)[1][0])
            values = np.hstack([sums, heights])
            table = smooth(values, self.grid, self.plan["neighborhood"], radius)
        sums, heights = np.split(table, [sums.shape[1]], axis=1)
        np.divide(sums, heights, out=self.vectors, where=heights > 0.0)


def is_auto(shape: Any) -> bool:
    """Return whether a ``shape`` is "auto"."""
    return isinstance(shape, str) and shape == "auto"


def grid_of(plan: Mapping[str, Any], side: int) -> Grid:
    """Return the grid of some parameters, and of the side of an automatic grid."""
    shape = (side or SIDE,) * 2 if is_auto(plan["shape"]) else plan["shape"]
    return as_grid(shape, plan["topology"], plan["periodic"])


@storable(
    _units="MapUnits",
    _deviations="f8 D | None?",
    quantization_error_="number?",
    topographic_error_="number | None?",
    _distortion="number?",
    _hits="f8 units?",
)
@dataclass(eq=False, repr=False)
class SelfOrganizingMap(MapReading):
    """Self-organising map: units on a grid that represent rows, neighbours for similar rows.

    A row x with the nearest unit c moves every unit k by ``w_k += h_kc (x - w_k)`` [1]_. The factor
    h falls with the distance of k and c on the grid. Its radius shrinks during learning.

    Parameters
    ----------
    shape : "auto", (int, int) or int, default="auto"
        The numbers of rows and columns of the grid. A single number n is a chain of n units. "auto"
        is a square of about 5 sqrt(n) units for n rows, and at most n units. ``partial_fit`` takes
        ``n_steps`` for n, and without it 20 x 20 units.
    scale : bool, default=False
        If True, ``fit`` divides each column by its standard deviation. Distances and errors are
        those of the standardised rows. ``prototypes_`` and ``component_planes`` have the units of
        the data.
    topology : {"rectangular", "hexagonal"}, default="rectangular"
        A unit has eight or six neighbours.
    periodic : bool, default=False
        If True, the grid closes to a ring or a torus.
    neighborhood : {"gaussian", "bubble", "cut-gaussian"}, default="gaussian"
        The factor h at distance d on the grid. "gaussian" is ``exp(-d^2 / (2 radius^2))``. "bubble"
        is the same within the radius and zero outside. "cut-gaussian" is the Gaussian within the
        radius and zero outside.
    training : {"sequential", "batch"}, default="sequential"
        "sequential" takes one step for each row. "batch" replaces, in each pass, each unit by the
        mean of the rows near it, weighted by h.
    radius : "auto", float, (first, last), schedule or function, default="auto"
        The radius of the neighbourhood on the grid. A pair falls by a constant factor from step to
        step. With 0 only the nearest unit moves. The argument of a schedule is the step, or the
        pass with ``training="batch"``. See Notes for "auto".
    learning_rate : "auto", float, (first, last), schedule or function, default="auto"
        The largest factor h, for ``training="sequential"``. See Notes for "auto".
    n_steps : int, default=None
        The number of steps after which radius and rate are constant. ``fit`` uses ``max_iter``
        times the number of rows. For ``partial_fit``, pass the length of the stream. Without it
        they fall as ``first / (1 + t / tau)``, where tau is five rows for each unit.
    init : {"pca", "random"} or array of shape (n_units, n_features), default="pca"
        The initial units. "pca" spreads them evenly on the plane of the first two principal
        components of the first rows. "random" places them at random rows.
    init_size : int, default=None
        The number of first rows for ``init``. A stream holds them in memory. The default is 1000,
        or the number of units if that is larger.
    max_iter : int, default=10
        The number of passes of ``fit``.
    shuffle : bool, default=True
        Draw a new order of the rows for each pass of ``fit``. Streams keep their order.
    missing : {"raise", "skip", "partial"}, default="raise"
        "skip" leaves out rows with missing values. "partial" uses the values that are present.
    random_state : int, RandomState or None, default=None
        The seed of all random choices.

    Attributes
    ----------
    prototypes_ : array of shape (n_units, n_features)
        The units, row by row of the grid.
    grid_ : Grid
        The grid.
    quantization_error_ : float
        The mean distance of the rows of ``fit`` to their nearest units.
    topographic_error_ : float
        The share of rows whose two nearest units are not neighbours on the grid.
    labels_ : array of shape (n,)
        The nearest unit of each row of ``fit``. Not available after ``partial_fit`` and after
        ``fit`` of a stream: use ``predict``.
    inertia_ : float
        The sum of the squared distances of these rows to their units.
    counts_ : array of shape (n_units,)
        The number of rows that each unit has won. With "batch", of the last pass.
    error_ : float
        The mean squared distance of the rows to their nearest unit before each step.
    history_ : History
        The loss of each pass of ``fit``.
    n_iter_ : int
        The number of passes.
    n_steps_ : int
        The number of learning steps.
    n_samples_skipped_ : int
        The number of rows left out because of missing values.

    Notes
    -----
    The automatic radius falls to 0.7, or with "bubble" and "cut-gaussian" to 1. It begins at a
    tenth of the longer side and at least at 1. With other initial units than "pca", or if the
    number of steps is unknown, it begins at half of the longer side. A larger last radius, such as
    ``radius=(2, 1)``, gives smoother planes. A smaller one, such as ``radius=(2, 0.43)``, fits the
    rows closer and separates classes better, but more neighbouring rows lie apart on the map.

    The automatic learning rate falls from 0.5 to 0.06, or to slightly more if there are few steps.
    If the number of steps is unknown, it falls to 0.01.

    References
    ----------
    .. [1] T. Kohonen, "Self-Organizing Maps", 3rd edition, Springer, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream import SelfOrganizingMap
    >>> square = np.random.default_rng(0).uniform(size=(2000, 2))
    >>> som = SelfOrganizingMap((8, 8), random_state=0).fit(square)
    >>> som.quantization_error_ < 0.06, som.topographic_error_ < 0.05
    (True, True)
    >>> som.u_matrix().shape, int(som.hits().sum())
    ((8, 8), 2000)
    """

    shape: ArrayLike = "auto"
    _: KW_ONLY
    scale: bool = False
    topology: str = "rectangular"
    periodic: bool = False
    neighborhood: str = "gaussian"
    training: str = "sequential"
    radius: ArrayLike = "auto"
    learning_rate: LearningRate = "auto"
    n_steps: int | None = None
    init: ArrayLike = "pca"
    init_size: int | None = None
    max_iter: int = 10
    shuffle: bool = True
    missing: str = "raise"
    random_state: RandomState = None

    _of_rows = (
        *PrototypeEstimator._of_rows,
        *("quantization_error_", "topographic_error_", "_distortion", "_hits"),
    )

    _parameter_constraints: ClassVar[Constraints] = dict.fromkeys(
        ("shape", "topology", "periodic", "radius", "learning_rate"), "no_validation"
    ) | {
        "scale": ["boolean"],
        "neighborhood": [words(*NEIGHBORHOODS)],
        "training": [words("sequential", "batch")],
        "n_steps": [COUNT, None],
        "init": [words("pca", "random"), "array-like"],
        "init_size": [COUNT, None],
        "max_iter": [COUNT],
        "shuffle": ["boolean"],
        "missing": [words("raise", "skip", "partial")],
    }

    # ---- learning ----------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        self._validate_params()
        grid = grid_of(vars(self), 0)
        as_pace(self.radius, "radius", "auto", zero=True)
        as_pace(self.learning_rate, "learning_rate", "auto", most=1.0)
        if not isinstance(self.init, str):
            check_vectors(self.init, "init", None if is_auto(self.shape) else grid.n_units)
            if is_auto(self.shape):
                raise ValueError("shape='auto' does not fit an array as init. Pass the shape.")

    def _passes(self) -> int:
        return self.max_iter

    def _by_passes(self) -> bool:
        return self.training == "batch"

    def _new_units(self, n_features: int, seed: int, n_rows: int) -> MapUnits:
        if self.scale and self._deviations is None:
            raise ValueError(
                "scale=True needs all rows before the first step. Use fit of an array or a stream, "
                "or divide the columns by their standard deviations."
            )
        plan, n_rows = dict(self._begun), n_rows or self.n_steps or 0
        side = automatic_side(n_rows, self.periodic and self.topology == "hexagonal")
        if not isinstance(self.init, str):
            n_units = grid_of(plan, side).n_units
            plan["init"] = self._divided(check_vectors(self.init, "init", n_units, n_features))
        return MapUnits(plan, n_features, seed, side)

    def _prepare(self, fit: Fit) -> None:
        self._deviations = None
        spread = fit.learn(Spread(self.scale and not fit.rows.on_workers), None)
        if not spread.n_rows:
            raise ValueError(NO_ROWS_LEFT)
        if spread.scaler is not None:
            self._deviations = np.asarray(spread.scaler.scale_, np.float64)
            fit.map = Division(self._deviations)
        self._begin(fit.rows.width, spread.n_rows)
        units = self._units
        if spread.n_rows < units.grid.n_units:
            warn_user(
                f"X has {spread.n_rows} rows, fewer than the {units.grid.n_units} units of the "
                "map. Use a smaller shape."
            )
        rows, array = fit.rows, fit.array if self.shuffle else None
        if array is not None:
            fit.rows = ShuffledRows(array, fit.source, units.seed)
        self._place_among(fit, units.n_first)
        if fit.at_end:  # sums do not depend on the order
            fit.rows = rows
        elif array is not None:  # the first pass has the order of the placement
            fit.rows = ShuffledRows(array, fit.source, units.seed)
        if self.n_steps is None:  # the last pass of a batch map has the last radius
            last = max(self.max_iter - 1, 1)
            units.horizon = last if fit.at_end else self.max_iter * spread.n_rows
            units.follow_plan()

    def _batch_pass(self, fit: Fit, pass_number: int) -> bool:
        self._units.move(fit.learn(self._units.tally(), pass_number), pass_number)
        return False

    def _conclude(self, fit: Fit) -> None:
        quality = self._quality()
        if fit.array is None:
            quality = fit.learn(quality, None)
        else:
            weights = fit.array.each_weight()
            first, far, second = quality.nearest(self._divided(fit.array.rows))
            self.labels_, self.inertia_ = first, float(weights @ far**2)
            quality.see(first, far, second, weights)
        result = quality.result()
        self.quantization_error_ = result.quantization_error
        self.topographic_error_ = result.topographic_error
        self._distortion, self._hits = result.distortion, result.hits.ravel()

    def fit_predict(
        self, X: RowsLike, y: LabelsLike = None, sample_weight: WeightsLike = None
    ) -> Array:
        """Learn from all of ``X``, and return the nearest unit of each row.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            The rows.
        y : None
            Ignored. It exists for compatibility with scikit-learn.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights of the rows.

        Returns
        -------
        array of shape (n,)
            The numbers of the units, row by row of the grid.
        """
        self.fit(X, sample_weight=sample_weight)
        return np.asarray(self.labels_)


class ShuffledRows(RowsInMemory):
    """The rows of an array of positive weight, in a new random order in each pass."""

    def __init__(self, chunk: Chunk, source: RowsLike, seed: int) -> None:
        super().__init__(chunk, source)
        self.places = np.flatnonzero(chunk.each_weight())
        self.random = np.random.default_rng([seed, chunk.n])

    def chunks(self, skip: int = 0) -> Iterator[Chunk]:
        """Start a pass."""
        self.order = self.random.permutation(self.places)
        return super().chunks(skip)


def automatic_side(n_rows: int, even: bool) -> int:
    """Return the side of the automatic grid for a number of rows; 0 if it is unknown.

    >>> automatic_side(150, False), automatic_side(10, False)
    (8, 3)
    """
    if n_rows == 0:
        return 0
    n_units = min(UNITS_PER_ROOT * n_rows**0.5, n_rows)
    side = max(round(n_units**0.5) if n_units < n_rows else isqrt(n_rows), 2)
    return side + side % 2 * even


def warn_of_scales(rows: Float64s) -> None:
    """Warn if the largest deviation of a column hides a quarter of the columns."""
    deviations = rows.std(axis=0)
    deviations = deviations[deviations > CONSTANT * np.abs(rows.mean(axis=0))]
    if not len(deviations):
        return
    low = float(np.quantile(deviations, 0.25, method="lower"))
    if deviations.max() > MOST_SCALES * low:
        warn_user(
            f"The deviations of the columns range from {low:.3g} to {deviations.max():.3g}, and "
            "the map follows the largest. Pass scale=True, or convert the columns to equal units."
        )


def plane(grid: Grid, rows: Float64s, weights: Float64s) -> Float64s:
    """Return positions of units on the plane of the first two principal components of the rows.

    The longer side of the grid lies along the first component. Units are spread evenly from
    -sqrt(3) to sqrt(3) standard deviations, the range of a uniform distribution.

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
    deviations, axes = np.linalg.svd(scaled, full_matrices=False)[1:]
    axes = canonical_signs(axes[:2].T).T
    places = np.tile(mean, (grid.n_units, 1))
    for axis, deviation, along in zip(axes, deviations, order, strict=False):
        if spans[along] > 0.0:
            even = 2.0 * (positions[:, along] - positions[:, along].min()) / spans[along] - 1.0
            places += np.outer(even * np.sqrt(3.0) * deviation * size, axis)
    return places
