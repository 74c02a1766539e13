"""The self-organising map: prototypes on a grid, whose neighbours learn together."""

from collections.abc import Iterable, Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from eigenstream._checks import (
    check_choice,
    check_finite,
    check_flag,
    check_weights,
    check_whole,
    real_array,
    warn_user,
)
from eigenstream._linalg import Float64s
from eigenstream._memory import chunk_rows
from eigenstream._refusals import offered_if, unchanged_on_error
from eigenstream._streams import Course, Passes, fits_streams_by
from eigenstream.learners.prototypes import MapLearner, MapPlan
from eigenstream.prototypes._map_reading import MapReading
from eigenstream.prototypes._pace import auto_radii, auto_rates, pace
from eigenstream.prototypes.base import NOTHING_LEFT, PrototypeEstimator
from eigenstream.rules.competitive import NEIGHBORHOODS, Grid, as_grid, map_block_size

__all__ = ["SelfOrganizingMap"]

#: Rows among which a map is placed, at least.
FIRST = 1000
#: Where the number of steps is not known, radius and rate are halved after so many rows a unit.
ROWS_TO_HALF = 5.0

TRAININGS = ("sequential", "batch")
MISSING = ("raise", "skip", "partial")
INITS = ("pca", "random")


def _learns_in_steps(self: Any) -> None:
    """Say that a batch map has no ``partial_fit``."""
    if self.training == "batch":
        raise AttributeError(
            "training='batch' needs all rows in each pass, and partial_fit sees them once: use "
            "fit, or training='sequential'."
        )


