"""A family of linear maps between raw distance and discriminant analysis.

``shrinkage`` replaces a share of the covariance within classes by a multiple of the identity, and
``mixing`` a share of the covariance between classes by that within:

    shrinkage=1, mixing=1   Euclidean distance
    shrinkage=0, mixing=1   Mahalanobis distance within classes (RCA)
    mixing=0                weighted discriminants (LDA)

One eigendecomposition of the covariance within classes serves all shrinkages.

With ``normalize``, mapped rows are divided by their norms, which gives cosine distance about the
mean.
"""

from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, qr, svd

from eigenstream.core.linalg import Float64s, deviations_of, power_of_two, rounding_of_mean
from eigenstream.core.storable import storable
from eigenstream.rows.chunk import Places
from eigenstream.subspace.sums.operators import Eigenpairs, canonical

#: The values that "auto" compares. Small shrinkages suit columns in unequal units, large ones
#: suit images.
SHRINKAGES = (1e-6, 1e-3, 1e-2, 0.1, 0.3, 0.6, 1.0)
MIXINGS = (0.0, 0.1, 0.3, 1.0)
#: The numbers of discriminants that "auto" compares, in addition to all.
NUMBERS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)

#: The share of the mean squared distance that components of "auto" keep. Larger values give more
#: components.
ENERGY = 0.99

#: Fewer rows than features are solved in their span if there are more features than this. Larger
#: values take time. In the span, distances lack the directions that no row has.
WIDEST = 1024

#: Variances between classes below this share of the variance within count as this share.
SMALLEST_RATIO = 1e-12

#: Shrinkage, mixing, number of components and ``normalize`` of a member of the family.
Member = tuple[float, float, int | None, bool]
#: The preferred mixing and shrinkage for each value of ``normalize``, the preferred one first.
Preferred = dict[bool, tuple[float, float]]


@dataclass(frozen=True)
class Scatters:
    """The covariances within and between classes, along the rows of a basis or in all directions.

    ``between`` is a matrix, or rows R with the covariance R^T R.
    """

    within: Float64s
    between: Float64s
    #: The number of features of the rows, which may exceed the number of directions.
    n_features: int
    #: The largest eigenvalue within classes that rounding can cause.
    floor: float = 0.0
    #: True if ``between`` contains rows.
    factored: bool = False
    #: The trace within in all directions, or None if it is that of ``within``.
    trace: float | None = None

    def scaled(self, scale: Float64s | None, mean: Float64s) -> "Scatters":
        """Return the covariances of features with a mean, divided by ``scale``."""
        if scale is None:
            return self
        within, between = self.within / scale / scale[:, None], self.between / scale
        if not self.factored:
            between = between / scale[:, None]
        floor = rounding_of_mean(mean / scale)
        return Scatters(within, between, self.n_features, floor, self.factored)

    @property
    def directions(self) -> int:
        """The number of directions."""
        return len(self.within)

    def deviations(self, mean: Float64s) -> Float64s:
        """Return the deviation of each feature within classes, and 1 for constant features."""
        return deviations_of(np.diagonal(self.within), mean)

    @property
    def total(self) -> Float64s:
        """The covariance of all rows."""
        between = self.between.T @ self.between if self.factored else self.between
        return np.asarray(self.within + between)


@dataclass(frozen=True)
class Discriminants:
    """Directions of positive variance between classes, in coordinates whitened within classes.

    ``variances`` are descending, and ``mean`` is the mean variance over all features.
    """

    variances: Float64s
    vectors: Float64s
    mean: float
    #: The factors that whiten, along the eigenvectors within classes.
    scales: Float64s

    def weights(self, mixing: Any) -> tuple[Float64s, Any]:
        """Return the squared weights of the discriminants, and of all other directions.

        For Gaussian classes with variance 1 within and v between, the logarithm of the likelihood
        ratio of "same" and "different" weighs the squared difference of two rows by v / (1 + v).
        """
        rest = mixing * self.mean
        mixed = (1.0 - mixing) * self.variances + rest
        return mixed / (1.0 + mixed), rest / (1.0 + rest)


