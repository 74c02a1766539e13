"""Reward one scatter, penalise another: the one sentence behind every linear method here."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from eigenstream._checks import check_flag, check_number, weighed_rows
from eigenstream._linalg import Float64s
from eigenstream._state import State, joined, part
from eigenstream.scatters import restored
from eigenstream.scatters.base import Scatter, StreamScatter
from eigenstream.scatters.fused_update import can_fuse, fused_update
from eigenstream.scatters.radius_bound import RadiusBound

#: A constant feature seems to vary by up to so many times the rounding of its mean.
CONSTANT = 64.0


class Contrast:
    """``T = reward_weight * A - penalty_weight * B`` over two scatters fed with the same rows.

    The scatters do not depend on the weights: one pass over the data serves every weighting.
    Contrasts form a monoid, as scatters do. T is in general indefinite.

    Parameters
    ----------
    reward : Scatter
    penalty : Scatter, optional
        None for methods that only reward, such as PCA.
    weights : (reward_weight, penalty_weight), optional
        None where they are still to be chosen, such as by an estimator when it solves: until then
        ``matrix`` asks for them.
    scaled : bool
        T is that of features divided by ``scale``, the root of the rewarded scatter's
        ``feature_squares``: of correlations instead of covariances. Exact from the scatters.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream.contrast import Contrast
    >>> from eigenstream.scatters import VarianceScatter, VelocityScatter
    >>> slow = Contrast(VarianceScatter(1, lag=1), VelocityScatter(1), weights=(0.5, 0.5))
    >>> slow.update(np.array([[0.0], [1.0], [3.0]])).matrix()  # 0.5 * 1 - 0.5 * 2.5
    array([[-0.75]])
    """

    def __init__(
        self,
        reward: Scatter,
        penalty: Scatter | None = None,
        weights: tuple[float, float] | None = (1.0, 0.0),
        *,
        scaled: bool = False,
    ) -> None:
        if not isinstance(reward, Scatter) or not isinstance(penalty, Scatter | None):
            raise TypeError(f"a contrast is made of scatters, got {reward!r} and {penalty!r}.")
        if weights is not None:
            if np.shape(weights) != (2,):
                raise ValueError(f"weights must be a pair (reward, penalty), got {weights!r}.")
            for weight in weights:
                check_number(weight, "weights")
        if penalty is not None and penalty.n_features != reward.n_features:
            raise ValueError(
                f"the rewarded scatter has {reward.n_features} features and the penalised one "
                f"{penalty.n_features}: give both the same rows."
            )
        self.reward = reward
        self.penalty = penalty
        self.weights = weights
        self.scaled = scaled
        #: How far away rows lie: what the theory's assumptions are about.
        self.radius = RadiusBound()

    def empty(self) -> Self:
        """Return a contrast of the same kind that has seen nothing."""
        penalty = None if self.penalty is None else self.penalty.empty()
        return type(self)(self.reward.empty(), penalty, self.weights, scaled=self.scaled)

    def update(self, chunk: Any, *, sample_weight: Any = None, new_sequence: bool = False) -> Self:
        """Add a chunk of rows to both scatters; return the contrast itself."""
        check_flag(new_sequence, "new_sequence")
        rows, weights = weighed_rows(chunk, sample_weight, self.n_features)
        self.add_checked(rows, weights, new_sequence=new_sequence)
        return self

    def add_checked(
        self, chunk: Any, weights: NDArray[np.float64] | None, *, new_sequence: bool
    ) -> None:
        """Do what ``update`` does with rows and weights that have been checked: once is enough."""
        reward, penalty = self.reward, self.penalty
        if (
            isinstance(reward, StreamScatter)
            and isinstance(penalty, StreamScatter)
            and can_fuse(reward, penalty, chunk, weights)
        ):
            fused_update(reward, penalty, chunk, new_sequence=new_sequence)
        else:
            for scatter in self._scatters():
                if isinstance(scatter, StreamScatter):
                    scatter.add_checked(chunk, weights, new_sequence=new_sequence)
                else:
                    scatter.update(chunk, sample_weight=weights, new_sequence=new_sequence)
        self.radius.add(chunk, weights)

    def merge(self, later: Self, **how: Any) -> Self:
        """Return the contrast of this data followed by later ones; neither is changed.

        For streams ``new_sequence=True`` says that the later rows do not follow in time.
        """
        if (self.penalty is None) != (later.penalty is None):
            raise ValueError("only contrasts of one kind merge: one has a penalty, one has none.")
        penalty = None
        if self.penalty is not None and later.penalty is not None:
            penalty = self.penalty.merge(later.penalty, **how)
        reward = self.reward.merge(later.reward, **how)
        merged = type(self)(reward, penalty, self.weights, scaled=self.scaled)
        merged.radius = self.radius.merge(later.radius)
        return merged

    def state(self) -> State:
        """Return all that has been learned as a flat dict of arrays, numbers and strings."""
        parts = {"reward": self.reward.state(), "radius": self.radius.state()}
        if self.penalty is not None:
            parts["penalty"] = self.penalty.state()
        state = joined(**parts) | {"scaled": self.scaled}
        return state if self.weights is None else state | {"weights": np.array(self.weights)}

    @classmethod
    def restored(cls, state: State) -> Self:
        """Return a contrast that goes on from a ``state``, to the last bit."""
        penalty = part(state, "penalty")
        contrast = cls(
            restored(part(state, "reward")),
            restored(penalty) if penalty else None,
            tuple(np.asarray(state["weights"]).tolist()) if "weights" in state else None,
            scaled=bool(state["scaled"]),
        )
        contrast.radius = RadiusBound.restored(part(state, "radius"))
        return contrast

    def matrix(self, weights: tuple[float, float] | None = None) -> Float64s:
        """Return T for these weights, or for the contrast's own."""
        weights = self.weights if weights is None else weights
        if weights is None:
            raise ValueError(
                "the weights of this contrast are not chosen yet: read a result of the estimator "
                "that holds it first, or pass weights=(reward, penalty)."
            )
        reward_weight, penalty_weight = weights
        total, penalty = self.matrices()
        total *= reward_weight
        if penalty is not None:
            total -= penalty_weight * penalty
        return total

    def matrices(self) -> tuple[Float64s, Float64s | None]:
        """Return the rewarded and the penalised matrix that T is made of."""
        reward = self.reward.matrix()
        penalty = None if self.penalty is None else self.penalty.matrix()
        if self.scaled:
            scale = self.scale
            for matrix in (reward, penalty):
                if matrix is not None:
                    matrix /= scale
                    matrix /= scale[:, None]
        return reward, penalty

    @property
    def scale(self) -> Float64s:
        """What each feature is divided by: ones unless ``scaled``, and for constant features."""
        if not self.scaled:
            return np.ones(self.n_features)
        squares = self.reward.feature_squares()
        # What rounding of its mean may leave of a constant feature is no scale.
        means = np.asarray(self.reward.mean, np.float64) ** 2
        share = means / means.sum() if means.any() else means
        noise = CONSTANT**2 * self.reward.floor * share / self.n_features
        return np.where(squares > noise, np.sqrt(np.maximum(squares, 0.0)), 1.0)

    @property
    def rounding(self) -> float:
        """The relative error of the scatters' matrices: eigenvalues below it are noise."""
        return max(scatter.rounding for scatter in self._scatters())

    def floor(self, weights: tuple[float, float]) -> float:
        """Return how large eigenvalues of T can be from rounding of the means alone."""
        penalty = 0.0 if self.penalty is None else weights[1] * self.penalty.floor
        floor = weights[0] * self.reward.floor + penalty
        if self.scaled and floor > 0.0:
            # A floor is the square of the mean's rounding, and the mean is divided by the scale.
            mean = np.asarray(self.reward.mean, np.float64)
            floor *= float(np.linalg.norm(mean / self.scale) / np.linalg.norm(mean)) ** 2
        return floor

    @property
    def n_features(self) -> int:
        """The width of the rows."""
        return self.reward.n_features

    @property
    def n_rows(self) -> int:
        """The number of rows seen."""
        return self.reward.n_rows

    def _scatters(self) -> tuple[Scatter, ...]:
        return (self.reward,) if self.penalty is None else (self.reward, self.penalty)

    def __repr__(self) -> str:
        return f"Contrast(reward={self.reward!r}, penalty={self.penalty!r}, weights={self.weights})"
