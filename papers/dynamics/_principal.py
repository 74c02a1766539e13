"""Figures 3 and 4 of [DYN]: the cascade of plateaus, what ends them, and where they lead."""

from typing import Any

import numpy as np

from eigenstream import plotting
from eigenstream.reports.base import Drawing, Section
from eigenstream.theory import PrincipalDynamics

#: Inferred: with them the steps and levels fall where the figures' axes allow.
STRENGTHS, ETA, START = (0.6, 0.4, 0.2), 0.1, 0.06
#: N and the number of runs, where finite N ends the plateau.
TRIED = ((500, 24), (5000, 10))

INFERRED = "b = (0.6, 0.4, 0.2), eta = 0.1 and R = 0.06 are inferred from the axes, not read."


def _near(size: int, deviation: float) -> Any:
    """Overlaps that are equal but for the diagonal."""
    R = np.full((size, size), START)
    R[np.arange(1, size), np.arange(1, size)] += deviation
    return R


def _pair_start(X: float) -> Any:
    return np.array([[START, START], [START, START + X / START]])


def cascade(_: int) -> tuple[Section, dict[str, Any]]:
    """Figures 3a and 4b: the error falls in steps, sooner if rates differ."""
    times = np.linspace(0, 800, 801)
    lines, steps = {}, {}
    for name, factors in (
        ("equal rates", (1, 1, 1)),
        ("1% apart", (1, 1.009, 0.99)),
        ("10% apart", (1, 1.09, 0.9)),
    ):
        model = PrincipalDynamics(STRENGTHS, eta=ETA * np.array(factors))
        course = model.solve(_near(3, 1e-10), np.eye(3), times)
        lines[name] = (times, course.error)
        last = np.abs(course.R[-1, [0, 1, 2], [0, 1, 2]])
        steps[name] = [course.when(np.abs(course.R[:, k, k]), float(last[k]) / 2) for k in range(3)]
    ax = plotting.courses(lines, labels=("alpha", "error"))
    text = INFERRED + " N -> infinity; deviations of 1e-10. Equal rates are figure 3a."
    section = Section(
        "Figures 3a, 4b: a cascade of plateaus",
        "",
        (Drawing(plotting.svg(ax, "dynamics-cascade"), "The estimation error", text),),
    )
    return section, {"half-rise times": steps}


def lost_overlaps(_: int) -> tuple[Section, dict[str, Any]]:
    """Figure 3b: what the second unit learned at first is lost again."""
    model, times = PrincipalDynamics(STRENGTHS[:2], eta=ETA), np.linspace(0, 300, 601)
    R = np.array([[0.03, 0.02], [0.03, 0.02 + 1e-10 / 0.03]])
    course = model.solve(R, np.eye(2), times)
    lines = {
        f"|R{i + 1}{j + 1}|": (times, np.abs(course.R[:, i, j])) for i in (0, 1) for j in (0, 1)
    } | {"|Q12|": (times, np.abs(course.Q[:, 0, 1]))}
    ax = plotting.courses(lines)
    text = (
        "b = (0.6, 0.4) and eta = 0.1 are inferred from the axes, not read. R of a few hundredths, "
        "X(0) = 1e-10."
    )
    section = Section(
        "Figure 3b: overlaps are lost, and found again",
        "",
        (Drawing(plotting.svg(ax, "dynamics-overlaps"), "Overlaps of two units", text),),
    )
    return section, {"largest R21": float(np.abs(course.R[:, 1, 0]).max())}


