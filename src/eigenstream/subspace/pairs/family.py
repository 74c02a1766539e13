"""Families of distances between rows, of which held-out pairs select a member.

``Ratios`` lie between raw distance and discriminant analysis, and ``Projections`` have a weight of
negative pairs. The loss of a member is one minus the ROC area of the pairs that are held out.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from numbers import Integral
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from eigenstream.core.checks import warn_user
from eigenstream.core.linalg import Eigenpairs, Float64s, canonical
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
from eigenstream.subspace.sums.learner import Learner
from eigenstream.subspace.sums.operators import MatrixOperator, PassOperator, VectorOperator
from eigenstream.subspace.sums.terms import NOTHING, Parts, Weights

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
NAMES = ("shrinkage", "mixing", "n_components", "normalize")
Ratio = tuple[float, float, float, bool]

Member = TypeVar("Member")

#: Members of a family, and the squared distances of the test pairs of a fold for each of them.
Distances = Iterator[tuple[Sequence[Member], Float64s]]


@storable(names="tuple[str]", candidates="f8 c p", losses="f8 c", n_folds="int")
@dataclass(frozen=True)
class Selection:
    """The compared members of a family.

    Attributes
    ----------
    names : tuple of str
        The parameters that differ between members.
    candidates : array of shape (n_candidates, n_parameters)
        Their values. A number of components of 0 stands for all.
    losses : array of shape (n_candidates,)
        The mean loss of each candidate on held-out pairs, or the risks for eta="margin_risk".
    n_folds : int
        The number of folds. Without folds, all losses are 1.
    """

    names: tuple[str, ...]
    candidates: Float64s
    losses: Float64s
    n_folds: int


class Family(ABC):
    """Distances of which held-out pairs select one."""

    examples: Examples
    rate: float

    @abstractmethod
    def distances(self, fold: Fold) -> Distances[Any]:
        """Yield members, and the squared distances of the test pairs for each of them."""

    @abstractmethod
    def result(self) -> PairResult:
        """Return the components of the selected member."""

    def losses(self, folds: Folds) -> list[dict[Any, float]]:
        """Return the losses of the members on each fold."""
        losses = []
        for fold in folds.folds:
            of_fold: dict[Any, float] = {}
            for members, squares in self.distances(fold):
                areas = roc_areas(squares, fold.same, fold.counts, self.rate)
                of_fold |= dict(zip(members, (1.0 - areas).tolist(), strict=True))
            losses.append(of_fold)
        return losses

    def _outside(self, pairs: Eigenpairs) -> Eigenpairs:
        """Return eigenpairs in all directions, of those along the basis if there is one."""
        basis = self.examples.basis
        return pairs if basis is None else canonical(pairs.values, basis @ pairs.vectors)


# ---- differences ---------------------------------------------------------------------------


def weights_at(eta: float, totals: Weights = (1.0, 1.0)) -> Weights:
    """Return the weights of the mean negative and the mean positive pair ([HPCA] section 6)."""
    return 0.5 * eta * (totals[0] > 0.0), 0.5 * (totals[1] > 0.0)


@dataclass(frozen=True)
class Projections(Family):
    """Projections on the largest eigenvectors of ``T = eta/2 A - 1/2 B``.

    There are up to ``n_components`` directions, or all of positive eigenvalues for None.
    ``diameter`` is the unit of the margin for eta="margin_risk".
    """

    examples: Examples
    n_components: int | None
    eta: Setting
    rate: float
    diameter: float

    def _operator(self, learner: Learner, held_out: Parts = NOTHING) -> MatrixOperator:
        """Return A and B of divided features, without held-out parts."""
        operator: MatrixOperator = learner.operator(held_out)
        scale = self.examples.scale
        return operator if scale is None else operator.scaled(scale, learner.terms.mean)

    def _solved(
        self, operator: MatrixOperator | PassOperator, weights: Weights
    ) -> tuple[Eigenpairs, int]:
        """Return the largest eigenpairs of T, and how many are positive beyond rounding."""
        width = self.examples.inside.terms.n_features
        n = min(self.n_components or width, width)
        if isinstance(operator, VectorOperator):  # the other eigenvalues would converge slowly
            n = max(operator.most_positive(weights, n), 1)
        pairs = operator.largest(weights, n)
        if isinstance(operator, MatrixOperator):
            least = operator.cut(weights)
        else:
            size = float(np.abs(pairs.values).max(initial=0.0))
            least = max(1e-12 * size, operator.floor * sum(weights))
        return pairs, int((pairs.values > least).sum())

    def distances(self, fold: Fold) -> Distances[float]:
        """Yield all etas, and the squared distances of the test pairs for each of them."""
        operator = self._operator(fold.learner, fold.left_out)
        rows = self.examples.divided(fold.rows)
        differences = rows[fold.pairs[:, 0]] - rows[fold.pairs[:, 1]]
        squares = []
        for eta in ETAS:
            pairs, n = self._solved(operator, weights_at(eta))
            squares.append(((differences @ pairs.vectors[:, :n]) ** 2).sum(axis=1))
        yield ETAS, np.array(squares)

    def _risk(self, pairs: Eigenpairs) -> float:
        """Return the training risk of a projection at the margin of the paper."""
        columns, examples = self._outside(pairs).vectors, self.examples
        counts = examples.training(lambda rows: examples.divided(rows) @ columns).counts
        return margin_risk(counts, PAPER_MARGIN, self.diameter).risk

    def select(self, operator: MatrixOperator, totals: Weights) -> tuple[float, Selection]:
        """Return the eta of the least loss on held-out pairs, or of the least risk on all pairs."""
        if self.eta == "auto":
            table = np.array([[*losses.values()] for losses in self.losses(self.examples.folds())])
            n_folds, losses = len(table), np.ones(len(ETAS))
            eta = 1.0
            if n_folds:
                losses, eta = table.mean(axis=0), ETAS[round(_place(table))]
        else:
            solved = (self._solved(operator, weights_at(eta, totals)) for eta in ETAS)
            n_folds, losses = 0, np.array([self._risk(pairs.first(n)) for pairs, n in solved])
            close = np.flatnonzero(losses <= losses.min() + 1e-12)
            eta = ETAS[close[len(close) // 2]]
        return eta, Selection(("eta",), np.array(ETAS)[:, None], losses, n_folds)

    def result(self) -> PairResult:
        """Return the components at the selected eta."""
        examples, selection = self.examples, None
        operator, terms = self._operator(examples.inside), examples.learner.terms
        totals, mean = terms.totals(), terms.mean
        if not isinstance(self.eta, str):
            eta = float(self.eta)
        elif totals[1] == 0.0:
            eta = 1.0  # without positive pairs the weight has no effect
        else:
            eta, selection = self.select(operator, totals)
        weights = weights_at(eta, totals)
        pairs, n = self._solved(operator, weights)
        if n < (self.n_components or 1):
            warn_user(
                f"n_components={self.n_components}, but only {n} eigenvalue(s) of T are "
                f"positive at eta={eta:.3g}. Other directions do not separate the pairs. Raise eta "
                "for more."
            )
        return PairResult(
            self._outside(pairs.first(n)),
            mean,
            examples.scale,
            eta=eta,
            selection=selection,
            n_positive=n,
            weights=weights,
        )


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


@dataclass(frozen=True)
class Ratios(Family):
    """Weighted discriminants, with Euclidean or cosine distance after the map.

    An infinite number of components stands for all of them.
    """

    examples: Examples
    axes: Axes
    rate: float = 1.0
    shrinkages: tuple[float, ...] = SHRINKAGES
    mixings: tuple[float, ...] = MIXINGS
    numbers: tuple[float, ...] = (*NUMBERS, np.inf)
    normalizations: tuple[bool, ...] = (False, True)
    #: The share of the mean squared distance that components keep, without ``normalize``. None
    #: keeps all directions.
    energy: float | None = 1.0

    @classmethod
    def of(
        cls,
        examples: Examples,
        axes: Axes,
        rate: float,
        n_components: Any,
        shrinkage: Setting,
        mixing: Setting,
        normalize: bool | str,
        *,
        spanned: bool,
    ) -> "Ratios":
        """Return the members to compare, where "auto" stands for several values.

        All directions are kept unless the features are ``spanned`` by rows.
        """
        shrinkages, mixings = _grid(shrinkage, SHRINKAGES), _grid(mixing, MIXINGS)
        normalizations = _grid(normalize, (False, True))
        fixed_number = isinstance(n_components, Integral)
        if fixed_number and mixing == "auto":
            # Discriminants are nested. More components than these need other directions.
            few = n_components <= len(axes.discriminants(REGION_SHRINKAGE).variances)
            mixings = MIXINGS[:1] if few else MIXINGS[1:]
        numbers: tuple[float, ...] = (n_components if fixed_number else np.inf,)
        if n_components == "auto" and min(mixings) == 0.0:
            numbers = (*NUMBERS, np.inf)
        no_choice = len(shrinkages) == len(mixings) == 1
        if normalize == "auto" and (fixed_number or examples.several_tasks or no_choice):
            normalizations = (False,)
        energy = None if not spanned else ENERGY if n_components == "auto" else 1.0
        return cls(examples, axes, rate, shrinkages, mixings, numbers, normalizations, energy)

    def distances(self, fold: Fold) -> Distances[Ratio]:
        """Yield members, and the squared distances of the test pairs for each of them."""
        axes = self.examples.axes_of(fold.learner, fold.left_out)
        return self.squared_distances(axes, self.examples.divided(fold.rows), fold.pairs)

    def squared_distances(self, axes: Axes, rows: Float64s, pairs: Places) -> Distances[Ratio]:
        """Yield the members of each shrinkage, with the squared distances of centred rows.

        With mixing, the distances are those of all components. Larger numbers of components than
        that of discriminants are left out.
        """
        first, second = pairs.T
        along = rows @ axes.vectors
        squares, apart_squares = along**2, (along[first] - along[second]) ** 2
        kinds, last = self.normalizations, self.numbers[-1]
        grid = product(self.mixings, self.numbers)
        options = np.array([(mixing, k) for mixing, k in grid if mixing == 0.0 or k == last])
        for shrinkage in self.shrinkages:
            discriminants = axes.discriminants(shrinkage)
            whitening = discriminants.scales**2
            projected = along @ (discriminants.scales[:, None] * discriminants.vectors)
            apart = np.take(projected, first, axis=0) - np.take(projected, second, axis=0)
            n = len(discriminants.variances)
            compared = options[(options[:, 1] < n) | (options[:, 1] == last)]
            mixings, limits = compared.T[..., None]
            weights, rests = discriminants.weights(mixings)
            chosen = (mixings > 0.0) | (np.arange(n) < limits)
            weights = np.where(chosen, weights - rests, 0.0)
            euclidean = weights @ (apart**2).T + rests * (apart_squares @ whitening)
            tables = [euclidean] if False in kinds else []
            if True in kinds:
                lengths = weights @ (projected**2).T + rests * (squares @ whitening)
                lengths = np.sqrt(np.maximum(lengths, 0.0))
                tables.append(chords(euclidean, lengths[:, first], lengths[:, second]))
            members = [(shrinkage, *option, kind) for kind in kinds for option in compared.tolist()]
            yield members, np.concatenate(tables)

    def select(self, losses: list[dict[Ratio, float]], folds: Folds) -> tuple[Ratio, Selection]:
        """Return the candidate nearest to the preferred one, of those near the best.

        Its kind of distance is the first of ``folds.preferred``, unless the best candidate of the
        other kind is better by more than ``folds.kind_slack``. More components are preferred.
        """
        n_folds, preferred = len(losses), folds.preferred if losses else RAW
        if not losses:
            first = self.shrinkages, self.mixings, self.numbers[-1:], self.normalizations[:1]
            losses = [dict.fromkeys(product(*first), 1.0)]
        common = set(losses[0]).intersection(*losses[1:])
        members = [member for member in losses[0] if member in common]
        table = np.array([[fold[member] for member in members] for fold in losses])
        kinds = {kind: np.flatnonzero([m[3] == kind for m in members]) for kind in preferred}
        kinds = {kind: places for kind, places in kinds.items() if len(places)}
        best = [places[int(table[:, places].mean(axis=0).argmin())] for places in kinds.values()]
        normalize = [*kinds][0 if 0 in near_best(table[:, best], folds.kind_slack) else 1]
        of_kind = kinds[normalize]
        mixing_steps = _grid_steps(self.mixings, preferred[normalize][0])
        shrinkage_steps = _grid_steps(self.shrinkages, preferred[normalize][1])

        def steps(member: Ratio) -> tuple[int, float, int]:
            shrinkage, mixing, number, _ = member
            return mixing_steps[mixing], -number, shrinkage_steps[shrinkage]

        near = of_kind[near_best(table[:, of_kind], folds.slack)].tolist()
        chosen = min((members[place] for place in near), key=steps)
        values = np.array(members, np.float64)
        values[np.isinf(values)] = 0.0
        return chosen, Selection(NAMES, values, table.mean(axis=0), n_folds)

    def result(self) -> PairResult:
        """Return the components of the selected member."""
        axes, examples, selection = self.axes, self.examples, None
        grids = self.shrinkages, self.mixings, self.numbers, self.normalizations
        member, *others = product(*grids)
        if others:
            folds = examples.folds()
            member, selection = self.select(self.losses(folds), folds)
        shrinkage, mixing, number, normalize = member
        n = None if np.isinf(number) else int(number)
        energy = 1.0 if normalize and self.energy is not None else self.energy
        discriminants = axes.discriminants(shrinkage)
        pairs = self._outside(components_of(axes, discriminants, mixing, n, energy))
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
            n_positive=len(discriminants.variances),
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
