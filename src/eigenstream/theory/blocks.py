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
from numpy.typing import ArrayLike

from eigenstream.core.checks import check_number, check_whole
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
        m = check_whole(m, "m", least=3)
        if m > MOST:
            raise ValueError(f"m = {m} is too large. Use m <= 1e18.")
        delta = check_number(delta, "delta", above=0, below=1)
        check_profile(mixing)
        if a is None:
            a = self._best(m, delta, mixing)[1]
        elif check_whole(a, "a") > (m - 1) // 2:
            raise ValueError(
                f"a = {a} breaks the condition a < m/2 with m = {m}. Use a <= {(m - 1) // 2}."
            )
        blocks = m // (2 * a)
        leak = float(self.leak(blocks, a, mixing))
        if leak >= delta / 2:
            raise ValueError(
                f"a = {a} breaks the condition {self._condition}: {leak:.3g} is not below "
                f"{delta / 2:.3g} with m = {m} and {mixing!r}. Use another a, or more rows."
            )
        value = float(self.bound(blocks, leak, delta))
        return Deviation(value, delta, m, a, blocks, leak, self.largest)

    def samples(self, precision: float, delta: float, mixing: MixingProfile) -> Deviation:
        """Return the bound at the smallest m for which it is at most the precision."""
        precision = check_number(precision, "precision", above=0)
        delta = check_number(delta, "delta", above=0, below=1)
        check_profile(mixing)
        low, high = 2, 4
        while self._best(high, delta, mixing)[0] > precision:
            low, high = high, 2 * high
            if high > MOST:
                raise ValueError(
                    f"No m up to 1e18 brings the bound down to {precision:g} with {mixing!r} and "
                    f"delta = {delta:g}. Use a larger precision or delta."
                )
        while high - low > 1:
            middle = (low + high) // 2
            if self._best(middle, delta, mixing)[0] > precision:
                low = middle
            else:
                high = middle
        return self.deviation(high, delta, mixing)

    def _best(self, m: int, delta: float, mixing: MixingProfile) -> tuple[float, int]:
        """Return the smallest bound, infinite if no a is allowed, and the largest a that has it.

        A bound falls with l and grows with the leak.
        """

        def below(low: Int64s, high: Int64s) -> Float64s:
            return self.bound(m // (2 * low), self.leak(m // (2 * high), high, mixing), delta)

        longest = (m - 1) // 2
        a = _smallest(below, 1, longest)
        # The largest a with the same l has the smallest leak.
        a = min(m // (2 * (m // (2 * a))), longest)
        return float(self.bound(m // (2 * a), self.leak(m // (2 * a), a, mixing), delta)), a

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


def _smallest(below: Callable[[Int64s, Int64s], Any], low: int, high: int) -> int:
    """Return the place of the smallest finite value in [low, high], or else ``high``.

    ``below(l, h)`` are lower bounds of the values in [l, h], exact for l = h.
    """
    lows, highs, best, place = np.array([low]), np.array([high]), np.inf, high
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
    return place
