"""What an online learner is asked to do, and what it shows while it does it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from eigenstream._checks import check_choice, check_number, check_whole
from eigenstream.schedules import as_schedule

__all__ = ["Plan", "Progress"]


@dataclass(frozen=True)
class Plan:
    """What an online learner is asked to do; see ``FlowSolver`` for the meaning of each."""

    n_components: int
    weights: tuple[float, float] = (1.0, 0.0)
    lag: int = 0
    center: bool = True
    schedule: Any = "auto"
    init: Any = "data"
    forgetting: float | None = None
    seed: int = 0
    block_size: int | None = None
    rates: Any = None
    hook: Callable[["Progress"], Any] | None = None
    hook_every: int = 1000

    def checked(self) -> Self:
        """Return the plan, refusing values that make no sense."""
        check_whole(self.n_components, "n_components")
        check_whole(self.lag, "lag", least=0)
        check_number(self.weights[0], "the reward's weight", least=0)
        check_number(self.weights[1], "the penalty's weight", least=0)
        if self.weights[1] > 0 and self.lag == 0:
            raise ValueError("a penalty on velocities needs lag >= 1, got lag=0.")
        if isinstance(self.init, str):
            check_choice(self.init, "init", ("data", "random"))
        if self.forgetting is not None:
            check_number(self.forgetting, "forgetting", above=0, below=1)
        if self.block_size is not None:
            check_whole(self.block_size, "block_size")
        check_whole(self.hook_every, "hook_every")
        if self.hook is not None and not callable(self.hook):
            raise TypeError(f"hook must be a function of one Progress, got {self.hook!r}.")
        as_schedule(self.schedule)
        return self


@dataclass(frozen=True)
class Progress:
    """What a hook is shown: steps taken, the last learning rate, the vectors, one a row.

    ``angle`` is the largest principal angle to the exact answer, in radians, where that is tracked.
    """

    step: int
    gain: float
    components: Any
    angle: float | None = None
