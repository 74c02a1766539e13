"""A heat exchanger with seven sensors, which fouls from a chosen row on."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from scipy.signal import lfilter

from eigenstream.core.checks import check_number, check_whole
from eigenstream.core.linalg import Float64s, Floats
from eigenstream.core.types import DType, RandomState
from eigenstream.processes.base import BLOCK, Process, generators, seed_sequence

#: Time scales in rows, means and standard deviations of the two inlet temperatures and two flows.
TIMESCALES = np.array([60.0, 200.0, 30.0, 30.0])
MEANS = np.array([90.0, 20.0, 2.0, 3.0])
DEVIATIONS = np.array([1.5, 1.0, 0.08, 0.1])

#: Heat capacity of water in kJ / (kg K), and the clean exchanger's UA in kW / K at mean flows.
HEAT_CAPACITY, CLEAN = 4.19, 9.0

#: Pressure drop in kPa at the mean flow, and its growth relative to that of the resistance.
PRESSURE, NARROWING = 12.0, 2.0

#: Standard deviations of the noise of temperatures, flows and pressure.
NOISE = np.array([0.15, 0.15, 0.15, 0.15, 0.01, 0.01, 0.15])


class HeatExchanger(Process):
    """Seven sensors of a counterflow heat exchanger that fouls.

    Inlet temperatures and flows are autoregressive. Outlet temperatures follow from the heat
    balance with the effectiveness of a counterflow exchanger. Deposits add a thermal resistance
    and narrow the hot side, so the hot outlet becomes warmer and the pressure drop grows.

    Parameters
    ----------
    start : int, default=None
        The first row of the fouling. None keeps the exchanger clean.
    growth : float, default=0.02
        The resistance that 1000 rows add, relative to the clean exchanger.
    random_state : int, generator or None, default=None
        The seed. None draws one seed; every reading gives the same rows.

    Attributes
    ----------
    names : tuple of str
        The names of the sensors.

    Examples
    --------
    >>> from eigenstream.processes import HeatExchanger
    >>> rows = HeatExchanger(random_state=0).take(1000)
    >>> dict(zip(HeatExchanger.names, rows.mean(axis=0).round(), strict=True))[
    ...     "hot_outlet"
    ... ]
    np.float64(51.0)
    """

    names: ClassVar[tuple[str, ...]] = (
        *("hot_inlet", "hot_outlet", "cold_inlet", "cold_outlet"),
        *("hot_flow", "cold_flow", "pressure_drop"),
    )

    def __init__(
        self, *, start: int | None = None, growth: float = 0.02, random_state: RandomState = None
    ) -> None:
        self.start = None if start is None else check_whole(start, "start", least=0)
        self.growth = check_number(growth, "growth", least=0)
        self._seed = seed_sequence(random_state)
        self.n_features = len(self.names)

    def fouling(self, first: int, m: int) -> Float64s:
        """Return the added resistance of rows, relative to the clean exchanger.

        Parameters
        ----------
        first : int
            The number of the first row.
        m : int
            The number of rows.

        Returns
        -------
        array of shape (m,)
            The added resistance.
        """
        if self.start is None:
            return np.zeros(m)
        rows = np.arange(first, first + m, dtype=np.float64)
        return np.maximum(rows - self.start, 0.0) * self.growth / 1000.0

    def _blocks(self, dtype: DType) -> Iterator[Floats]:
        drive, spray = generators(self._seed, 2)
        decay = np.exp(-1.0 / TIMESCALES)
        state = drive.standard_normal(4) * decay
        first = 0
        while True:
            kicks = drive.standard_normal((BLOCK, 4)) * np.sqrt(1.0 - decay**2)
            paths = np.empty((BLOCK, 4))
            for k in range(4):
                paths[:, k], (state[k],) = lfilter(
                    [1.0], [1.0, -decay[k]], kicks[:, k], zi=state[[k]]
                )
            inputs = MEANS + DEVIATIONS * paths
            rows = sensors(inputs, self.fouling(first, BLOCK))
            rows += NOISE * spray.standard_normal(rows.shape)
            first += BLOCK
            yield rows.astype(dtype)


def sensors(inputs: Float64s, fouling: Float64s) -> Float64s:
    """Return the seven sensors without noise, from inlet temperatures, flows and fouling.

    >>> sensors(MEANS[None], np.zeros(1)).round(1).tolist()
    [[90.0, 50.5, 20.0, 46.3, 2.0, 3.0, 12.0]]
    """
    hot, cold, hot_flow, cold_flow = inputs.T
    rates = HEAT_CAPACITY * np.array([hot_flow, cold_flow])
    least, ratio = rates.min(axis=0), rates.min(axis=0) / rates.max(axis=0)
    turbulence = (hot_flow * cold_flow / (MEANS[2] * MEANS[3])) ** 0.4
    units = CLEAN * turbulence / (1.0 + fouling) / least
    fading = np.exp(-units * (1.0 - ratio))
    heat = (1.0 - fading) / (1.0 - ratio * fading) * least * (hot - cold)
    pressure = PRESSURE * (hot_flow / MEANS[2]) ** 2 * (1.0 + NARROWING * fouling)
    outlets = hot - heat / rates[0], cold + heat / rates[1]
    return np.column_stack([hot, outlets[0], cold, outlets[1], hot_flow, cold_flow, pressure])