def lengths(seed: int, *, tried: Any = TRIED) -> tuple[Section, dict[str, Any]]:
    """Figure 4a, and what finite N makes of it."""
    model, seeds = PrincipalDynamics(STRENGTHS[:2], eta=ETA), 10.0 ** -np.arange(3, 11)
    half = float(model.fixed_point()[0][1, 1]) / 2
    times = np.linspace(0, 300, 601)
    ends = []
    for X in seeds:
        course = model.solve(_pair_start(X), np.eye(2), times)
        ends.append(course.when(np.abs(course.R[:, 1, 1]), half))
    points, medians = {}, {}
    for N, runs in tried:
        found = []
        for X in seeds[::3]:
            grid = np.arange(0.0, 130.0)
            chain = model.simulate(
                _pair_start(X), np.eye(2), grid, n_features=N, runs=runs, random_state=seed
            )
            above = np.abs(chain.R[:, :, 1, 1]) > half
            reached = grid[np.where(above.any(axis=1), above.argmax(axis=1), -1)]
            found.append((reached.mean(), reached.std(ddof=1) / np.sqrt(runs)))
        points[f"N = {N}"] = (seeds[::3], *np.array(found).T)
        medians[f"N = {N}"] = [float(one) for one, _ in found]
    lines = {"N infinite": (seeds, np.array(ends))}
    scales = ("log", "linear")
    ax = plotting.courses(lines, points, labels=("X(0)", "alpha"), scales=scales)
    slope = float(np.polyfit(np.log(seeds), ends, 1)[0])
    text = (
        "b = (0.6, 0.4), eta = 0.1 and R = 0.06 are inferred from the axes, not read. The line has "
        f"the slope 1 / gamma_2 = {1 / model.growth_rate(2):.2f} per e-fold (not 1 / gamma, 4.13). "
        "At finite N noise ends the plateau: points are the chain's means."
    )
    section = Section(
        "Figure 4a: plateaus are as long as the logarithm of X(0), for infinite N only",
        "",
        (Drawing(plotting.svg(ax, "dynamics-lengths"), "When the second unit specialises", text),),
    )
    return section, {"slope": slope, "ends": ends, **medians}


def stability(seed: int) -> tuple[Section, dict[str, Any]]:
    """Where the aligned state is stable: the correction of the paper's criterion."""
    b1, ratios = 2.0, np.linspace(0.1, 0.95, 60)
    critical = [PrincipalDynamics([b1, b1 * r]).critical_rates[1] for r in ratios]
    edge = []
    for ratio, most in zip(ratios, critical, strict=True):
        low, high = 0.0, float(most)
        for _ in range(30):
            middle = (low + high) / 2
            stable = PrincipalDynamics([b1, b1 * ratio], eta=middle).is_stable()
            low, high = (middle, high) if stable else (low, middle)
        edge.append(low)
    lines = {
        "every rate below critical (as printed)": (b1 * ratios, critical),
        "stable (exact)": (b1 * ratios, edge),
    }
    kinds: dict[str, list[tuple[float, float]]] = {"aligned": [], "collapsed": []}
    wrong = 0
    for b2, eta in (
        (1.0, 0.8),
        (1.0, 1.3),
        (1.0, 2.2),
        (1.0, 4.0),
        (0.5, 0.3),
        (0.5, 1.2),
        (1.5, 6.0),
    ):
        model = PrincipalDynamics([b1, b2], eta=eta)
        start = [[0.3, 0.1], [0.1, 0.3]]
        runs = model.simulate(start, np.eye(2), [60.0], n_features=2000, runs=3, random_state=seed)
        kind = "collapsed" if np.abs(runs.Q[:, 0, 0, 1]).mean() > 0.5 else "aligned"
        kinds[kind].append((b2, eta))
        wrong += (kind == "aligned") != model.is_stable()
    points = {k: (*np.array(v).T, np.zeros(len(v))) for k, v in kinds.items() if v}
    ax = plotting.courses(lines, points, labels=("b_2", "eta"))
    text = (
        "b_1 = 2, equal rates. Between the lines the second unit collapses onto the first, though "
        "every rate is below critical. Points: the chain at N = 2000."
    )
    section = Section(
        "What the paper's criterion leaves out",
        "",
        (Drawing(plotting.svg(ax, "dynamics-stability"), "Stability of the aligned state", text),),
    )
    return section, {"points on the wrong side": int(wrong)}