class SelfOrganizingMap(MapReading, PrototypeEstimator):
    """A map: units on a grid learn to stand for rows, and neighbours for similar ones [KOHONEN].

    With the nearest unit c of a row x, every unit takes the step ``w_k += h_kc (x - w_k)``, where
    h falls with the distance of k and c on the grid: at first whole regions move together, in the
    end each unit nearly alone.

    Parameters
    ----------
    shape : (int, int) or int, default=(20, 20)
        Rows and columns of the grid; a single number is a chain of so many units.
    topology : {"rectangular", "hexagonal"}
        Of eight or of six neighbours.
    periodic : bool
        Whether the grid closes on itself, as a ring or a torus.
    neighborhood : {"gaussian", "bubble", "cut-gaussian"}
        How far a step reaches: ``exp(-d^2 / (2 radius^2))`` at distance d on the grid; all within
        the radius alike; or the Gaussian within the radius only.
    training : {"sequential", "batch"}
        A step a row, exactly; or a pass at a time, in which each unit becomes the mean of the rows
        near its place.
    radius : "auto", float, (first, last), schedule or function
        "auto" goes from a tenth of the grid's longer side, at least 1, to 0.43 where units begin on
        the plane (with few steps a little less far), from half of the side to 0.36 where they do
        not, to 0.7 in batch training and where the number of steps is not known. A pair falls by
        the same factor a step, over ``n_steps``. With radius 0 the nearest unit moves alone.
        Schedules and functions go by the number of the step; in batch training, of the pass.
    learning_rate : "auto", float, (first, last), schedule or function
        Of sequential training: how far the nearest unit goes. "auto" is (0.5, 0.06), more in the
        end where there are few steps, or (0.5, 0.01) where their number is not known.
    n_steps : int, optional
        How many steps radius and rate take to their last values, where they then stay. ``fit``
        knows it: ``max_iter`` times the number of rows. For ``partial_fit`` it is the length of
        the stream; without it they fall as ``first / (1 + t / tau)``, with tau five rows a unit.
    init : "pca", "random" or array of shape (units, n_features)
        Where units begin: evenly on the plane of the first rows' two principal components, or on
        some of the rows.
    init_size : int, optional
        How many first rows those are; in a stream they wait until they are complete. By default
        1000, or as many as there are units.
    max_iter : int, default=10
        Passes of ``fit`` over the rows.
    shuffle : bool, default=True
        Whether ``fit`` takes the rows in a new order in each pass. A stream keeps its order.
    missing : {"raise", "skip", "partial"}
        What to do about rows with missing values: "partial" compares and moves units by those that
        are there.
    random_state : int, RandomState or None

    Attributes
    ----------
    prototypes_ : array (units, n_features)
        Row by row of the grid.
    grid_ : Grid
    quantization_error_ : float
        The mean distance of the rows of ``fit`` to their nearest units.
    topographic_error_ : float
        The share of rows whose two nearest units are no neighbours on the grid.
    labels_, inertia_, counts_, error_, n_steps_, n_samples_skipped_
        As those of CompetitiveLearning.

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
        shape: Any = (20, 20),
        *,
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

    # ---- parameters ------------------------------------------------------------------------

    def _check(self) -> None:
        grid = self._grid()
        check_choice(self.neighborhood, "neighborhood", tuple(NEIGHBORHOODS))
        check_choice(self.training, "training", TRAININGS)
        check_choice(self.missing, "missing", MISSING)
        check_flag(self.shuffle, "shuffle")
        check_whole(self.max_iter, "max_iter")
        for name in ("n_steps", "init_size"):
            if getattr(self, name) is not None:
                check_whole(getattr(self, name), name)
        check_random_state(self.random_state)
        self._radii(grid)
        self._rates()
        if isinstance(self.init, str):
            check_choice(self.init, "init", INITS)
        else:
            self._given(grid.n_units, None)

    def _grid(self) -> Grid:
        return as_grid(self.shape, self.topology, self.periodic)

    def _radii(self, grid: Grid) -> list[Any]:
        autos = auto_radii(grid, self.init, self.training == "batch")
        return [pace("radius", self.radius, auto) for auto in autos]

    def _rates(self) -> list[Any]:
        autos = auto_rates(self.init)
        return [pace("learning_rate", self.learning_rate, auto, most=1.0) for auto in autos]

    def _given(self, n_units: int, n_features: int | None) -> Float64s:
        """Return the units that ``init`` gives."""
        due = f"({n_units}, {n_features or 'n_features'})"
        try:
            places = real_array(self.init, "init").astype(np.float64)
        except TypeError:
            raise TypeError(
                f"init must be 'pca', 'random' or an array of shape {due}, got {self.init!r}."
            ) from None
        if places.ndim != 2 or places.shape != (n_units, n_features or places.shape[-1]):
            raise ValueError(f"init must have shape {due}, a row a unit, got {places.shape}.")
        check_finite(places, name="init", remedy="Give units that are finite.")
        return places

    def _new_learner(self, n_features: int, seed: int) -> MapLearner:
        grid = self._grid()
        named = isinstance(self.init, str)
        slow = self.missing == "partial" or self.training == "batch"
        (rates, open_rates), (radii, open_radii) = self._rates(), self._radii(grid)
        plan = MapPlan(
            grid.n_units,
            n_first=self._n_first(),
            init=self.init if named else self._given(grid.n_units, n_features),
            seed=seed,
            block_size=0 if slow else map_block_size(n_features),
            grid=grid,
            neighborhood=self.neighborhood,
            rates=rates,
            radii=radii,
            open_rates=open_rates,
            open_radii=open_radii,
            n_steps=self.n_steps or 0,
            tau=ROWS_TO_HALF * grid.n_units,
        )
        return MapLearner(plan, n_features)

    def _n_first(self) -> int:
        """Return among how many first rows the units begin."""
        if not isinstance(self.init, str):
            return 1
        return self.init_size or max(FIRST, self._grid().n_units)

    def _passes(self) -> int:
        return self.max_iter

    # ---- learning --------------------------------------------------------------------------

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
        X : array-like of shape (n, D), or a stream of ``eigenstream.open_stream``
        y : ignored
        sample_weight : array-like of shape (n,)
            How often each row counts.
        <checkpoint, every, resume>
        """
        with unchanged_on_error(self):
            self._check()
            self._n_skipped = 0
            self._note_parameters()
            rows, weights = self._rows_to_learn(X, sample_weight, reset=True)
            self._forget_quality()
            self._learner = self._learned_rows(rows, weights)
            vectors = self._learner.vectors
            self.labels_, distances, second = self._two_nearest(rows, vectors)
            squares = distances**2
            self.inertia_ = float(squares.sum() if weights is None else weights @ squares)
            self._note_quality(self.labels_, second, distances, weights)
        return self

    @offered_if(_learns_in_steps)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Go on learning with a chunk of rows, in their order; any chunking learns the same.

        What ``fit`` says of its rows, such as ``quantization_error_``, is gone afterwards:
        ``evaluate`` says it of others.
        """
        super().partial_fit(X, y, sample_weight)
        self._forget_quality()
        return self

    def _learned_rows(self, rows: Any, weights: Float64s | None) -> MapLearner:
        """Return what has learned from all rows, as often as it takes."""
        counted = np.arange(len(rows)) if weights is None else np.flatnonzero(weights)
        if len(counted) == 0:
            raise ValueError(NOTHING_LEFT)
        learner = self._new_learner(rows.shape[1], self._seed())
        if len(counted) < learner.plan.grid.n_units:
            warn_user(
                f"X has {len(counted)} rows, and the map {learner.plan.grid.n_units} units: most "
                "of them will lie between rows. A smaller shape shows more."
            )
        random = np.random.default_rng([learner.plan.seed, len(rows)])
        # Whole passes are sums, the same in any order but for rounding: no row needs to be copied.
        in_place = self.training == "batch" and len(counted) == len(rows)
        step = chunk_rows(rows.shape[1])

        def parts(order: Any) -> Iterator[tuple[Any, Any]]:
            for start in range(0, len(order), step):
                here: Any = slice(start, start + step)
                here = here if in_place else order[here]
                yield rows[here], None if weights is None else weights[here]

        for number in range(self.max_iter):
            order = random.permutation(counted) if self.shuffle else counted
            if number == 0:
                first = order[: learner.plan.n_first]
                learner.place(rows[first], None if weights is None else weights[first])
                self._foresee(learner, len(counted))
            self._pass(learner, parts(order), number)
        return learner

    def _pass(self, learner: MapLearner, parts: Iterable[tuple[Any, Any]], number: int) -> None:
        """Learn from one pass over the rows; after the last one nothing waits."""
        self.n_iter_ = number + 1
        if self.training == "batch":
            learner.batch_pass(parts, number)
            return
        for rows, weights in parts:
            learner.add(rows, weights)
        if self.n_iter_ == self.max_iter:
            learner.again()

    def _foresee(self, learner: MapLearner, n_rows: int) -> None:
        if self.n_steps is None:
            # The last pass of a batch map has the last radius.
            batch = self.training == "batch"
            learner.foresee(max(self.max_iter - 1, 1) if batch else self.max_iter * n_rows)
        if self.training == "batch":
            learner.check_passes(self.max_iter)

    def _by_passes(self) -> bool:
        return self.training == "batch"

    def _fit_stream(self, course: Course) -> None:
        """Learn from as many passes as ``fit`` makes over an array, in the stream's order."""
        course.stream = self._as_read(course.stream)
        made, passes = course.learned, course.passes()
        made._check()
        made._note_parameters()
        if not course.goes_on:
            n_rows = sum(len(part.rows) for part in passes)
            if not n_rows:
                raise ValueError(NOTHING_LEFT)
            first = made._validated(self._first_of(passes, made._n_first()), reset=True)
            made._learner = made._new_learner(first.shape[1], made._seed())
            made._learner.place(first)
            made._foresee(made._learner, n_rows)
        start = made._start_of(course, passes)
        for number in range(course.turn, made.max_iter):
            made._pass(made._learner, start(), number)
        found = made.evaluate(part.rows for part in passes)
        made.quantization_error_ = found.quantization_error
        made.topographic_error_ = found.topographic_error
        made._hits = found.hits.ravel()

    @staticmethod
    def _first_of(passes: Passes, n: int) -> Any:
        """Return the first rows of a stream, or all that there are."""
        found, count = [], 0
        for part in passes:
            found.append(part.rows[: n - count])
            count += len(found[-1])
            if count == n:
                break
        return np.concatenate(found)

    # ---- rows ------------------------------------------------------------------------------

    def _rows_to_learn(
        self, X: Any, sample_weight: Any, *, reset: bool
    ) -> tuple[Any, Float64s | None]:
        if self.missing != "partial":
            return super()._rows_to_learn(X, sample_weight, reset=reset)
        rows = self._partial_rows(X, reset=reset)
        weights = None if sample_weight is None else check_weights(sample_weight, len(rows))
        empty = np.isnan(rows).all(axis=1)
        if empty.any():
            self._n_skipped += int(empty.sum())
            weights = (np.ones(len(rows)) if weights is None else weights) * ~empty
        return rows, weights

    def _rows_to_read(self, X: Any) -> tuple[Any, Float64s]:
        check_is_fitted(self)
        if self.missing != "partial":
            found: tuple[Any, Float64s] = super()._rows_to_read(X)
            return found
        return self._partial_rows(X, reset=False), self._ahead().vectors

    def _partial_rows(self, X: Any, *, reset: bool) -> NDArray[Any]:
        rows: NDArray[Any] = self._validated(X, reset=reset)
        check_finite(np.where(np.isnan(rows), 0.0, rows))
        return rows

    def __sklearn_tags__(self) -> Any:
        """Describe the estimator to scikit-learn: its units are no clusters."""
        tags = super().__sklearn_tags__()
        tags.estimator_type = None
        tags.input_tags.allow_nan = self.missing == "partial"
        return tags
