"""Monitor: windows of a stream, ranked among the windows of a reference."""

from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from eigenstream.core.checks import warn_user
from eigenstream.core.linalg import Float64s
from eigenstream.core.storable import storable
from eigenstream.core.types import Constraints, Estimator, LabelsLike, RowsLike, StreamLike
from eigenstream.monitor.attribution import KINDS, MOST_NAMED, Attribution, Baseline, attributed
from eigenstream.monitor.records import Contribution, WindowRecord
from eigenstream.monitor.windows import (
    GROUPS,
    Features,
    Geometry,
    PairwiseSums,
    geometry_of,
    joined_features,
    least_windows,
    outlying,
    rank_p_value,
    scores_of,
    window_of,
)
from eigenstream.rows.door import is_stream
from eigenstream.rows.guard import Guarded, changes, publishes, snapshot
from eigenstream.rows.prepared import names_of_features, prepared
from eigenstream.streams import open_stream
from eigenstream.subspace.estimators.time import TimeEstimator

#: A column is named if its missing or repeated values change by this number of standard deviations.
LEAST_CHANGE = 3.0

#: Rows, their times, and True if they begin another sequence than the rows before.
Block = tuple[Float64s, Any, bool]


@storable(
    n_features_in_="int=D",
    n_windows_="int",
    outliers_="tuple[int]",
    scores_="f8 K",
    geometry_="Geometry",
    reference_="Features",
    _pending="f8 rows D",
    _n_rows="int",
    _baseline="-",
    _guard="-",
)
@dataclass(eq=False, repr=False)
class Monitor(Guarded):
    """Alarms when the windows of a stream differ from those of a reference.

    The subspace is fixed. Each window of rows is reduced to features: the level and the shape of
    the components, the distance of each column from its prediction by the other columns, the
    spread of these distances, and the share of missing and of repeated values. The score of a new
    window is ranked among those of the K windows of the reference, and its probability is
    rank / (K + 1). This holds the rate for autocorrelated, heavy-tailed and periodic rows, if the
    windows of the reference are exchangeable with new ones.

    Parameters
    ----------
    estimator : fitted StreamPCA, SlowSubspace or DynamicSubspace
        The subspace. It may be learned from the reference or from other rows.
    window : int
        The number of rows in a window. Windows do not overlap. Use a multiple of a period. Each
        sequence begins a window, and the incomplete window at the end of the one before is left
        out.
    rate : float, default=0.01
        The probability of an alarm in a window without a change, averaged over references. The
        reference needs ``1 / rate - 1`` windows.
    outliers : {"report", "exclude"}, default="report"
        Windows of the reference that differ strongly from the others hide changes. ``fit`` warns
        of them. "exclude" also leaves them out, which raises the rate of false alarms slightly.

    Attributes
    ----------
    n_features_in_ : int
        The number of columns.
    n_windows_ : int
        The number of windows of the reference.
    outliers_ : tuple of int
        The outlying windows of the reference, counted from 0.
    scores_ : array of shape (n_windows,)
        The scores of the windows of the reference.
    geometry_ : Geometry
        The subspace, and the prediction of each column from the others.
    reference_ : Features
        The features of the windows of the reference.

    Notes
    -----
    The rate is an average over references: with 99 windows and a rate of 1 %, one reference in 20
    has a rate above 3 %. Seasons and set points that the reference lacks raise alarms.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream import Monitor, StreamPCA
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.standard_normal((12_000, 3)) @ rng.standard_normal((3, 5))
    >>> monitor = Monitor(StreamPCA(2).fit(rows[:10_000]), window=100)
    >>> good = monitor.fit(rows[:10_000]).update(rows[10_000:11_000])
    >>> sum(record.alarm for record in good)
    0
    >>> rows[11_000:, 3] += 2.0
    >>> record = monitor.update(rows[11_000:])[0]
    >>> record.alarm, record.column
    (True, 'x3')
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "estimator": "no_validation",
        "window": [Interval(Integral, 2, None, closed="left")],
        "rate": [Interval(Real, 0, 1, closed="neither")],
        "outliers": [StrOptions({"report", "exclude"})],
    }

    #: The reference as attributions need it, from the first record on.
    _baseline: Baseline | None = field(init=False, default=None)

    estimator: Estimator
    _: KW_ONLY
    window: int
    rate: float = 0.01
    outliers: str = "report"

    # ---- learning --------------------------------------------------------------------------

    @publishes
    def fit(self, X: RowsLike, y: LabelsLike = None) -> Self:
        """Store the features of each window of a reference without faults.

        Parameters
        ----------
        X : array-like of shape (n, D), a list of them, or a stream
            The reference, in time order. Missing values are allowed.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted monitor.

        Examples
        --------
        >>> import numpy as np
        >>> from eigenstream import Monitor, StreamPCA
        >>> rows = np.random.default_rng(0).standard_normal((3000, 3))
        >>> monitor = Monitor(StreamPCA(1).fit(rows), window=50, rate=0.05)
        >>> monitor.fit(rows).n_windows_
        60
        """
        self._validate_params()
        weights = self._weights()
        stream = self._stream(X)
        stored = None if stream.rereadable else list(self._blocks(stream))
        sums, lengths = PairwiseSums(len(weights)), [0]
        for rows, _, begins in self._blocks(stream) if stored is None else stored:
            sums.add(rows)
            lengths += [0] * begins
            lengths[-1] += len(rows)
        if not any(lengths):
            raise ValueError("The reference has no rows. Pass rows without faults.")
        geometry = geometry_of(sums.mean, sums.covariance(), weights)
        precision = geometry.precision()
        self._pending, self._n_rows = np.empty((0, len(weights))), 0
        each, ends = [], []
        for rows, end, _ in self._windows(self._blocks(stream) if stored is None else stored):
            each.append(window_of(rows, geometry, precision)[0])
            ends.append(end)
        self._check_enough(len(each), len(each), lengths, geometry)
        reference = joined_features(each)
        scores = scores_of(reference, self.window)[0]
        outliers = outlying(scores)
        if outliers:
            self._report(outliers, ends[outliers[0]] - self.window)
        if outliers and self.outliers == "exclude":
            reference = reference.without(outliers)
            self._check_enough(len(reference), len(each), lengths, geometry)
            scores = scores_of(reference, self.window)[0]
        self.n_features_in_, self.n_windows_ = len(weights), len(reference)
        self.outliers_, self.scores_ = outliers, scores
        self.geometry_, self.reference_ = geometry, reference
        self._pending, self._n_rows = np.empty((0, len(weights))), 0
        self._baseline = None
        return self

    def _weights(self) -> Float64s:
        """Return the directions of the subspace, as columns."""
        model = self.estimator
        mapped = not isinstance(model, TimeEstimator) or model.features is not None
        if not mapped:
            check_is_fitted(model)
        if mapped or not hasattr(model, "components_"):
            raise TypeError(
                f"{type(model).__name__} has no directions of the columns. Pass a fitted "
                "StreamPCA, SlowSubspace or DynamicSubspace, without features= and without an rbf "
                "kernel."
            )
        return np.nan_to_num(np.asarray(model.result_.columns, np.float64))

    def _check_enough(
        self, n_left: int, n_windows: int, lengths: list[int], geometry: Geometry
    ) -> None:
        """Raise if a reference of sequences of these lengths has too few windows without outliers.

        ``n_left`` is the number of its ``n_windows`` that are no outliers.
        """
        least_of_any_rate = geometry.inside.shape[1] + 3
        least = max(least_windows(self.rate), least_of_any_rate)
        if n_left >= least:
            return
        advice = ["a longer reference"]
        # Other windows are assumed to have the same share of outliers.
        needed = int(np.ceil(least * n_windows / max(n_left, 1)))
        shorter = range(sum(lengths) // needed, 1, -1)
        enough = (size for size in shorter if sum(n // size for n in lengths) >= needed)
        if (window := next(enough, None)) is not None:
            advice.append(f"window={window}")
        if n_left >= least_of_any_rate:
            advice.append(f"rate={np.ceil(1000 / (n_left + 1)) / 1000:g}")
        raise ValueError(
            f"The reference has {n_left} windows of {self.window} rows, and rate={self.rate} "
            f"needs {least}. Use {' or '.join(advice)}."
        )

    def _report(self, outliers: tuple[int, ...], first: int) -> None:
        shown = ", ".join(map(str, outliers[:5])) + ", ..." * (len(outliers) > 5)
        warn_user(
            f"{len(outliers)} windows of the reference differ strongly from the others: {shown} "
            f"(window {outliers[0]} begins at row {first:,}). They hide "
            "changes. Remove faults from the reference, or pass outliers='exclude'."
        )

    # ---- rows ------------------------------------------------------------------------------

    def _stream(self, X: RowsLike) -> Any:
        """Return the stream of prepared rows, with NaN for missing values."""
        stream = prepared(self.estimator, X if is_stream(X) else open_stream(X))
        return stream if stream.preprocessing.steps else stream.keeping_holes()

    def _blocks(self, stream: StreamLike) -> Iterator[Block]:
        """Yield rows in float64 with their times. Missing values are NaN."""
        for k, chunk in enumerate(stream.chunks()):
            rows = np.array(chunk.measured_rows(), np.float64)
            rows[~np.isfinite(rows)] = np.nan
            dates = chunk.raw_times is not None and chunk.raw_times.dtype.kind not in "biuf"
            times = chunk.raw_times.astype(np.str_) if dates else chunk.times
            yield rows, times, chunk.new_sequence and k > 0

    def _windows(self, blocks: Iterable[Block]) -> Iterator[tuple[Float64s, int, Any]]:
        """Yield complete windows, with the number of rows up to their end and the last time.

        The rows of an incomplete window wait for the next block, unless that begins a sequence.
        """
        for rows, times, begins in blocks:
            if begins:
                self._n_rows += len(self._pending)
                self._pending = self._pending[:0]
            n_pending, size = len(self._pending), self.window
            rows = np.concatenate([self._pending, rows])
            n_complete = len(rows) - len(rows) % size
            for end in range(size, n_complete + 1, size):
                time = None if times is None else times[end - n_pending - 1]
                yield rows[end - size : end], self._n_rows + end, time
            self._pending, self._n_rows = rows[n_complete:].copy(), self._n_rows + n_complete

    # ---- use -------------------------------------------------------------------------------

    @changes
    def update(self, X: RowsLike) -> list[WindowRecord]:
        """Continue with the next rows, and return the records of the windows that they complete.

        Parameters
        ----------
        X : array-like of shape (n, D), a list of them, or a stream
            The next rows. Rows of an incomplete window wait for the next call, whose first rows
            continue them.

        Returns
        -------
        list of WindowRecord
            One record for each complete window.

        Examples
        --------
        >>> import numpy as np
        >>> from eigenstream import Monitor, StreamPCA
        >>> rows = np.random.default_rng(0).standard_normal((3000, 3))
        >>> monitor = Monitor(StreamPCA(1).fit(rows), window=50, rate=0.05)
        >>> len(monitor.fit(rows).update(rows[:100]))
        2
        """
        check_is_fitted(self)
        return list(self._records(X))

    def watch(self, X: RowsLike) -> Iterator[WindowRecord]:
        """Yield the record of each complete window of rows, as soon as its rows are read.

        The rows do not continue those of ``update``.

        Parameters
        ----------
        X : array-like of shape (n, D), a list of them, or a stream
            The rows, in time order.

        Yields
        ------
        WindowRecord
            The record of a window.

        Examples
        --------
        >>> import numpy as np
        >>> from eigenstream import Monitor, StreamPCA
        >>> rows = np.random.default_rng(0).standard_normal((4000, 3))
        >>> monitor = Monitor(StreamPCA(1).fit(rows), window=50, rate=0.05)
        >>> rows[3000:, 1] += 2.0
        >>> records = monitor.fit(rows[:2000]).watch([rows[2000:3000], rows[3000:]])
        >>> [record.column for record in records if record.alarm][-1]
        'x1'
        """
        check_is_fitted(self)
        yield from snapshot(self)._records(X, restart=True)

    def _records(self, X: RowsLike, *, restart: bool = False) -> Iterator[WindowRecord]:
        if restart:
            self._pending, self._n_rows = self._pending[:0], 0
        for window in self._windows(self._blocks(self._stream(X))):
            yield self._record(*window)

    def _record(self, rows: Float64s, n_rows: int, time: Any) -> WindowRecord:
        precision = self.geometry_.precision()
        features, spread = window = window_of(rows, self.geometry_, precision)
        pool = joined_features([self.reference_, features])
        total, groups, changes = scores_of(pool, self.window)
        p = rank_p_value(total)
        alarm = p <= self.rate * (1.0 + 1e-9)
        if self._baseline is None:
            own = self.reference_.own.reshape(-1, len(KINDS) - 1, self.n_features_in_)
            self._baseline = Baseline(own, self.geometry_.correlation())
        # A change of the spread of column i adds at most its own share to any column's measure.
        excess = np.nan_to_num(np.abs(spread**2 - 1.0))
        excess *= self.geometry_.deviations**2 * np.diagonal(precision)
        now = features.own.reshape(-1, self.n_features_in_)
        blame = attributed(self._baseline, now, changes["spread"][-1], excess, alarm)
        shifts, log_ratio = np.nan_to_num(now - self._baseline.mean)[:2]
        health = np.abs(changes["health"][-1]).reshape(2, -1).max(axis=0)
        contributions = self._contributions(window, blame, health, shifts, np.exp(log_ratio))
        first = contributions[0] if contributions else None
        return WindowRecord(
            rows=n_rows,
            time=None if time is None else time.item(),
            p=p,
            group=max(GROUPS, key=lambda name: float(groups[name][-1])),
            column=first.column if first else None,
            offset=first.offset if first and first.missing < 1.0 else None,
            alarm=alarm,
            score=float(total[-1]),
            groups={name: rank_p_value(groups[name]) for name in GROUPS},
            contributions=tuple(contributions),
            n_moved=blame.n_moved,
            shifts=tuple(shifts.tolist()),
        )

    def _contributions(
        self,
        window: tuple[Features, Float64s],
        blame: Attribution,
        health: Float64s,
        shifts: Float64s,
        ratio: Float64s,
    ) -> list[Contribution]:
        """Return the columns that changed: those that moved, then those that disagree."""
        features, spread = window
        missing, repeated = features.health.reshape(2, -1)
        unhealthy = health > LEAST_CHANGE
        order = [*np.flatnonzero(unhealthy), *(k for k in blame.order if not unhealthy[k])]
        names, scale = self.columns, self.geometry_.scale()
        contributions = []
        for k in order[:MOST_NAMED]:
            kind = KINDS[blame.kind[k]]
            if unhealthy[k]:
                kind = "missing" if missing[k] >= repeated[k] else "repeated"
            contributions.append(
                Contribution(
                    names[k],
                    float(max(blame.score[k], health[k] * unhealthy[k])),
                    kind,
                    float(shifts[k]),
                    float(blame.offset[k] * scale[k]),
                    float(spread[k] if kind == "relation" else ratio[k]),
                    float(missing[k]),
                    float(repeated[k]),
                    names[blame.rivals[k]] if k in blame.rivals else None,
                )
            )
        return contributions

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in the order of ``WindowRecord.shifts``."""
        return names_of_features(self.estimator) or [f"x{k}" for k in range(self.n_features_in_)]
