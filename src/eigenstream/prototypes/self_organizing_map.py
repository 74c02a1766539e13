"""The self-organising map: prototypes on a grid, whose neighbours learn together."""

from collections.abc import Iterator
from math import isqrt
from typing import Any, Self

import numpy as np
from scipy.linalg import eigh
from sklearn.preprocessing import StandardScaler

from eigenstream._checks import check_choice, check_flag, check_whole, warn_user
from eigenstream._linalg import Float64s, canonical_signs
from eigenstream._machine import blas_threads, chunk_rows
from eigenstream._storable import storable
from eigenstream._streams import Course, fits_streams_by
from eigenstream.prototypes._map_reading import MapQuality, MapReading
from eigenstream.prototypes._pace import as_pace, falling, scheduled
from eigenstream.prototypes._steps import MAP
from eigenstream.prototypes.base import (
    NO_ROWS_LEFT,
    Parts,
    PrototypeEstimator,
    check_optional,
    given_vectors,
)
from eigenstream.prototypes.grids import NEIGHBORHOODS, Grid, as_grid, smooth
from eigenstream.rows.guard import publishes, reads

__all__ = ["SelfOrganizingMap"]

INITS = ("pca", "random")

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


@storable(
    _horizon="int",
    _side="int?",
    _deviations="f8 D | None?",
    quantization_error_="number?",
    topographic_error_="number | None?",
    _distortion="number?",
    _hits="f8 units?",
)
class SelfOrganizingMap(MapReading, PrototypeEstimator):
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
        The nearest unit of each row of ``fit``. Not available after a stream.
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

    def __init__(
        self,
        shape: Any = "auto",
        *,
        scale: bool = False,
        topology: str = "rectangular",
        periodic: bool = False,
        neighborhood: str = "gaussian",
        training: str = "sequential",
        radius: Any = "auto",
        learning_rate: Any = "auto",
        n_steps: int | None = None,
        init: Any = "pca",
        init_size: int | None = None,
        max_iter: int = 10,
        shuffle: bool = True,
        missing: str = "raise",
        random_state: Any = None,
    ) -> None:
        self.shape = shape
        self.scale = scale
        self.topology = topology
        self.periodic = periodic
        self.neighborhood = neighborhood
        self.training = training
        self.radius = radius
        self.learning_rate = learning_rate
        self.n_steps = n_steps
        self.init = init
        self.init_size = init_size
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.missing = missing
        self.random_state = random_state

    #: The side of the automatic grid; 0 before it is chosen.
    _side = 0
    #: The divisors of the columns, or None.
    _deviations: Float64s | None = None

    # ---- parameters --------------------------------------------------------------------------

    def _check(self) -> None:
        grid = self._grid()
        check_flag(self.scale, "scale")
        check_choice(self.neighborhood, "neighborhood", tuple(NEIGHBORHOODS))
        check_choice(self.training, "training", ("sequential", "batch"))
        check_choice(self.missing, "missing", ("raise", "skip", "partial"))
        check_flag(self.shuffle, "shuffle")
        check_whole(self.max_iter, "max_iter")
        check_optional(self, "n_steps", "init_size")
        as_pace(self.radius, "radius", "auto", zero=True)
        as_pace(self.learning_rate, "learning_rate", "auto", most=1.0)
        if isinstance(self.init, str):
            check_choice(self.init, "init", INITS)
        else:
            given_vectors(self.init, "init", INITS, None if self._is_auto() else grid.n_units, None)
            if self._is_auto():
                raise ValueError("shape='auto' does not fit an array as init. Pass the shape.")

    def _is_auto(self) -> bool:
        return isinstance(self.shape, str) and self.shape == "auto"

    def _grid(self) -> Grid:
        shape = (self._side or SIDE,) * 2 if self._is_auto() else self.shape
        return as_grid(shape, self.topology, self.periodic)

    def _choose_side(self, n_rows: int) -> None:
        """Choose the side of the automatic grid."""
        n_units = min(UNITS_PER_ROOT * n_rows**0.5, n_rows)
        side = max(round(n_units**0.5) if n_units < n_rows else isqrt(n_rows), 2)
        odd = side % 2 if self.periodic and self.topology == "hexagonal" else 0
        self._side = side + odd

    def _begin(self, n_features: int) -> None:
        super()._begin(n_features)
        if not self._side and self.n_steps:
            self._choose_side(self.n_steps)
        if self.scale and self._deviations is None:
            raise ValueError(
                "scale=True needs all rows before the first step. Use fit of an array or a stream, "
                "or divide the columns by their standard deviations."
            )
        if not isinstance(self.init, str):
            given_vectors(self.init, "init", INITS, self._grid().n_units, n_features)
        #: The number of steps or batch passes to the last radius; 0 if unknown.
        self._horizon = self.n_steps or 0

    def _n_first(self) -> int:
        if not isinstance(self.init, str):
            return 1
        return self.init_size or max(FIRST, self._grid().n_units)

    def _passes(self) -> int:
        return self.max_iter

    def _by_passes(self) -> bool:
        return self.training == "batch"

    def _pace(self, first: int, n: int) -> tuple[Float64s, Float64s]:
        """Return the rates and radii of some steps; of a batch map, of passes."""
        found, grid = [], self._grid()
        for name in ("learning_rate", "radius"):
            pace = as_pace(getattr(self, name), name, "auto", zero=True)
            if pace is not None and not isinstance(pace, tuple):
                found.append(scheduled(pace, name.replace("_", " "), first, n))
                continue
            ends = pace or self._auto(name, grid)
            steps = np.arange(first, first + n, dtype=np.float64)
            found.append(falling(ends, steps, self._horizon, ROWS_TO_HALF * grid.n_units))
        return found[0], found[1]

    def _auto(self, name: str, grid: Grid) -> tuple[float, float]:
        """Return the automatic first and last value.

        ``python -m benchmarks defaults`` prints the errors of maps with these values.
        """
        ordered = isinstance(self.init, str) and self.init == "pca"
        if name == "learning_rate":
            steps = max(self._horizon / grid.n_units, FEWEST)
            last = 0.06 + (0.4 / steps if ordered else 0.0)
            return 0.5, last if self._horizon else 0.01
        last = LAST_RADIUS[self.neighborhood]
        # Ordered initial units need only a small radius.
        share = 0.1 if ordered and self._horizon else 0.5
        return max(share * max(grid.rows, grid.columns), 1.0), last

    def _rule(self) -> tuple[int, dict[str, Any]]:
        grid, (reach, gaussian) = self._grid(), NEIGHBORHOODS[self.neighborhood]
        place = grid.rows, grid.columns, grid.hexagonal, bool(grid.periodic), gaussian, reach
        # Blocks of inner products need whole rows.
        return MAP, {"grid": place, "block": 0 if self.missing == "partial" else None}

    def _can_hold(self, n: int) -> bool:
        return n == self._grid().n_units

    # ---- learning ----------------------------------------------------------------------------

    def _place(self, rows: Float64s, weights: Float64s) -> bool:
        grid = self._grid()
        lacking = np.isnan(rows)
        if lacking.any():  # use the mean of the feature for a missing value
            counts = np.maximum((~lacking).sum(axis=0), 1)
            rows = np.where(lacking, np.where(lacking, 0.0, rows).sum(axis=0) / counts, rows)
        if not self.scale:
            warn_of_scales(rows)
        if not isinstance(self.init, str):
            places = given_vectors(self.init, "init", INITS, grid.n_units, None)
            places = places if self._deviations is None else places / self._deviations
        elif self.init == "pca":
            places = plane(grid, rows, weights)
        else:
            random, rounds = np.random.RandomState(self._seed), -(-grid.n_units // len(rows))
            order = np.concatenate([random.permutation(len(rows)) for _ in range(rounds)])
            places = rows[order[: grid.n_units]]
        self._mean = places.mean(axis=0)
        self._set_prototypes(places - self._mean)
        self._placed = True
        return False

    def _note(self, rows: Float64s, weights: Float64s, labels: Any, squares: Float64s) -> None:
        super()._note(rows, weights, labels, squares)
        if self.training == "sequential":
            self._counts += np.bincount(labels, weights, len(self._counts))

    @publishes
    @fits_streams_by("_fit_stream")
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        checkpoint: Any = None,
        every: int | None = None,
        resume: bool = False,
    ) -> Self:
        """Learn a map of the rows in ``max_iter`` passes.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or a stream
            The rows.
        y : None
            Ignored. It exists for compatibility with scikit-learn.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights of the rows. All are 1 by default.
        <checkpoint, every, resume>

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check()
        rows, weights = self._rows_to_learn(X, sample_weight, reset=True)
        counted = np.flatnonzero(weights)
        if len(counted) == 0:
            raise ValueError(NO_ROWS_LEFT)
        self._choose_side(len(counted))
        if self.scale:
            rows = rows / self._measure(_pieces(rows, weights, counted)).astype(rows.dtype)
        n_units = self._grid().n_units
        if len(counted) < n_units:
            warn_user(
                f"X has {len(counted)} rows, fewer than the {n_units} units of the map. Use a "
                "smaller shape."
            )
        self._forget_fit()
        self._begin(rows.shape[1])
        random = np.random.default_rng([self._seed, len(rows)])
        for number in range(self.max_iter):
            order: Any = random.permutation(counted) if self.shuffle else counted
            if number == 0:
                first = order[: self._n_first()]
                self._place(np.array(rows[first], np.float64), weights[first])
                self._foresee(len(counted))
            # The sums of a batch do not depend on the order, so rows need not be copied.
            order = None if self.training == "batch" else order
            self._learn_pass(_pieces(rows, weights, order), number)
        nearest = self._two_nearest(rows, self._units)
        self.labels_, self.inertia_ = nearest[0], float(weights @ nearest[1] ** 2)
        self._note_quality(self._quality([(*nearest, weights)]))
        return self

    def _learn_pass(self, parts: Parts, number: int) -> None:
        """Learn from one pass over the rows."""
        self.n_iter_ = number + 1
        if self.training == "sequential":
            for rows, weights in parts:
                self._add(rows, weights)
            self._note_pass()
            return
        # Each unit becomes the mean of the rows near it. Units without such rows stay.
        with blas_threads(1):
            sums, heights, self._counts = self._sums(parts, steps=self._steps)
            radius = float(self._pace(number, 1)[1][0])
            both = smooth(np.hstack([sums, heights]), self._grid(), self.neighborhood, radius)
        sums, heights = np.split(both, [sums.shape[1]], axis=1)
        np.divide(sums, heights, out=self._vectors, where=heights > 0.0)
        self._note_pass()

    def _measure(self, parts: Parts) -> Float64s:
        """Set and return the standard deviations of the columns, 1 for constant columns."""
        scaler = StandardScaler()
        for rows, weights in parts:
            scaler.partial_fit(rows, sample_weight=weights)
        self._deviations = np.asarray(scaler.scale_, np.float64)
        return self._deviations

    def _count(self, parts: Parts) -> tuple[int]:
        """Return the number of rows of positive weight."""
        return (sum(int(np.count_nonzero(weights)) for _, weights in parts),)

    def _foresee(self, n_rows: int) -> None:
        """Set the number of steps. The last pass of a batch map has the last radius."""
        if self.n_steps is None:
            batch = self.training == "batch"
            self._horizon = max(self.max_iter - 1, 1) if batch else self.max_iter * n_rows

    def _fit_stream(self, course: Course) -> None:
        """Learn from the passes of ``fit``, in the order of the stream."""
        course.stream = self._as_read(course.stream)
        made, passes = course.learned, course.passes()
        made._check()
        start = made._stream_parts(course, passes)
        if not course.goes_on:
            n_rows = sum(len(part.rows) for part in passes)
            if not n_rows:
                raise ValueError(NO_ROWS_LEFT)
            made._choose_side(n_rows)
            if made.scale:
                parts = (part.rows for part in passes if len(part.rows))
                made._measure((rows, np.ones(len(rows))) for rows in parts)
            made._place_among(start(False), made._n_first())
            made._foresee(n_rows)
        for number in range(course.turn, made.max_iter):
            made._learn_pass(start(), number)
        made._note_quality(made.evaluate(part.rows for part in passes))

    # ---- reading -----------------------------------------------------------------------------

    @property
    @reads
    def prototypes_(self) -> Float64s:
        """The units, row by row of the grid, in the units of the data."""
        units = super().prototypes_
        return units if self._deviations is None else units * self._deviations

    @property
    def _units(self) -> Float64s:
        """The units that rows are compared with, divided by the deviations of ``scale``."""
        return super().prototypes_

    def _rows_to_learn(self, X: Any, sample_weight: Any, *, reset: bool) -> tuple[Any, Float64s]:
        if reset:
            self._side, self._deviations = 0, None
        return super()._rows_to_learn(X, sample_weight, reset=reset)

    def _rows_to_read(self, X: Any) -> tuple[Any, Float64s]:
        return super()._rows_to_read(X)[0], self._units

    def _validated(self, X: Any, *, reset: bool) -> Any:
        rows = super()._validated(X, reset=reset)
        return rows if self._deviations is None else rows / self._deviations.astype(rows.dtype)

    def _note_quality(self, found: MapQuality) -> None:
        self.quantization_error_ = found.quantization_error
        self.topographic_error_ = found.topographic_error
        self._distortion, self._hits = found.distortion, found.hits.ravel()

    def _forget_fit(self) -> None:
        super()._forget_fit()
        for name in ("quantization_error_", "topographic_error_", "_distortion", "_hits"):
            self.__dict__.pop(name, None)


def _pieces(rows: Any, weights: Float64s, order: Any) -> Iterator[tuple[Any, Float64s]]:
    """Yield rows part by part, in the given order or, with None, in that of the array."""
    step = chunk_rows(rows.shape[1])
    for start in range(0, len(rows) if order is None else len(order), step):
        here: Any = slice(start, start + step)
        here = here if order is None else order[here]
        yield rows[here], weights[here]


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
    (n, D), positions = scaled.shape, grid.positions
    spans = np.ptp(positions, axis=0)
    order = np.argsort(-spans, kind="stable")  # (x, y) of the grid: the longer side first
    wanted = min(2, n, D)
    # Decompose the covariance matrix or the Gram matrix, the smaller of the two.
    matrix = scaled.T @ scaled if n >= D else scaled @ scaled.T
    values, vectors = eigh(matrix, subset_by_index=[len(matrix) - wanted, len(matrix) - 1])
    deviations, axes = np.sqrt(np.maximum(values[::-1], 0.0)), vectors[:, ::-1].T
    if n < D:
        there, whole = deviations[:, None] > 1e-8, np.zeros((wanted, D))
        axes = np.divide(axes @ scaled, deviations[:, None], out=whole, where=there)
    axes = canonical_signs(axes.T).T
    places = np.tile(mean, (grid.n_units, 1))
    for axis, deviation, along in zip(axes, deviations, order, strict=False):
        if spans[along] > 0.0:
            even = 2.0 * (positions[:, along] - positions[:, along].min()) / spans[along] - 1.0
            places += np.outer(even * np.sqrt(3.0) * deviation * size, axis)
    return places
