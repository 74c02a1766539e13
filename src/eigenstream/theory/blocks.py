"""The blocking argument behind every bound for dependent data, and its exact optimisation.

[SLOW] Theorem 4 cuts m observations into l = floor(m / (2a)) pairs of blocks of length a. It
treats every second block as independent, which costs the probability l beta(a). Here this cost is
called the leak. It is l beta(a - lag), because an observation may depend on ``lag`` earlier ones.

A longer block leaks less, and at a fixed leak every bound falls with l. This gives a lower bound
of the value on a whole range of a. Branch and bound over a is therefore exact and evaluates few a.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenstream._checks import check_number, check_whole
from eigenstream.theory.mixing import Float64s, Int64s, MixingProfile, check_profile

#: The largest number of observations: int64 arithmetic is exact well beyond it.
MOST = 10**18


@dataclass(frozen=True)
class Deviation:
    """The result of a bound: the deviation is at most ``value`` with probability > 1 - delta.

    Attributes
    ----------
    value : float
        The bound on the deviation.
    delta : float
        The probability of failure.
    m : int
        The number of terms in the average.
    a : int
        The block length.
    blocks : int
        The number l of block pairs, the effective number of independent observations.
    leak : float
        l times the mixing coefficient: the part of delta spent on the dependence between blocks.
    largest : float
        The largest possible deviation.

    Examples
    --------
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
        """True if the bound is trivial: no deviation can exceed ``value``, or delta is 1."""
        return self.value >= self.largest or self.delta >= 1.0

    def __str__(self) -> str:
        """Return the statement in one line."""
        details = f"m = {self.m}, a = {self.a}, {self.blocks} blocks"
        return statement(f"at most {self.value:.3g}", self.delta, details, self.vacuous)


