"""The monitor: its rate of false alarms on unchanged streams, its power, and its peers.

Every stream has six columns. The estimators have their defaults. ``main(n_streams)`` sets the time:
100 streams take about ten minutes.
"""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.signal import lfilter
from scipy.stats import chi2, norm

from benchmarks._tools import console, show
from eigenstream import Monitor, SlowSubspace, StreamPCA
from eigenstream.processes import HeatExchanger

#: Rows of a window, and windows of a reference and after it.
WINDOW, N_REFERENCE, N_NEW = 500, 99, 4

#: The mixing of sources into columns.
MIX = np.linalg.qr(np.random.default_rng(7).standard_normal((6, 6)))[0]

Rng = np.random.Generator


# ---- streams -----------------------------------------------------------------------------------


def autoregressive(rng: Rng, timescales: Any, n: int) -> Any:
    """Return stationary autoregressions of variance 1 with these time scales."""
    decays = np.exp(-1.0 / np.asarray(timescales, float))
    start = rng.standard_normal(len(decays))
    noise = rng.standard_normal((n, len(decays))) * np.sqrt(1.0 - decays**2)
    columns = [
        lfilter([1.0], [1.0, -c], noise[:, k], zi=[c * start[k]])[0] for k, c in enumerate(decays)
    ]
    return np.column_stack(columns)


def states(rng: Rng, up: float, down: float, n: int) -> Any:
    """Return a process with two states and these probabilities of a switch, standardised."""
    share = up / (up + down)
    state, values, first = int(rng.random() < share), np.empty(n), 0
    while first < n:
        length = rng.geometric(down if state else up)
        values[first : first + length] = state
        first, state = first + length, 1 - state
    return (values - share) / np.sqrt(share * (1.0 - share))


def white(rng: Rng, n: int) -> Any:
    """Return independent normal rows."""
    return rng.standard_normal((n, 6)) * [3, 2, 1, 1, 0.5, 0.5] @ MIX


def slow(rng: Rng, n: int) -> Any:
    """Return autoregressions with time scales of 25, 8, 3 and 2 rows, and noise."""
    sources = autoregressive(rng, [25, 8, 3, 2], n) * [2, 1.5, 1, 1]
    return np.hstack([sources, 0.3 * rng.standard_normal((n, 2))]) @ MIX


def two_states(rng: Rng, n: int, up: float = 0.02, down: float = 0.02) -> Any:
    """Return rows whose level switches between two states."""
    level = states(rng, up, down, n) * 2.0
    sources = np.column_stack([level, autoregressive(rng, [4.5, 1.4], n)])
    return np.hstack([sources, 0.3 * rng.standard_normal((n, 3))]) @ MIX


def rare_state(rng: Rng, n: int) -> Any:
    """Return rows with a state that takes 4 % of the time."""
    return two_states(rng, n, 0.002, 0.05)


def heavy_tails(rng: Rng, n: int) -> Any:
    """Return autoregressions and noise with t3 tails."""
    sources = autoregressive(rng, [20, 8, 3, 2], n) * [2, 1.5, 1, 1]
    sources = sources * np.sqrt(3.0 / rng.chisquare(3, (n, 1)))
    return np.hstack([sources, 0.3 * rng.standard_t(3, (n, 2))]) @ MIX


def volatile(rng: Rng, n: int) -> Any:
    """Return white rows whose scale changes slowly."""
    scale = np.exp(0.7 * autoregressive(rng, [100.0], n))
    return rng.standard_normal((n, 6)) * [3, 2, 1, 1, 0.5, 0.5] * scale @ MIX


