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

#: Larger blocks lose less: of narrow rows as many as make so many numbers, 1.6 MB in double
#: precision, but no more than the least and so many for each column beyond the first 64.
BLOCK_NUMBERS, BLOCK_PER_COLUMN, FIRST_COLUMNS = 200_000, 3, 64

#: The small problem of a block takes, a row, the time of so many products times the frame's vectors
#: squared (measured).
SMALL_PROBLEM = 160.0

#: Where directions outside the frame have debts on the average, one that comes in is charged this
#: share of them, so that what the first blocks have missed comes in sooner: the frame's gain is up
#: to 1 / DEBTS of Newton's then (docs/mathematics.md).
DEBTS = 0.7

#: A signed sum needs so many rows a column before a sketch of it is near the best answer.
ROWS_A_COLUMN = 25


@dataclass(frozen=True)
class SketchPlan:
    """What a sketch is asked for; see ``OperatorSketch`` for the meaning of each."""

    n_components: int | None
    weights: tuple[float, float] | None = (1.0, 0.0)
    lag: int = 0
    center: bool = True
    forgetting: float | None = None
    oversampling: float | None = None
    block_size: int | None = None
    independent: bool = False

    def checked(self) -> Self:
        """Return the plan, refusing values that make no sense."""
        if self.n_components is not None:
            check_whole(self.n_components, "n_components")
        check_number(self.kept_for[0], "the reward's weight", above=0)
        check_number(self.kept_for[1], "the penalty's weight", least=0)
        check_whole(self.lag, "lag", least=0)
        if self.penalises and self.lag == 0:
            raise ValueError("a penalty on velocities needs lag >= 1, got lag=0.")
        check_flag(self.independent, "independent")
        if self.weights is None and self.n_components is None:
            raise ValueError(
                "weights=None are those at which n_components eigenvalues are positive: give their "
                "number."
            )
        if self.weights is None and self.oversampling is not None:
            raise ValueError(
                f"oversampling={self.oversampling!r} is the size of a frame, and where the data "
                "choose the weights there is none: leave one of the two out."
            )
        if self.forgetting is not None:
            check_number(self.forgetting, "forgetting", above=0, below=1)
        if self.oversampling is not None:
            check_number(self.oversampling, "oversampling", least=1)
        if self.block_size is not None:
            check_whole(self.block_size, "block_size")
        return self

    @property
    def kept_for(self) -> tuple[float, float]:
        """The weights that are at hand while rows are learned; no matter which for whole sums."""
        return (0.5, 0.5) if self.weights is None else self.weights

    @property
    def penalises(self) -> bool:
        """Whether velocities count."""
        return self.kept_for[1] > 0

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
        if not self.penalises:
            return 0
        if self.oversampling is None:
            return max(8, min(3 * self.d, 60))
        return self.highest

    def whole(self, n_features: int) -> bool:
        """Tell whether the sums of rows of such a width are held whole, D x D: exact to rounding.

        They are where they are no larger than the frame; and where the weights are to be found: a
        slow direction much smaller than the others counts as much as these then, and adds next to
        nothing to any sum, so that no frame is sure to hold it (docs/mathematics.md).

        >>> [SketchPlan(5, one, lag=1).whole(1000) for one in ((0.3, 0.7), None)]
        [False, True]
        """
        return self.weights is None or n_features <= self.highest + self.lowest

    def block(self, n_features: int) -> int:
        """Return the number of terms of a block of rows of such a width.

        >>> [SketchPlan(10, (0.3, 0.7), lag=1).block(D) for D in (50, 200, 784, 100_000)]
        [128, 536, 255, 128]
        """
        if self.block_size:
            return self.block_size
        wanted = BLOCK_PER_VECTOR * (self.highest + self.lowest)
        numbers = BLOCK_NUMBERS // (2 if self.independent else 1)  # a couple is two rows
        beyond = max(n_features - FIRST_COLUMNS, 0)
        narrow = min(numbers // n_features, LEAST_BLOCK + BLOCK_PER_COLUMN * beyond)
        return max(LEAST_BLOCK, wanted, narrow)

    def cost(self, n_rows: int, n_features: int) -> float:
        """Return about how many products of numbers it takes to learn so many rows once.

        With r vectors in the frame and blocks of b = 2 r rows: a row with the frame and d older
        vectors, r + d, and with the rows of its block, b / 2; out again the rows, r, and the frame,
        r^2 / b. Two operations each: D (7 r + 2 d). And a small problem of 3 r dimensions a block.

        >>> SketchPlan(10, (0.3, 0.7), lag=1).cost(1, 100_000) / 100_000
        445.76

        Of sums held whole half of each square.
        """
        if self.whole(n_features):
            return n_rows * float(n_features) ** 2 * (2.0 if self.penalises else 1.0)
        r = self.highest + self.lowest
        return n_rows * (n_features * (7.0 * r + 2.0 * self.d) + SMALL_PROBLEM * r**2)

    def promises(self, n_rows: int, n_features: int) -> bool:
        """Tell whether so many rows are enough for an answer near the best one (docs/online.md).

        A plain sum of squares has no transient to speak of, and a sum held whole has none.

        >>> SketchPlan(10).promises(100, 784), SketchPlan(10, (0.3, 0.7), lag=1).promises(100, 784)
        (True, False)
        """
        enough = n_rows >= ROWS_A_COLUMN * n_features
        return enough or not self.penalises or self.whole(n_features)

    @property
    def debts(self) -> float:
        """The share of the mean debts that a direction from outside the frame is charged.

        A sum that loses weight all the time forgets what its first blocks have missed by itself,
        and a higher gain would only follow noise.
        """
        return DEBTS if self.forgetting is None else 1.0

    @property
    def keep(self) -> float:
        """The share of its weight that the past keeps at a term."""
        return 1.0 - (self.forgetting or 0.0)

    def state(self) -> State:
        """Return the plan as numbers; 0 stands for what is not given."""
        reward, penalty = self.weights or (0.0, 0.0)
        given: dict[str, Any] = dict(vars(self), reward=reward, penalty=penalty)
        del given["weights"]
        return {name: value or 0 for name, value in given.items()}

    @classmethod
    def restored(cls, state: State) -> "SketchPlan":
        """Return the plan that gave this state."""
        return cls(
            int(state["n_components"]) or None,
            weights=(float(state["reward"]), float(state["penalty"])) if state["reward"] else None,
            lag=int(state["lag"]),
            center=bool(state["center"]),
            forgetting=float(state["forgetting"]) or None,
            oversampling=float(state["oversampling"]) or None,
            block_size=int(state["block_size"]) or None,
            independent=bool(state["independent"]),
        )