class Axes:
    """The eigenvectors of the covariance within classes."""

    def __init__(self, scatters: Scatters) -> None:
        self.scatters = scatters
        unit = power_of_two(float(np.abs(scatters.within).max(initial=0.0)))
        values, vectors = eigh(scatters.within / unit, check_finite=False, driver="evd")
        self.values, self.vectors = np.maximum(values, 0.0) * unit, vectors
        #: The variance by which shrinkage replaces the variances.
        trace = float(self.values.sum()) if scatters.trace is None else scatters.trace
        self.level = trace / scatters.n_features
        self.between = scatters.between @ vectors
        #: True if ``between`` has fewer rows than columns: rows R with the covariance R^T R.
        self.factored = scatters.factored and len(self.between) < len(vectors)
        if not self.factored:
            self.between = (self.between if scatters.factored else vectors).T @ self.between

    def scales(self, shrinkage: float) -> Float64s:
        """Return the factors that whiten the shrunk covariance, along the eigenvectors.

        Without shrinkage, directions of no variance have the factor 0.
        """
        shrunk = (1.0 - shrinkage) * self.values + shrinkage * self.level
        rounding = len(shrunk) * float(np.finfo(np.float64).eps) * float(self.values[-1])
        inside = shrunk > (max(rounding, self.scatters.floor) if shrinkage == 0.0 else 0.0)
        return np.divide(1.0, np.sqrt(shrunk), out=np.zeros(len(shrunk)), where=inside)

    def discriminants(self, shrinkage: float) -> Discriminants:
        """Return the directions of positive variance between classes."""
        scales = self.scales(shrinkage)
        if self.factored:
            _, roots, right = svd(self.between * scales, full_matrices=False)
            values, vectors = roots**2, right.T
        else:
            values, vectors = eigh(self.between * scales * scales[:, None], driver="evd")
            values, vectors = values[::-1], vectors[:, ::-1]
        n = max(int((values > 1e-9 * np.abs(values).max(initial=0.0)).sum()), 1)
        mean = max(float(values.sum()) / self.scatters.n_features, SMALLEST_RATIO)
        variances = np.maximum(values[:n], SMALLEST_RATIO)
        return Discriminants(variances, vectors[:, :n], mean, scales)


@dataclass(frozen=True)
class Family:
    """The members of the family to compare.

    A number of components of None stands for all of them.
    """

    shrinkages: tuple[float, ...] = SHRINKAGES
    mixings: tuple[float, ...] = MIXINGS
    numbers: tuple[int | None, ...] = (*NUMBERS, None)
    normalizations: tuple[bool, ...] = (False, True)

    @property
    def several(self) -> bool:
        """True if there are several candidates."""
        grids = self.shrinkages, self.mixings, self.numbers, self.normalizations
        return max(map(len, grids)) > 1

    def squared_distances(
        self, axes: Axes, rows: Float64s, pairs: Places
    ) -> tuple[list[Member], Float64s]:
        """Return the members, and the squared distances of pairs of centred rows.

        A row of distances is a member. With mixing, the distances are those of all components.
        """
        first, second = pairs.T
        along = rows @ axes.vectors
        squares, apart_squares = along**2, (along[first] - along[second]) ** 2
        members: list[Member] = []
        distances: list[Float64s] = []
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
            for kind in self.normalizations:
                members += [(shrinkage, mixing, k, kind) for mixing, k in options]
                if kind:
                    norms = weights @ (projected**2).T + rests * (squares @ whitening)
                    distances.append(chords(euclidean, norms[:, first], norms[:, second]))
                else:
                    distances.append(euclidean)
        return members, np.concatenate(distances)

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


