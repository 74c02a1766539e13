"""The parameters of online learning, and the error of its steps."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from eigenstream.core.checks import check_vectors
from eigenstream.core.linalg import brief
from eigenstream.core.storable import storable
from eigenstream.schedules import LearningRate, as_schedule


@dataclass(frozen=True)
class Progress:
    """The state of an online fit that a hook receives.

    Attributes
    ----------
    step : int
        The number of steps.
    gain : float
        The last learning rate.
    components : array of shape (n_components, n_features)
        The vectors.
    angle : float or None
        The largest principal angle to the exact answer in radians, if requested.
    """

    step: int
    gain: float
    components: Any
    angle: float | None = None

    __repr__ = brief


@storable(
    n_components="int=units",
    weights="tuple[number]",
    lag="int",
    center="bool",
    learning_rate="any",
    init="any",
    forgetting="number | None",
    seed="int",
    hook="-",
    hook_every="int",
)
@dataclass(frozen=True)
class Plan:
    """The parameters of an online learner. A hook is not saved.

    Parameters
    ----------
    n_components : int
        The number of weight vectors.
    weights : (float, float)
        The weights of the reward and of the penalty.
    lag : int
        The lag of the velocity in rows; 0 without a penalty.
    center : bool
        Subtract the mean of the previous rows from each row.
    learning_rate : "auto", number, schedule or function
        The learning rates.
    init : "data", "random" or array of shape (n_components, n_features)
        The initial weights.
    forgetting : float or None
        The share of the mean and of the moments that each row forgets.
    seed : int
        The seed of random initial weights.
    hook : function of a Progress, or None
        Called every ``hook_every`` steps. Learning stops if it returns True.
    hook_every : int
        The number of steps between two calls.
    """

    n_components: int
    weights: tuple[float, float] = (1.0, 0.0)
    lag: int = 0
    center: bool = True
    learning_rate: LearningRate = "auto"
    init: Any = "data"
    forgetting: float | None = None
    seed: int = 0
    hook: Callable[[Progress], object] | None = None
    hook_every: int = 1000

    def __post_init__(self) -> None:
        as_schedule(self.learning_rate)


class UnstableStepError(ArithmeticError):
    """Error of a learning step that gives infinite or exploding numbers.

    The weights are those before the unstable block.

    Parameters
    ----------
    step : int
        The number of the step, counted from 0.
    gain : float
        The learning rate.
    remedy : str, default=""
        The last sentence of the message.

    Examples
    --------
    >>> from eigenstream import OjaNeuron
    >>> OjaNeuron(form="linear", learning_rate=100.0).fit(np.eye(3))
    Traceback (most recent call last):
        ...
    eigenstream.online.plan.UnstableStepError: ...
    """

    #: True if the learner keeps the result of earlier steps.
    keeps = False
    #: The weights before the unstable block are valid, so ``partial_fit`` keeps them.
    valid = True

    def __init__(self, step: int, gain: float, remedy: str = "") -> None:
        self.step, self.gain, self.remedy = step, gain, remedy
        cause = f"the learning rate {gain:.3g} makes step {step} unstable: the weights explode."
        if not gain > 0.0:  # the automatic rate of an infinite square
            cause = f"the numbers of step {step} are too large to be squared: scale the data down."
        elif not remedy:
            cause += " Use a smaller learning rate or learning_rate='auto', or scale the data down."
        super().__init__(f"{cause} {remedy or 'The weights after the last good block are kept.'}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the arguments, so that the error crosses process borders."""
        return type(self), (self.step, self.gain, self.remedy)


def check_start(init: ArrayLike, d: int, n_features: int, *, orthonormal: bool) -> None:
    """Check the number of components and the initial weights for rows of this width.

    >>> check_start(np.zeros((1, 3)), 1, 3, orthonormal=True)
    Traceback (most recent call last):
        ...
    ValueError: 1 of the 1 rows of init are zero or depend on the others. Give other directions, or
    init='random'.
    """
    if d > n_features:
        raise ValueError(
            f"n_components={d} exceeds the {n_features} input features. "
            f"Use n_components <= {n_features}."
        )
    if isinstance(init, str):
        return
    vectors = check_vectors(init, "init", d, n_features)
    rank = np.linalg.matrix_rank(vectors) if orthonormal else vectors.any(axis=1).sum()
    if rank < d:
        raise ValueError(
            f"{d - rank} of the {d} rows of init are zero or depend on the others. Give other "
            "directions, or init='random'."
        )
