"""Families of distances between rows, of which held-out pairs select a member.

``Ratios`` lie between raw distance and discriminant analysis, and ``Projections`` have a weight of
negative pairs. The loss of a member is one minus the ROC area of the pairs that are held out.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from numbers import Integral
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from eigenstream.core.checks import warn_user
from eigenstream.core.linalg import Eigenpairs, Float64s
from eigenstream.core.storable import storable
from eigenstream.core.types import Setting
from eigenstream.evaluation.pair_risk import margin_risk
from eigenstream.rows.chunk import Places
from eigenstream.subspace.estimators.results import PairResult
from eigenstream.subspace.pairs.discriminants import Axes, components_of
from eigenstream.subspace.pairs.held_out import (
    RAW,
    REGION_SHRINKAGE,
    Examples,
    Fold,
    Folds,
    roc_areas,
)
from eigenstream.subspace.pairs.risks import PAPER_MARGIN
from eigenstream.subspace.sums.operators import MatrixOperator, VectorOperator
from eigenstream.subspace.sums.terms import Weights

#: The weights of negative pairs that "auto" compares, descending. Positive pairs have the weight 1.
ETAS = (10.0, 3.2, 1.0, 0.56, 0.32, 0.18, 0.1, 0.056, 0.032, 0.018, 0.01, 0.0032)

#: The values that "auto" compares. Small shrinkages suit columns in unequal units, large ones
#: suit images.
SHRINKAGES = (1e-6, 1e-3, 1e-2, 0.1, 0.3, 0.6, 1.0)
MIXINGS = (0.0, 0.1, 0.3, 1.0)
#: The numbers of discriminants that "auto" compares, in addition to all.
NUMBERS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)

#: The share of the mean squared distance that components of "auto" keep. Larger values give more
#: components.
ENERGY = 0.99

#: Shrinkage, mixing, number of components and ``normalize`` of a member of the ratios.
Ratio = tuple[float, float, int | None, bool]

Member = TypeVar("Member")

#: Members of a family, and the squared distances of the test pairs of a fold for each of them.
Distances = Iterator[tuple[Sequence[Member], Float64s]]


def losses_on(
    folds: Folds, rate: float, distances: Callable[[Fold], Distances[Member]]
) -> list[dict[Member, float]]:
    """Return the losses of the members on each fold, at false-positive rates up to ``rate``."""
    losses = []
    for fold in folds.folds:
        of_fold: dict[Member, float] = {}
        for members, squares in distances(fold):
            areas = roc_areas(squares, fold.same, fold.counts, rate)
            of_fold |= dict(zip(members, (1.0 - areas).tolist(), strict=True))
        losses.append(of_fold)
    return losses


# ---- differences ---------------------------------------------------------------------------


@storable(eta="number", etas="f8 e", losses="f8 e")
@dataclass(frozen=True)
class Choice:
    """The selected weight, the weights compared, and the mean loss of each."""

    eta: float
    etas: Float64s
    losses: Float64s


def weights_at(eta: float, totals: Weights = (1.0, 1.0)) -> Weights:
    """Return the weights of the mean negative and the mean positive pair ([HPCA] section 6)."""
    return 0.5 * eta * (totals[0] > 0.0), 0.5 * (totals[1] > 0.0)


@dataclass(frozen=True)
class Projections:
    """Projections on the largest eigenvectors of ``T = eta/2 A - 1/2 B``.

    There are up to ``n_components`` of ``width`` directions, or all of positive eigenvalues for
    None. ``diameter`` is the unit of the margin for eta="margin_risk".
    """

    n_components: int | None
    width: int
    eta: Setting
    rate: float
    diameter: float

    def _solved(self, operator: MatrixOperator, weights: Weights) -> tuple[Eigenpairs, int]:
        """Return the largest eigenpairs of T, and how many are positive beyond rounding."""
        n = self.width if self.n_components is None else min(self.n_components, self.width)
        if isinstance(operator, VectorOperator):  # the other eigenvalues would converge slowly
            n = max(operator.most_positive(weights, n), 1)
        pairs = operator.largest(weights, n)
        if hasattr(operator, "cut"):
            least = operator.cut(weights)
        else:
            size = float(np.abs(pairs.values).max(initial=0.0))
            least = max(1e-12 * size, operator.floor * sum(weights))
        return pairs, int((pairs.values > least).sum())

    def distances(self, examples: Examples, fold: Fold) -> Distances[float]:
        """Yield all etas, and the squared distances of the test pairs for each of them."""
        operator = examples.operator(fold.learner, fold.left_out)
        rows = examples.divided(fold.rows)
        differences = rows[fold.pairs[:, 0]] - rows[fold.pairs[:, 1]]
        squares = []
        for eta in ETAS:
            pairs, n = self._solved(operator, weights_at(eta))
            squares.append(((differences @ pairs.vectors[:, :n]) ** 2).sum(axis=1))
        yield ETAS, np.array(squares)

    def choose(self, examples: Examples, operator: MatrixOperator) -> Choice:
        """Return the eta of the least loss on held-out pairs, or of the least risk on all pairs."""
        if self.eta == "auto":
            distances = partial(self.distances, examples)
            losses = losses_on(examples.folds(), self.rate, distances)
            if not losses:
                return Choice(1.0, np.array(ETAS), np.ones(len(ETAS)))
            table = np.array([[*of_fold.values()] for of_fold in losses])
            return Choice(ETAS[round(_place(table))], np.array(ETAS), table.mean(axis=0))
        totals = examples.learner.terms.totals()

        def risk(eta: float) -> float:
            pairs, n = self._solved(operator, weights_at(eta, totals))
            columns = pairs.first(n).vectors
            columns = columns if examples.basis is None else examples.basis @ columns
            counts = examples.training(lambda rows: examples.divided(rows) @ columns).counts
            return margin_risk(counts, PAPER_MARGIN, self.diameter).risk

        risks = np.array([risk(eta) for eta in ETAS])
        close = np.flatnonzero(risks <= risks.min() + 1e-12)
        return Choice(ETAS[close[len(close) // 2]], np.array(ETAS), risks)

    def result(self, examples: Examples) -> PairResult:
        """Return the components at the selected eta."""
        operator, choice = examples.operator(examples.inside), None
        terms = examples.learner.terms
        totals, mean = terms.totals(), terms.mean
        if not isinstance(self.eta, str):
            eta = float(self.eta)
        elif totals[1] == 0.0:
            eta = 1.0  # without positive pairs the weight has no effect
        else:
            choice = self.choose(examples, operator)
            eta = choice.eta
        weights = weights_at(eta, totals)
        pairs, n = self._solved(operator, weights)
        if n < (self.n_components or 1):
            warn_user(
                f"n_components={self.n_components}, but only {n} eigenvalue(s) of T are "
                f"positive at eta={eta:.3g}. Other directions do not separate the pairs. Raise eta "
                "for more."
            )
        pairs = pairs.first(n)
        if examples.basis is not None:
            pairs = examples.outside(pairs)
        return PairResult(pairs, mean, examples.scale, eta, choice, n_positive=n, weights=weights)


def _place(losses: Float64s) -> float:
    """Return the average index of the good weights.

    A row of losses is a fold. A weight whose mean loss is z standard errors above the smallest mean
    loss counts exp(-z^2 / 2). Averaging reduces the effect of chance among good weights.

    >>> _place(np.array([[0.5, 0.2, 0.2, 0.2, 0.6], [0.4, 0.1, 0.1, 0.1, 0.5]]))
    2.0
    """
    worse = losses - losses[:, [int(losses.mean(axis=0).round(12).argmin())]]
    mean, error = worse.mean(axis=0), np.zeros(losses.shape[1])
    if len(losses) > 1:
        error = worse.std(axis=0, ddof=1) / np.sqrt(len(losses))
    errors = np.divide(mean, error, out=np.full(len(mean), np.inf), where=error > 1e-12)
    errors[mean <= 1e-12] = 0.0
    counts = np.exp(-0.5 * errors**2)
    return float(counts @ np.arange(len(counts)) / counts.sum())


# ---- ratios --------------------------------------------------------------------------------


@storable(
    shrinkage="number",
    mixing="number",
    n_components="int | None",
    shrinkages="f8 c",
    mixings="f8 c",
    numbers="f8 c",
    losses="f8 c",
    n_folds="int",
    normalize="bool?",
    normalizations="bool c?",
)
@dataclass(frozen=True)
class Selection:
    """The selected member of the ratios, and the mean loss of each candidate.

    Attributes
    ----------
    shrinkage, mixing, n_components : float, float, int or None
        The selected values. None stands for all components.
    shrinkages, mixings, numbers, losses : arrays of shape (n_candidates,)
        The candidates and their mean losses on held-out pairs, which ``selection`` names. A number
        of components of 0 stands for all.
    n_folds : int
        The number of folds.
    normalize : bool
        True if cosine distance is selected.
    normalizations : array of shape (n_candidates,)
        True for candidates with cosine distance.
    """

    shrinkage: float
    mixing: float
    n_components: int | None
    shrinkages: Float64s
    mixings: Float64s
    numbers: Float64s
    losses: Float64s
    n_folds: int
    normalize: bool = False
    normalizations: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))


@dataclass(frozen=True)
class Ratios:
    """Weighted discriminants, with Euclidean or cosine distance after the map.

    A number of components of None stands for all of them.
    """

    shrinkages: tuple[float, ...] = SHRINKAGES
    mixings: tuple[float, ...] = MIXINGS
    numbers: tuple[int | None, ...] = (*NUMBERS, None)
    normalizations: tuple[bool, ...] = (False, True)
    rate: float = 1.0
    #: The share of the mean squared distance that components keep, without ``normalize``.
    energy: float = 1.0

    @property
    def _grids(self) -> tuple[tuple[Any, ...], ...]:
        return self.shrinkages, self.mixings, self.numbers, self.normalizations

    @classmethod
    def of(
        cls,
        n_components: Any,
        shrinkage: Setting,
        mixing: Setting,
        normalize: bool | str,
        axes: Axes,
        rate: float,
        *,
        several_tasks: bool,
    ) -> "Ratios":
        """Return the members to compare, where "auto" stands for several values."""
        shrinkages, mixings = _grid(shrinkage, SHRINKAGES), _grid(mixing, MIXINGS)
        normalizations = _grid(normalize, (False, True))
        fixed_number = isinstance(n_components, Integral)
        if fixed_number and mixing == "auto":
            # Discriminants are nested. More components than these need other directions.
            few = n_components <= len(axes.discriminants(REGION_SHRINKAGE).variances)
            mixings = MIXINGS[:1] if few else MIXINGS[1:]
        numbers: tuple[Any, ...] = (n_components,)
        if n_components == "auto":
            numbers = (None,) if min(mixings) > 0.0 else (*NUMBERS, None)
        no_choice = len(shrinkages) == len(mixings) == 1
        if normalize == "auto" and (fixed_number or several_tasks or no_choice):
            normalizations = (False,)
        energy = ENERGY if n_components == "auto" else 1.0
        return cls(shrinkages, mixings, numbers, normalizations, rate, energy)

    def distances(self, examples: Examples, fold: Fold) -> Distances[Ratio]:
        """Yield members, and the squared distances of the test pairs for each of them."""
        axes = examples.axes_of(fold.learner, fold.left_out)
        return self.squared_distances(axes, examples.divided(fold.rows), fold.pairs)

    def squared_distances(self, axes: Axes, rows: Float64s, pairs: Places) -> Distances[Ratio]:
        """Yield the members of each shrinkage, with the squared distances of centred rows.

        With mixing, the distances are those of all components.
        """
        first, second = pairs.T
        along = rows @ axes.vectors
        squares, apart_squares = along**2, (along[first] - along[second]) ** 2
        for shrinkage in self.shrinkages:
            discriminants = axes.discriminants(shrinkage)
            whitening = discriminants.scales**2
            projected = along @ (discriminants.scales[:, None] * discriminants.vectors)
            apart = np.take(projected, first, axis=0) - np.take(projected, second, axis=0)
            options = self._options(len(discriminants.variances))
            mixings = np.array([[mixing] for mixing, _ in options])
            limits = [[np.inf if k is None or mixing > 0.0 else k] for mixing, k in options]
            weights, rests = discriminants.weights(mixings)
            weights = np.where(np.arange(weights.shape[1]) < limits, weights - rests, 0.0)
            euclidean = weights @ (apart**2).T + rests * (apart_squares @ whitening)
            distances = {False: euclidean}
            if True in self.normalizations:
                lengths = weights @ (projected**2).T + rests * (squares @ whitening)
                lengths = np.sqrt(np.maximum(lengths, 0.0))
                distances[True] = chords(euclidean, lengths[:, first], lengths[:, second])
            kinds = self.normalizations
            members = [(shrinkage, mixing, k, kind) for kind in kinds for mixing, k in options]
            yield members, np.concatenate([distances[kind] for kind in kinds])

    def _options(self, n_discriminants: int) -> list[tuple[float, int | None]]:
        """Return the mixings with the numbers of components to compare at each."""
        options: list[tuple[float, int | None]] = []
        for mixing in self.mixings:
            numbers = self.numbers
            if mixing > 0.0:
                numbers = (None if None in numbers else numbers[0],)
            elif len(numbers) > 1:
                numbers = tuple(k for k in numbers if k is None or k < n_discriminants)
            options += [(mixing, k) for k in numbers]
        return options

    def select(self, losses: list[dict[Ratio, float]], folds: Folds) -> Selection:
        """Return the candidate nearest to the preferred one, of those near the best.

        Its kind of distance is the first of ``folds.preferred``, unless the best candidate of the
        other kind is better by more than ``folds.kind_slack``. More components are preferred.
        """
        n_folds, preferred = len(losses), folds.preferred if losses else RAW
        if not losses:
            first = self.shrinkages, self.mixings, self.numbers[-1:], self.normalizations[:1]
            losses = [dict.fromkeys(product(*first), 1.0)]
        common = set(losses[0]).intersection(*losses)
        members = [member for member in losses[0] if member in common]
        table = np.array([[fold[member] for member in members] for fold in losses])
        kinds = {kind: np.flatnonzero([m[3] == kind for m in members]) for kind in preferred}
        kinds = {kind: places for kind, places in kinds.items() if len(places)}
        best = [places[int(table[:, places].mean(axis=0).argmin())] for places in kinds.values()]
        normalize = [*kinds][0 if 0 in near_best(table[:, best], folds.kind_slack) else 1]
        of_kind = kinds[normalize]
        mixing_steps = _grid_steps(self.mixings, preferred[normalize][0])
        shrinkage_steps = _grid_steps(self.shrinkages, preferred[normalize][1])

        def steps(place: int) -> tuple[int, float, int]:
            shrinkage, mixing, number, _ = members[place]
            return mixing_steps[mixing], -(number or np.inf), shrinkage_steps[shrinkage]

        near = of_kind[near_best(table[:, of_kind], folds.slack)].tolist()
        shrinkage, mixing, number, _ = members[min(near, key=steps)]
        shrinkages, mixings, numbers, units = np.array(
            [[s, m, k or 0, unit] for s, m, k, unit in members], np.float64
        ).T
        return Selection(
            shrinkage,
            mixing,
            number,
            shrinkages,
            mixings,
            numbers,
            table.mean(axis=0),
            n_folds,
            normalize,
            units > 0.0,
        )

    def result(self, examples: Examples, axes: Axes, *, spanned: bool) -> PairResult:
        """Return the components of the selected member.

        All directions are kept unless the features are ``spanned`` by rows.
        """
        ((shrinkage, mixing, n, normalize), *others), selection = [*product(*self._grids)], None
        if others:
            folds = examples.folds()
            losses = losses_on(folds, self.rate, partial(self.distances, examples))
            selection = self.select(losses, folds)
            shrinkage, mixing, n = selection.shrinkage, selection.mixing, selection.n_components
            normalize = selection.normalize
        energy = (1.0 if normalize else self.energy) if spanned else None
        pairs = components_of(axes, shrinkage, mixing, n, energy)
        if examples.basis is not None:
            pairs = examples.outside(pairs)
        if n is not None and len(pairs.values) < n:
            warn_user(
                f"n_components={n}, but only {len(pairs.values)} directions separate the classes "
                f"at mixing={mixing:g}. Use fewer components, or a larger mixing."
            )
        return PairResult(
            pairs,
            examples.mean if normalize else examples.learner.terms.mean,
            examples.scale,
            shrinkage=shrinkage,
            mixing=mixing,
            normalize=normalize,
            selection=selection,
            n_positive=len(axes.discriminants(shrinkage).variances),
        )


def chords(squares: Float64s, first: Float64s, second: Float64s) -> Float64s:
    """Return the squared distances of vectors divided by their lengths; zero remains zero.

    >>> chords(np.array([2.0, 9.0]), np.array([1.0, 0.0]), np.array([1.0, 3.0]))
    array([2., 1.])
    """
    product = first * second
    one_is_zero = ((first > 0.0) != (second > 0.0)).astype(np.float64)
    apart = squares - (first - second) ** 2
    squares = np.divide(apart, product, out=one_is_zero, where=product > 0.0)
    return np.asarray(np.round(squares, 12))  # along one component, all are 0 or 4: ties


def near_best(losses: Float64s, slack: float) -> NDArray[np.intp]:
    """Return the candidates whose mean loss is near the smallest one.

    A row of losses is a fold. ``slack`` is in units of the standard deviation over the folds.

    >>> near_best(np.array([[0.5, 0.2, 0.22], [0.4, 0.2, 0.19]]), 1.0)
    array([1, 2])
    """
    worse = losses - losses[:, [int(losses.mean(axis=0).argmin())]]
    spread = worse.std(axis=0, ddof=1) if len(losses) > 1 else np.zeros(losses.shape[1])
    return np.flatnonzero(worse.mean(axis=0) <= slack * spread + 1e-12)


def _grid(value: Any, candidates: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the candidates for "auto", else the value, in their type."""
    return candidates if isinstance(value, str) else (type(candidates[0])(value),)


def _grid_steps(values: tuple[float, ...], preferred: float) -> dict[float, int]:
    """Return the number of steps from each value of a grid to the one nearest to another."""
    nearest = int(np.abs(np.array(values) - preferred).argmin())
    return {value: abs(place - nearest) for place, value in enumerate(values)}