def weekly(rng: Rng, n: int) -> Any:
    """Return hourly rows with a daily and a weekly cycle, and noise."""
    hour = np.arange(n) + rng.integers(168)
    weekend = ((hour // 24) % 7 >= 5).astype(float)
    day = 2.0 * np.pi * hour / 24.0
    cycle = [np.sin(day) * (1 - 0.6 * weekend), np.cos(day) * (1 - 0.3 * weekend), weekend]
    mix = np.random.default_rng(3).standard_normal((3, 6))
    return np.column_stack(cycle) @ mix + 0.7 * autoregressive(rng, [4.5] * 6, n)


STREAMS = {
    "white noise": white,
    "time scales 25 to 2": slow,
    "two states": two_states,
    "rare state": rare_state,
    "t3 tails": heavy_tails,
    "volatile": volatile,
    "weekly cycle": weekly,
}


# ---- changes of one column -----------------------------------------------------------------------


def changes(size: Any, rng: Rng) -> dict[str, Callable[[Any], Any]]:
    """Return changes of a column with this standard deviation, by name."""
    return {
        "offset of 1 sd": lambda x: x + size,
        "gain of 1.5": lambda x: 1.5 * x,
        "noise of 1 sd": lambda x: x + size * rng.standard_normal(len(x)),
        "noise of 0.5 sd": lambda x: x + 0.5 * size * rng.standard_normal(len(x)),
        "stuck": lambda x: np.full(len(x), x[0]),
        "dead": lambda x: np.full(len(x), np.nan),
        "drift of 0.1 sd a window": lambda x: x + 0.1 * size * np.arange(len(x)) / WINDOW,
    }


def monitored(estimator: Any, make: Any, rng: Rng, n_new: int, rate: float) -> tuple[Any, Any, Any]:
    """Return a monitor with its reference, and new rows of the same stream."""
    n_reference = round(1 / rate) - 1
    rows = make(rng, (n_reference + n_new) * WINDOW)
    reference, new = np.split(rows, [n_reference * WINDOW])
    return (
        Monitor(estimator.fit(reference), window=WINDOW, rate=rate).fit(reference),
        reference,
        new,
    )


def rates(n_streams: int) -> Iterator[list[str]]:
    """Yield the share of unchanged windows with an alarm, for each stream and estimator."""
    for name, make in STREAMS.items():
        cells = [name]
        for kind in StreamPCA, SlowSubspace:
            for rate in 0.05, 0.01:
                p = []
                for seed in range(n_streams):
                    rng = np.random.default_rng([seed, round(100 * rate)])
                    monitor, _, new = monitored(kind(), make, rng, N_NEW, rate)
                    p += [record.alarm for record in monitor.watch(new)]
                cells.append(f"{100 * np.mean(p):.1f}")
        yield cells


def power(n_streams: int, n_new: int = 10) -> Iterator[list[str]]:
    """Yield how soon a change is found at a rate of 1 %, and how often its column is named."""
    names = list(changes(1.0, np.random.default_rng(0)))
    delays: dict[tuple[str, str], list[float]] = {}
    named: dict[tuple[str, str], list[bool]] = {}
    for stream, make in STREAMS.items():
        for seed in range(n_streams):
            rng = np.random.default_rng([seed, 1000])
            monitor, reference, new = monitored(StreamPCA(), make, rng, n_new, 0.01)
            k = seed % 6
            for change, altered in changes(reference[:, k].std(), rng).items():
                rows = new.copy()
                rows[:, k] = altered(rows[:, k])
                first = next((one for one in monitor.watch(rows) if one.alarm), None)
                delay = np.inf if first is None else first.rows / WINDOW
                delays.setdefault((change, stream), []).append(delay)
                if first is not None:
                    named.setdefault((change, stream), []).append(first.column == f"x{k}")
    for change in names:
        cells = [change]
        for stream in STREAMS:
            late = np.array(delays[change, stream])
            right = np.mean(named.get((change, stream), [np.nan]))
            cells.append(f"{np.mean(late == 1):.2f} / {np.median(late):g} / {right:.2f}")
        yield cells


def exchanger(seed: int, n: int) -> tuple[Any, Any]:
    """Return a heat exchanger, and the same one that fouls by 10 % in its last windows."""
    fouling = HeatExchanger(start=n - N_NEW * WINDOW - 5000, growth=0.02, random_state=seed)
    return HeatExchanger(start=10 * n, random_state=seed).take(n), fouling.take(n)


def factors(seed: int, n: int) -> tuple[Any, Any]:
    """Return 12 columns of four slow factors and noise, and the same with a shifted factor."""
    rng = np.random.default_rng(seed)
    sources = autoregressive(rng, [30.0, 15.0, 8.0, 4.0], n)
    mix = np.random.default_rng(11).standard_normal((4, 12))
    rows = sources @ mix + 0.5 * rng.standard_normal((n, 12))
    return rows, rows + 1.5 * mix[0]


def faults(n_streams: int) -> Iterator[list[str]]:
    """Yield how well alarms name columns, for faults of sensors and of the process.

    A column is at fault if its mean moves by at least a fifth of the largest move.
    """
    n = (N_REFERENCE + N_NEW) * WINDOW
    found: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    for plant, make in (("heat exchanger", exchanger), ("four factors", factors)):
        for seed in range(n_streams):
            healthy, changed = make(100 + seed, n)
            reference, new = np.split(healthy, [n - N_NEW * WINDOW])
            deviations, width = reference.std(axis=0), reference.shape[1]
            model = StreamPCA(3, scale=True).fit(reference)
            monitor = Monitor(model, window=WINDOW).fit(reference)
            columns = (seed + np.arange(3)) % width
            cases = {"process": changed[-len(new) :]}
            for name, size, count in (("1 sensor, 0.5 sd", 0.5, 1), ("3 sensors, 1 sd", 1.0, 3)):
                cases[name] = new + size * np.isin(np.arange(width), columns[:count]) * deviations
            for name, rows in cases.items():
                moves = np.abs(rows - new).mean(axis=0) / deviations
                at_fault = {f"x{k}" for k in np.flatnonzero(moves >= moves.max() / 5)}
                for record in monitor.watch(rows):
                    if record.alarm:
                        named = [part.column for part in record.contributions]
                        right = [column in at_fault for column in named]
                        rivals = {part.rival for part in record.contributions}
                        either = any(right[:1]) or bool(rivals & at_fault)
                        share = np.mean(right) if right else np.nan
                        complete = len(at_fault & set(named)) / min(len(at_fault), 5)
                        row = float(any(right[:1])), float(either), float(share), complete
                        found.setdefault((plant, name), []).append(row)
    for (plant, name), rows in found.items():
        yield [plant, name, str(len(rows)), *(f"{x:.2f}" for x in np.nanmean(rows, axis=0))]


def limits(rng: Rng, make: Any) -> float:
    """Return the share of unchanged windows with an alarm of T2 or Q for independent rows."""
    rows = make(rng, (N_REFERENCE + N_NEW) * WINDOW)
    reference, new = np.split(rows, [N_REFERENCE * WINDOW])
    mean, covariance = reference.mean(axis=0), np.cov(reference.T)
    values, vectors = np.linalg.eigh(covariance)
    alarms = []
    for window in np.split(new, N_NEW):
        away = window.mean(axis=0) - mean
        inside = np.sqrt(WINDOW) * (away @ vectors[:, -2:]) / np.sqrt(values[-2:])
        outside = WINDOW * ((away @ vectors[:, :-2]) ** 2).sum()
        first, second = values[:-2].sum(), (values[:-2] ** 2).sum()
        limit = second / first * chi2.isf(0.025, first**2 / second)
        alarms.append(bool((inside**2).sum() > chi2.isf(0.025, 2) or outside > limit))
    return float(np.mean(alarms))


def sequential(rng: Rng, make: Any, kind: Any) -> float:
    """Return the share of unchanged windows in which a detector of river raises an alarm."""
    rows = make(rng, (N_REFERENCE + N_NEW) * WINDOW)
    alarms = np.zeros(N_NEW, bool)
    for column in rows.T:
        detector = kind()
        for t, value in enumerate(column.tolist()):
            detector.update(value)
            number = t // WINDOW - N_REFERENCE
            if detector.drift_detected and number >= 0:
                alarms[number] = True
    return float(alarms.mean())


def peers(n_streams: int) -> Iterator[list[str]]:
    """Yield the share of unchanged windows with an alarm at a stated 5 %, of other methods."""
    from river.drift import ADWIN, PageHinkley

    each = norm.sf(norm.isf(0.05 / 6))  # a stated 5 % for six columns
    for name in "white noise", "time scales 25 to 2", "rare state":
        cells = [name]
        for method in (
            limits,
            lambda rng, make: sequential(rng, make, lambda: ADWIN(delta=each)),
            lambda rng, make: sequential(rng, make, PageHinkley),
        ):
            shares = [
                method(np.random.default_rng(seed), STREAMS[name]) for seed in range(n_streams)
            ]
            cells.append(f"{100 * np.mean(shares):.0f}")
        yield cells


def main(n_streams: int = 100) -> None:
    """Print the tables of docs/how-to/monitoring.md."""
    estimators = "StreamPCA()", "SlowSubspace()"
    columns = [f"{name}, {rate}" for name in estimators for rate in ("5 %", "1 %")]
    few = max(n_streams // 5, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # outlying windows of short references
        console.print(f"{N_NEW * n_streams} windows for each rate")
        alarms = "False alarms in per cent of the windows"
        show(alarms, ["stream", *columns], list(rates(n_streams)))
        found = "Found in the first window / median delay in windows / column named first, at 1 %"
        show(found, ["change", *STREAMS], list(power(few)))
        header = ["plant", "fault", "alarms", "first right", "or its rival", "precision", "recall"]
        show("Columns that alarms name", header, list(faults(few)))
        others = "Other methods: alarms in per cent of unchanged windows, at a stated 5 %"
        show(others, ["stream", "T2 and Q", "ADWIN", "Page-Hinkley"], list(peers(few // 2)))


if __name__ == "__main__":
    main()
