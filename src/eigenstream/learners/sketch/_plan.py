"""What a sketch is asked for, and how large that makes it."""

from dataclasses import dataclass
from math import ceil
from typing import Any, Self

from eigenstream._checks import check_flag, check_number, check_whole
from eigenstream._state import State

#: Where any number of components may be asked for, the frame is that of so many.
ANY_NUMBER = 20

#: Terms that are learned together, at least, and for each vector of the frame.
LEAST_BLOCK, BLOCK_PER_VECTOR = 128, 2


@dataclass(frozen=True)
class SketchPlan:
    """What a sketch is asked for; see ``OperatorSketch`` for the meaning of each."""

    n_components: int | None
    weights: tuple[float, float] = (1.0, 0.0)
    lag: int = 0
    center: bool = True
    forgetting: float | None = None
    oversampling: float | None = None
    block_size: int | None = None
    search: bool = False

    def checked(self) -> Self:
        """Return the plan, refusing values that make no sense."""
        if self.n_components is not None:
            check_whole(self.n_components, "n_components")
        check_number(self.weights[0], "the reward's weight", above=0)
        check_number(self.weights[1], "the penalty's weight", least=0)
        check_whole(self.lag, "lag", least=0)
        if self.weights[1] > 0 and self.lag == 0:
            raise ValueError("a penalty on velocities needs lag >= 1, got lag=0.")
        check_flag(self.search, "search")
        if self.search and (self.n_components is None or not self.weights[1]):
            raise ValueError(
                "search=True looks for the weights at which n_components eigenvalues are positive:"
                " give their number, and a penalty to weigh against."
            )
        if self.forgetting is not None:
            check_number(self.forgetting, "forgetting", above=0, below=1)
        if self.oversampling is not None:
            check_number(self.oversampling, "oversampling", least=1)
        if self.block_size is not None:
            check_whole(self.block_size, "block_size")
        return self

    @property
    def d(self) -> int:
        """The number of directions that the frame is made for."""
        return ANY_NUMBER if self.n_components is None else self.n_components

    @property
    def highest(self) -> int:
        """How many of the largest eigenvalues are kept."""
        if self.oversampling is None:
            return self.d + max(8, min(2 * self.d, 40))
        return max(ceil(self.oversampling * self.d), self.d)

    @property
    def lowest(self) -> int:
        """How many of the most negative eigenvalues are kept: none where nothing is penalised."""
        if not self.weights[1]:
            return 0
        if self.oversampling is None:
            return max(8, min(3 * self.d, 60))
        return self.highest

    @property
    def block(self) -> int:
        """The number of terms of a block."""
        wanted = BLOCK_PER_VECTOR * (self.highest + self.lowest)
        return self.block_size or max(LEAST_BLOCK, wanted)

    @property
    def keep(self) -> float:
        """The share of its weight that the past keeps at a term."""
        return 1.0 - (self.forgetting or 0.0)

    def state(self) -> State:
        """Return the plan as numbers; 0 stands for what is not given."""
        reward, penalty = self.weights
        given: dict[str, Any] = dict(vars(self), reward=reward, penalty=penalty)
        del given["weights"]
        return {name: value or 0 for name, value in given.items()}

    @classmethod
    def restored(cls, state: State) -> "SketchPlan":
        """Return the plan that gave this state."""
        return cls(
            int(state["n_components"]) or None,
            weights=(float(state["reward"]), float(state["penalty"])),
            lag=int(state["lag"]),
            center=bool(state["center"]),
            forgetting=float(state["forgetting"]) or None,
            oversampling=float(state["oversampling"]) or None,
            block_size=int(state["block_size"]) or None,
            search=bool(state["search"]),
        )
