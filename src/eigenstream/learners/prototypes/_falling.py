"""How a map's learning rate and radius fall: to the end of a known number of steps, or for ever."""

from dataclasses import dataclass

import numpy as np

from eigenstream._linalg import Float64s
from eigenstream.schedules import Schedule, Verdict

__all__ = ["Ends", "Falling"]

#: With fewer rows a unit than so many, ends are as with these.
FEWEST = 2.0


@dataclass(frozen=True)
class Ends:
    """First and last values by the number s of steps a unit: first - less / s, last + more / s.

    Few steps are to be spent on an order that is there already, or on a rate that is low, less.

    >>> Ends(2.0, 0.4, less=1.0, more=0.3).falling(20, 10, 1.0).gains(0, 30)[[0, -1]]
    array([1.5 , 0.55])
    """

    first: float
    last: float
    less: float = 0.0
    more: float = 0.0
    harmonic: bool = False

    def falling(self, n_steps: int, n_units: int, tau: float) -> "Falling":
        """Return what falls from the one to the other."""
        rows = max(n_steps / n_units, FEWEST)
        first = max(self.first - self.less / rows, 1.0 if self.less else 0.0)
        return Falling(first, self.last + self.more / rows, n_steps, tau, self.harmonic)


@dataclass(frozen=True)
class Falling(Schedule):
    """From ``first`` to ``last``: by a constant factor a step in ``n_steps``, then constant.

    Where it is ``harmonic`` as ``first / (1 + c t)``, quickly at first. Where the number of steps
    is not known (0), as ``first / (1 + t / tau)`` down to ``last``.

    >>> Falling(8.0, 2.0, 2, 100.0).gains(0, 4)
    array([8., 4., 2., 2.])
    >>> Falling(8.0, 2.0, 0, 100.0).gains(0, 1000)[[0, 100, 300, 999]]
    array([8., 4., 2., 2.])
    """

    first: float
    last: float
    n_steps: int
    tau: float
    harmonic: bool = False

    def gains(self, first: int, n: int) -> Float64s:
        """Return the values of ``n`` steps from ``first`` on."""
        steps = np.arange(first, first + n, dtype=np.float64)
        if not self.n_steps:
            return np.maximum(self.first / (1.0 + steps / self.tau), self.last)
        share = np.minimum(steps / self.n_steps, 1.0)
        if self.harmonic:
            return np.asarray(self.first / (1.0 + (self.first / self.last - 1.0) * share))
        if self.last > 0.0:
            return np.asarray(self.first * (self.last / self.first) ** share, np.float64)
        return np.asarray(self.first * (1.0 - share), np.float64)

    def converges(self) -> Verdict:
        """Return False where it stays above zero."""
        if self.last > 0.0:
            return Verdict(False, f"the steps stay at {self.last:g} and do not vanish")
        return Verdict(False, "sum eta is finite: it stops on the way")