@dataclass(frozen=True)
class Blocking:
    """The inequality for one class of processes.

    ``radius`` is |V| |W| and ``width`` is |<V, W>| of [SLOW] Theorem 4. ``factor`` is 1 for mean
    zero and 2 otherwise ([SLOW] Corollary 2). ``tight`` keeps 1 + 1/sqrt(l), which the paper
    rounds up to 2 in its last step. ``largest`` is the largest possible deviation.
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

    def leak(self, blocks: ArrayLike, a: ArrayLike, mixing: MixingProfile) -> Float64s:
        """Return l beta(a - lag), with beta = 1 at negative distances."""
        distance = np.asarray(a) - self.lag
        beta = np.where(distance >= 0, mixing(np.maximum(distance, 0)), 1.0)
        return np.asarray(np.asarray(blocks) * beta, dtype=np.float64)

    def deviation(
        self, m: int, delta: float, mixing: MixingProfile, a: int | None = None
    ) -> Deviation:
        """Return the bound at m rows and confidence 1 - delta, for the given or the best a."""
        m = check_sample_size(m)
        delta = check_number(delta, "delta", above=0, below=1)
        check_profile(mixing)
        if a is None:
            self._check_possible(m, delta, mixing)
            a = self._best(m, delta, mixing)
        elif check_whole(a, "a") > (m - 1) // 2:
            raise ValueError(
                f"a = {a} breaks the condition a < m/2 with m = {m}. Use a <= {(m - 1) // 2}."
            )
        blocks = m // (2 * a)
        leak = float(self.leak(blocks, a, mixing))
        if leak >= delta / 2:
            raise ValueError(
                f"a = {a} breaks the condition {self._condition}: {leak:.3g} is not below "
                f"{delta / 2:.3g}. Use a larger a, or a=None for the best a."
            )
        value = float(self.bound(blocks, leak, delta))
        return Deviation(value, delta, m, a, blocks, leak, self.largest)

    def samples(self, precision: float, delta: float, mixing: MixingProfile) -> Deviation:
        """Return the bound at the smallest m for which it is at most the precision."""
        precision = check_number(precision, "precision", above=0)
        delta = check_number(delta, "delta", above=0, below=1)
        check_profile(mixing)

        def rows(low: Int64s, high: Int64s, most: int) -> Int64s:
            """Return a lower bound of m for l in [low, high], at most ``most + 1``.

            It is exact for low = high.
            """
            cap = np.maximum(most // (2 * low), 1)

            def enough(a: Int64s) -> Any:
                return self.bound(high, self.leak(low, a, mixing), delta) <= precision

            a = _first_true(enough, np.ones_like(cap), cap)
            needed = np.maximum(2 * low * np.minimum(a, cap), 2 * np.minimum(a, cap) + 1)
            return np.where((a <= cap) & (needed <= most), needed, most + 1)

        lower = np.ones(1, dtype=np.int64)
        least = int(
            _first_true(
                lambda blocks: self.bound(blocks, 0.0, delta) <= precision,
                lower,
                lower * (MOST // 2),
            )[0]
        )
        tries = np.minimum(least * 2.0 ** np.arange(0, 8, 0.125), MOST / 2).astype(np.int64)
        start = int(rows(tries, tries, MOST).min())
        if start > MOST:
            raise ValueError(
                f"No m up to 1e18 brings the bound down to {precision:g} with {mixing!r} and "
                f"delta = {delta:g}. Use a larger precision or delta."
            )
        best, _ = _smallest(
            lambda low, high: rows(low, high, start), least, max(start // 2, least), start
        )
        return self.deviation(int(best), delta, mixing)

    def _best(self, m: int, delta: float, mixing: MixingProfile) -> int:
        """Return the a with the smallest bound, which falls with l and grows with the leak."""

        def below(low: Int64s, high: Int64s) -> Float64s:
            return self.bound(m // (2 * low), self.leak(m // (2 * high), high, mixing), delta)

        longest = (m - 1) // 2
        _, a = _smallest(below, 1, longest, np.inf)
        # The largest a with the same l has the smallest leak.
        return min(m // (2 * (m // (2 * a))), longest)

    def _check_possible(self, m: int, delta: float, mixing: MixingProfile) -> None:
        """Raise ValueError for m, delta and mixing without an admissible block length."""
        longest = (m - 1) // 2
        leak = float(self.leak(m // (2 * longest), longest, mixing))
        if leak < delta / 2:
            return
        raise ValueError(
            f"No a < m/2 meets the condition {self._condition} with m = {m}, delta = {delta:g} "
            f"and {mixing!r}: at best {leak:.3g} is not below {delta / 2:.3g}. Use more rows, "
            "or a profile that decays faster."
        )

    @property
    def _condition(self) -> str:
        return f"l*beta(a-{self.lag}) < delta/2" if self.lag else "l*beta(a) < delta/2"


def statement(text: str, delta: float, details: str, vacuous: bool) -> str:
    """Return one line with the statement and its probability.

    >>> statement("at most 2", 1e-5, "m = 9", vacuous=True)
    'at most 2 with probability > 1 - 1.0e-05 (m = 9), which is vacuous'
    """
    sure = f"1 - {delta:.1e}" if delta < 1e-4 else f"{1 - delta:.6g}"
    end = ", which is vacuous" if vacuous else ""
    return f"{text} with probability > {sure} ({details}){end}"


def check_sample_size(m: int) -> int:
    """Return m as an int; the condition a < m/2 requires m >= 3."""
    m = check_whole(m, "m")
    if m < 3:
        raise ValueError(f"m = {m} allows no integer a with 1 <= a < m/2. Use m >= 3.")
    if m > MOST:
        raise ValueError(f"m = {m} is too large. Use m <= 1e18.")
    return m


def _first_true(
    true_from: Callable[[Int64s], NDArray[np.bool_]], low: Int64s, high: Int64s
) -> Int64s:
    """Return the first integers in [low, high] from which a condition is true, else high + 1."""
    low, high = low.copy(), high + 1
    while (low < high).any():
        middle = low + (high - low) // 2
        # If low equals high, the middle may be one beyond the range. Ignore it.
        open_ = low < high
        yes = np.asarray(true_from(middle)) & open_
        high = np.where(yes, middle, high)
        low = np.where(open_ & ~yes, middle + 1, low)
    return low


def _smallest(
    below: Callable[[Int64s, Int64s], Any], low: int, high: int, best: float
) -> tuple[float, int]:
    """Return the smallest value in [low, high] and its place, or ``best`` if no value is smaller.

    ``below(l, h)`` are lower bounds of the values in [l, h], exact for l = h.
    """
    lows, highs, place = np.array([low]), np.array([high]), high
    while lows.size:
        values = below(highs, highs)
        at = int(np.argmin(values))
        if values[at] < best:
            best, place = values[at], int(highs[at])
        hopeful = below(lows, highs) < best
        lows, highs = lows[hopeful], highs[hopeful]
        middles = lows + (highs - lows) // 2
        lows = np.concatenate([lows, middles + 1])
        highs = np.concatenate([np.minimum(middles, highs - 1), highs - 1])
        left = lows <= highs
        lows, highs = lows[left], highs[left]
    return best, place
