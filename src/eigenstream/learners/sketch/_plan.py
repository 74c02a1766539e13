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


#: A search for the weights needs a large frame and a second pass. Up to so many columns for each
#: vector of it the two D x D sums themselves, of which one pass is enough and exact, take no more
#: time than that (``benchmarks search``); but no more columns than fit into 144 MB.
WHOLE_PER_VECTOR, WHOLE_SEARCH = 14, 3000


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
    independent: bool = False

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
        check_flag(self.independent, "independent")
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
            most = min(5 * self.d, 100) if self.search else min(2 * self.d, 40)
            return self.d + max(24 if self.search else 8, most)
        return max(ceil(self.oversampling * self.d), self.d)

    @property
    def lowest(self) -> int:
        """How many of the most negative eigenvalues are kept: none where nothing is penalised."""
        if not self.weights[1]:
            return 0
        if self.oversampling is None:
            return max(80, min(20 * self.d, 400)) if self.search else max(8, min(3 * self.d, 60))
        return self.highest

    def whole(self, n_features: int) -> bool:
        """Tell whether the sums of rows of such a width are held whole, D x D: exact to rounding.

        They are where they are no larger than the frame. For a search they are up to 14 columns for
        each vector of it, 3000 at most, unless a frame of some size is asked for.

        >>> [SketchPlan(5, (0.3, 0.7), lag=1, search=on).whole(1000) for on in (False, True)]
        [False, True]
        """
        r = self.highest + self.lowest
        searched = self.search and self.oversampling is None
        return n_features <= r or (
            searched and n_features <= min(WHOLE_PER_VECTOR * r, WHOLE_SEARCH)
        )

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
            return n_rows * float(n_features) ** 2 * (2.0 if self.weights[1] else 1.0)
        r = self.highest + self.lowest
        return n_rows * (n_features * (7.0 * r + 2.0 * self.d) + SMALL_PROBLEM * r**2)

    def promises(self, n_rows: int, n_features: int) -> bool:
        """Tell whether so many rows are enough for an answer near the best one (docs/online.md).

        A plain sum of squares has no transient to speak of, and a sum held whole has none.

        >>> SketchPlan(10).promises(100, 784), SketchPlan(10, (0.3, 0.7), lag=1).promises(100, 784)
        (True, False)
        """
        enough = n_rows >= ROWS_A_COLUMN * n_features
        return enough or not self.weights[1] or self.whole(n_features)

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
            independent=bool(state["independent"]),
        )