def chords(squares: Float64s, first: Float64s, second: Float64s) -> Float64s:
    """Return the squared distances of vectors divided by their norms; zero remains zero.

    ``squares`` are squared distances, ``first`` and ``second`` squared norms.

    >>> chords(np.array([2.0, 9.0]), np.array([1.0, 0.0]), np.array([1.0, 9.0]))
    array([2., 1.])
    """
    first, second = np.sqrt(np.maximum(first, 0.0)), np.sqrt(np.maximum(second, 0.0))
    product = first * second
    one_is_zero = ((first > 0.0) != (second > 0.0)).astype(np.float64)
    apart = squares - (first - second) ** 2
    squares = np.divide(apart, product, out=one_is_zero, where=product > 0.0)
    return np.asarray(np.round(squares, 12))  # along one component, all are 0 or 4: ties


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
    """The selected member of the family, and the mean loss of each candidate.

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

    @property
    def family(self) -> Family:
        """The family of the selected member alone."""
        return Family((self.shrinkage,), (self.mixing,), (self.n_components,), (self.normalize,))


def near_best(losses: Float64s, slack: float) -> NDArray[np.intp]:
    """Return the candidates whose mean loss is near the smallest one.

    A row of losses is a fold. ``slack`` is in units of the standard deviation over the folds.

    >>> near_best(np.array([[0.5, 0.2, 0.22], [0.4, 0.2, 0.19]]), 1.0)
    array([1, 2])
    """
    worse = losses - losses[:, [int(losses.mean(axis=0).argmin())]]
    spread = worse.std(axis=0, ddof=1) if len(losses) > 1 else np.zeros(losses.shape[1])
    return np.flatnonzero(worse.mean(axis=0) <= slack * spread + 1e-12)


def select(
    losses: list[dict[Member, float]],
    family: Family,
    slack: float,
    preferred: Preferred,
    kind_slack: float = 0.0,
) -> Selection:
    """Return the candidate nearest to the preferred one, of those near the best.

    Its kind of distance is the first of ``preferred``, unless the best candidate of the other kind
    is better by more than ``kind_slack``. More components are preferred.
    """
    n_folds = len(losses)
    if not losses:
        every = product(
            family.shrinkages, family.mixings, family.numbers[-1:], family.normalizations[:1]
        )
        losses = [dict.fromkeys(every, 1.0)]
    common = set(losses[0]).intersection(*losses)
    names = [name for name in losses[0] if name in common]
    table = np.array([[fold[name] for name in names] for fold in losses])
    kinds = {kind: np.flatnonzero([name[3] == kind for name in names]) for kind in preferred}
    kinds = {kind: places for kind, places in kinds.items() if len(places)}
    firsts = [places[int(table[:, places].mean(axis=0).argmin())] for places in kinds.values()]
    normalize = [*kinds][0 if 0 in near_best(table[:, firsts], kind_slack) else 1]
    alike = kinds[normalize]
    of_mixing = _grid_steps(family.mixings, preferred[normalize][0])
    of_shrinkage = _grid_steps(family.shrinkages, preferred[normalize][1])

    def distance(place: int) -> tuple[int, float, int]:
        shrinkage, mixing, number, _ = names[place]
        return of_mixing[mixing], -(number or np.inf), of_shrinkage[shrinkage]

    best = min(alike[near_best(table[:, alike], slack)].tolist(), key=distance)
    shrinkages, mixings, numbers, normalizations = np.array(
        [[shrinkage, mixing, number or 0, unit] for shrinkage, mixing, number, unit in names],
        np.float64,
    ).T
    shrinkage, mixing, number, _ = names[best]
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
        normalizations > 0.0,
    )


def _grid_steps(values: tuple[float, ...], preferred: float) -> dict[float, int]:
    """Return the number of steps from each value of a grid to the one nearest to another."""
    nearest = int(np.abs(np.array(values) - preferred).argmin())
    return {value: abs(place - nearest) for place, value in enumerate(values)}


def components_of(
    axes: Axes,
    shrinkage: float,
    mixing: float,
    n_components: int | None,
    energy: float | None = 1.0,
) -> Eigenpairs:
    """Return the components as columns, with the variances of the rows after the map.

    Euclidean distances after the map are the learned distances. The components are principal axes
    of the mapped rows. With mixing and ``n_components=None``, ``energy`` is the share of the mean
    squared distance to keep, or None for all directions.
    """
    discriminants = axes.discriminants(shrinkage)
    scales = discriminants.scales
    weights, rest = discriminants.weights(mixing)
    if mixing == 0.0:
        first = slice(0, n_components)
        mapped = (discriminants.vectors[:, first] * np.sqrt(weights[first])).T * scales
    else:
        root = (
            discriminants.vectors * (np.sqrt(weights) - np.sqrt(rest))
        ) @ discriminants.vectors.T
        root[np.diag_indices(len(root))] += np.sqrt(rest)
        mapped = root * scales
    mapped = mapped @ axes.vectors.T
    values, turn = eigh(mapped @ axes.scatters.total @ mapped.T, driver="evd")
    values, turn = np.maximum(values[::-1], 0.0), turn[:, ::-1]
    if mixing > 0.0 and n_components is None and energy is not None:
        least = energy * float(values.sum()) * (1.0 - 1e-12)
        n_components = int(np.searchsorted(np.cumsum(values), least)) + 1
    columns = mapped.T @ turn[:, :n_components]
    flat = values[:n_components] <= len(values) * np.finfo(np.float64).eps * values[0]
    if flat.any():  # any rotation of directions without variance would serve: take a triangular map
        columns[:, flat] = qr(columns[:, flat].T, mode="r")[0].T
    return canonical(values[:n_components], columns)
