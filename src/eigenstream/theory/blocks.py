"""The blocking argument behind every bound for dependent data, and its exact optimisation.

[SLOW] Theorem 4 cuts m observations into pairs of blocks of length a, l = floor(m / (2a)) pairs in
all, and treats every second block as independent at the price l beta(a). Here the price (called
the leak) is l beta(a - lag): an observation may itself depend on ``lag`` earlier ones.

For fixed l the longest blocks leak least, so only a(l) = max{a : floor(m / (2a)) = l} matters, and
l takes O(sqrt m) values. Along them the leak grows with l, while at a fixed leak every bound
falls with l. That orders whole ranges of l at once: branch and bound over l is exact and looks at
a small part of the values.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np

from eigenstream._checks import check_number, check_whole
from eigenstream.theory.mixing import Float64s, Int64s, MixingProfile, check_profile

#: The most observations that the functions consider: whole numbers stay exact well beyond.
MOST = 10**18


@dataclass(frozen=True)
class Deviation:
    """What a bound says: with probability > 1 - delta the deviation is at most ``value``.

    ``a`` is the block length used, ``blocks`` the number l of block pairs (the effective number of
    independent observations), ``leak`` the price l beta of their dependence, ``largest`` what the
    deviation cannot exceed anyway.

    >>> from eigenstream.theory import FiniteMemory, slow_bound
    >>> result = slow_bound(10**6, 10, 0.05, FiniteMemory(9))
    >>> print(result)
    at most 0.0809 with probability > 0.95 (m = 1000000, a = 10, 50000 blocks)
    >>> result.vacuous
    False
    """

    value: float
    delta: float
    m: int
    a: int
    blocks: int
    leak: float
    largest: float

    @property
    def vacuous(self) -> bool:
        """True if the statement says nothing: the value or delta is as large as it can be."""
        return self.value >= self.largest or self.delta >= 1.0

    def __str__(self) -> str:
        """Say it in one line."""
        sure = f"1 - {self.delta:.1e}" if self.delta < 1e-4 else f"{1 - self.delta:.6g}"
        text = (
            f"at most {self.value:.3g} with probability > {sure} "
            f"(m = {self.m}, a = {self.a}, {self.blocks} blocks)"
        )
        return f"{text}, which is vacuous" if self.vacuous else text


class _Splits:
    """The pairs (l, a) that m rows allow, one for each value of l = floor(m / (2a)), l growing.

    Numbered 1, 2, ...: up to sqrt(m / 2) the number is l itself, beyond it a = top + 1 - number.
    """

    def __init__(self, m: int) -> None:
        self.half = m // 2
        self.even = m % 2 == 0
        self.root = isqrt(self.half)
        self.top = 2 * self.root - (self.half // self.root == self.root)
        # a < m/2 is strict: for even m the single block is one shorter, unless that makes two.
        self.first = 2 if m == 4 else 1

    def __call__(self, number: Int64s) -> tuple[Int64s, Int64s]:
        """Return the l and a of these numbers."""
        mirrored = self.top + 1 - number
        small = number <= self.root
        blocks = np.where(small, number, self.half // np.maximum(mirrored, 1))
        a = np.where(small, self.half // number, mirrored)
        return blocks, np.where((blocks == 1) & self.even, a - 1, a)


@dataclass(frozen=True)
class Blocking:
    """The inequality for one class of processes.

    ``radius`` is |V| |W| and ``width`` is |<V, W>| of [SLOW] Theorem 4, ``factor`` is 1 for mean
    zero and 2 without ([SLOW] Corollary 2). ``tight`` keeps 1 + 1/sqrt(l) where the paper rounds it
    up to 2 in its last step. ``largest`` is what the deviation cannot exceed.
    """

    radius: float
    width: float
    factor: int
    lag: int
    tight: bool
    largest: float

    def bound(self, blocks: Any, leak: Any, delta: float) -> Float64s:
        """Return the deviation at confidence 1 - delta, infinite where leak >= delta / 2."""
        left = np.asarray(delta / 2 - leak)
        root = np.sqrt(np.asarray(blocks, dtype=np.float64))
        shift = 1 + 1 / root if self.tight else 2.0
        spread = np.sqrt(-2 * np.log(np.where(left > 0, left, 1.0)))
        value = self.factor / root * (shift * self.radius + self.width * spread)
        return np.where(left > 0, value, np.inf)

    def risk(self, blocks: Any, leak: Any, precision: float) -> Float64s:
        """Return the delta at which the bound equals the precision ([SLOW] eq. 4)."""
        root = np.sqrt(np.asarray(blocks, dtype=np.float64))
        shift = 1 + 1 / root if self.tight else 2.0
        reach = np.maximum(root * precision / self.factor - shift * self.radius, 0.0)
        return np.asarray(2 * (np.exp(-((reach / self.width) ** 2) / 2) + leak), dtype=np.float64)

    def leak(self, blocks: Any, a: Any, mixing: MixingProfile) -> Float64s:
        """Return l beta(a - lag); nothing is independent over a distance below zero."""
        distance = np.asarray(a) - self.lag
        beta = np.where(distance >= 0, mixing(np.maximum(distance, 0)), 1.0)
        return np.asarray(np.asarray(blocks) * beta, dtype=np.float64)

    def result(
        self, m: int, a: int, mixing: MixingProfile, delta: float, value: float | None = None
    ) -> Deviation:
        """Put a statement together; without a value it is the bound at this delta."""
        blocks = m // (2 * a)
        leak = float(self.leak(blocks, a, mixing))
        size = float(self.bound(blocks, leak, delta)) if value is None else value
        return Deviation(size, delta, m, a, blocks, leak, self.largest)

    def deviation(
        self, m: int, delta: float, mixing: MixingProfile, a: int | None = None
    ) -> Deviation:
        """Return the bound at m rows and confidence 1 - delta, for a given or the best a."""
        m = check_rows(m)
        delta = check_number(delta, "delta", above=0, below=1)
        check_profile(mixing)
        if a is not None:
            a = check_whole(a, "a")
            self._check_split(m, delta, mixing, a)
        else:
            self._check_possible(m, delta, mixing)
            a = self._best(m, mixing, lambda blocks, leak: self.bound(blocks, leak, delta))
        return self.result(m, a, mixing, delta)

    def confidence(self, m: int, precision: float, mixing: MixingProfile) -> Deviation:
        """Return the smallest delta at which the bound is at most the precision."""
        m = check_rows(m)
        precision = check_number(precision, "precision", above=0)
        check_profile(mixing)
        a = self._best(m, mixing, lambda blocks, leak: self.risk(blocks, leak, precision))
        blocks = m // (2 * a)
        delta = float(self.risk(blocks, self.leak(blocks, a, mixing), precision))
        # exp may underflow to 0: say the smallest delta there is, never certainty.
        delta = min(max(delta, float(np.finfo(np.float64).tiny)), 1.0)
        return self.result(m, a, mixing, delta, precision)

    def samples(self, precision: float, delta: float, mixing: MixingProfile) -> Deviation:
        """Return the bound at the smallest m for which it is at most the precision."""
        precision = check_number(precision, "precision", above=0)
        delta = check_number(delta, "delta", above=0, below=1)
        check_profile(mixing)

        def shortest(most_blocks: Int64s, least_blocks: Int64s, cap: Int64s) -> Int64s:
            """Smallest a that l = least_blocks might do with, were it as good as most_blocks."""

            def enough(a: Int64s) -> Any:
                leak = self.leak(least_blocks, a, mixing)
                return self.bound(most_blocks, leak, delta) <= precision

            return _first(enough, np.ones_like(cap), cap)

        def rows(least_blocks: Int64s, most_blocks: Int64s, most: int) -> Int64s:
            """At least this many rows for l in the range, exact if it is one l; else most + 1."""
            cap = np.maximum(most // (2 * least_blocks), 1)
            a = shortest(most_blocks, least_blocks, cap)
            needed = np.maximum(2 * least_blocks * np.minimum(a, cap), 2 * np.minimum(a, cap) + 1)
            return np.where((a <= cap) & (needed <= most), needed, most + 1)

        one = np.ones(1, dtype=np.int64)
        least = _first(
            lambda blocks: self.bound(blocks, 0.0, delta) <= precision, one, one * (MOST // 2)
        )
        least_blocks = int(least[0])
        tries = np.minimum(least_blocks * 2.0 ** np.arange(0, 8, 0.125), MOST / 2).astype(np.int64)
        best = int(rows(tries, tries, MOST).min())
        if best > MOST:
            raise ValueError(self._never(precision, delta, mixing))
        low, high = np.array([least_blocks]), np.array([max(best // 2, least_blocks)])
        while low.size:
            hopeful = rows(low, high, best) < best
            low, high = low[hopeful], high[hopeful]
            if not low.size:
                break
            middle = low + (high - low) // 2
            best = min(best, int(rows(middle, middle, best).min()))
            split = low < high
            low, high = (
                np.concatenate([low[split], middle[split] + 1]),
                np.concatenate([middle[split], high[split]]),
            )
        return self.deviation(best, delta, mixing)

    def _best(
        self, m: int, mixing: MixingProfile, objective: Callable[[Any, Any], Float64s]
    ) -> int:
        """Return the a of the least objective(l, leak), which falls with l and grows with leak."""
        splits = _Splits(m)

        def at(numbers: Int64s) -> tuple[Int64s, Int64s, Float64s]:
            blocks, a = splits(numbers)
            return blocks, a, self.leak(blocks, a, mixing)

        low, high = np.array([splits.first]), np.array([splits.top])
        best, best_a = np.inf, int(splits(low)[1][0])
        while low.size:
            middle = low + (high - low) // 2
            tried = np.concatenate([low, middle])
            blocks, a, leak = at(tried)
            values = objective(blocks, leak)
            least = int(np.argmin(values))
            if values[least] < best:
                best, best_a = float(values[least]), int(a[least])
            # No l of a range does better than its largest l would with its smallest leak.
            hopeful = objective(splits(high)[0], leak[: low.size]) < best
            split = hopeful & (low < high)
            low, high, middle = low[split], high[split], middle[split]
            low, high = np.concatenate([low, middle + 1]), np.concatenate([middle, high])
        return best_a

    def _check_split(self, m: int, delta: float, mixing: MixingProfile, a: int) -> None:
        """Refuse a block length outside the theorem, with the nearest one inside."""
        longest = (m - 1) // 2
        if a > longest:
            raise ValueError(
                f"a = {a} breaks the condition a < m/2 with m = {m}; the largest a is {longest}."
            )
        leak = float(self.leak(m // (2 * a), a, mixing))
        if leak < delta / 2:
            return
        self._check_possible(m, delta, mixing)
        shortest = _first(
            lambda tried: self.leak(m // (2 * tried), tried, mixing) < delta / 2,
            np.array([a]),
            np.array([longest]),
        )
        raise ValueError(
            f"a = {a} breaks the condition {self._condition()}: {leak:.3g} is not below "
            f"{delta / 2:.3g}; the smallest a that meets it is {int(shortest[0])}."
        )

    def _check_possible(self, m: int, delta: float, mixing: MixingProfile) -> None:
        """Refuse m, delta and mixing for which no block length is admissible."""
        longest = (m - 1) // 2
        leak = float(self.leak(m // (2 * longest), longest, mixing))
        if leak < delta / 2:
            return
        message = (
            f"No a < m/2 meets the condition {self._condition()} with m = {m}, delta = {delta:g} "
            f"and {mixing!r}: at best the left side is {leak:.3g} and the right {delta / 2:.3g}."
        )
        cap = np.array([MOST // 2 - 1])
        shortest = int(_first(lambda a: self.leak(1, a, mixing) < delta / 2, np.array([1]), cap)[0])
        if shortest <= cap[0]:
            message += f" The smallest m that meets it is {2 * shortest + 1}."
        if 2 * leak < 1:
            message += f" At this m, every delta above {2 * leak:.3g} meets it."
        raise ValueError(message)

    def _condition(self) -> str:
        distance = f"a-{self.lag}" if self.lag else "a"
        return f"l*beta({distance}) < delta/2"

    def _never(self, precision: float, delta: float, mixing: MixingProfile) -> str:
        message = f"No m up to 1e18 brings the bound down to {precision:g} with {mixing!r}"
        longest = (MOST - 1) // 2
        if self.leak(1, longest, mixing) >= delta / 2:
            return f"{message}: beta does not fall below delta/2 = {delta / 2:.3g}."
        return f"{message}; there it is {self.deviation(MOST, delta, mixing).value:.3g}."


def check_rows(m: int) -> int:
    """Return m as an int with room for one block length: a < m/2 needs m >= 3."""
    m = check_whole(m, "m")
    if m < 3:
        raise ValueError(f"m = {m} leaves no whole number a with a < m/2; the smallest m is 3.")
    if m > MOST:
        raise ValueError(f"m = {m} is beyond 1e18, the largest m considered.")
    return m


def _first(true_from: Callable[[Int64s], Any], low: Int64s, high: Int64s) -> Int64s:
    """Return the first whole numbers in [low, high] from which on it is true; high + 1 if none."""
    low, high = low.copy(), high + 1
    while (low < high).any():
        middle = low + (high - low) // 2
        # Where low has met high the middle may be high itself, one beyond the range: leave it.
        open_ = low < high
        yes = np.asarray(true_from(middle)) & open_
        high = np.where(yes, middle, high)
        low = np.where(open_ & ~yes, middle + 1, low)
    return low
