"""What an online learner is asked to do, and what it shows while it does it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from eigenstream._checks import check_choice, check_number, check_whole, real_array
from eigenstream._state import State, joined, part
from eigenstream.schedules import as_schedule, restored

__all__ = ["Plan", "Progress", "check_options"]


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
        check_whole(self.hook_every, "hook_every")
        check_options(self.schedule, self.init, self.forgetting, self.block_size, self.hook)
        return self

    def state(self) -> State:
        """Return all but the hook, which is its owner's."""
        names = ("n_components", "lag", "center", "forgetting", "seed", "block_size", "rates")
        found = {name: getattr(self, name) for name in names}
        found |= {"init": self.init, "weights": np.array(self.weights, np.float64)}
        found = {name: value for name, value in found.items() if value is not None}
        return found | joined(schedule=as_schedule(self.schedule).state())

    @classmethod
    def restored(cls, state: State) -> "Plan":
        """Return the plan that gave this ``state``."""
        init, reward_penalty = np.asarray(state["init"]), np.asarray(state["weights"]).tolist()
        forgetting, block_size = state.get("forgetting"), state.get("block_size")
        return cls(
            int(state["n_components"]),
            weights=(reward_penalty[0], reward_penalty[1]),
            lag=int(state["lag"]),
            center=bool(state["center"]),
            schedule=restored(part(state, "schedule")),
            init=str(init) if init.ndim == 0 else init,
            forgetting=None if forgetting is None else float(forgetting),
            seed=int(state["seed"]),
            block_size=None if block_size is None else int(block_size),
            rates=state.get("rates"),
        )


def check_options(
    schedule: Any = "auto",
    init: Any = "data",
    forgetting: Any = None,
    block_size: Any = None,
    hook: Any = None,
) -> None:
    """Refuse options of online learning that make no sense, whatever the data."""
    as_schedule(schedule)
    if isinstance(init, str):
        check_choice(init, "init", ("data", "random"))
    else:
        vectors = real_array(init, "init")
        if vectors.ndim != 2 or not np.isfinite(vectors).all():
            raise ValueError(
                "init must be 'data', 'random' or a finite array of shape (n_components, "
                f"n_features), got {init!r}."
            )
    if forgetting is not None:
        check_number(forgetting, "forgetting", above=0, below=1)
    if block_size is not None:
        check_whole(block_size, "block_size")
    if hook is not None and not callable(hook):
        raise TypeError(f"hook must be a function of one Progress, got {hook!r}.")


@dataclass(frozen=True)
class Progress:
    """What a hook is shown: steps taken, the last learning rate, the vectors, one a row.

    ``angle`` is the largest principal angle to the exact answer, in radians, where that is tracked.
    """

    step: int
    gain: float
    components: Any
    angle: float | None = None
