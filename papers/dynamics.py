"""The figures of [DYN]: theory as lines, the chain at finite N as points with standard errors."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import brentq

from eigenstream import plotting
from eigenstream.demo import Clock
from eigenstream.reports.base import PageTable, Report, Section
from eigenstream.schedules import Power
from eigenstream.theory import (
    Annealing,
    CompetitiveDynamics,
    PrincipalDynamics,
    SymmetricPair,
    critical_separation,
    overlaps_of_pair,
)
from papers.base import Effort, Outcome, Paper, drawing, mean_and_error
from papers.explorer import explorer

#: Printed: the learning rate, the start, and how rates differ in figure 4b.
ETA, START = 0.1, 0.06
RATES = {"equal": (1, 1, 1), "1% apart": (1, 1.009, 0.99), "10% apart": (1, 1.09, 0.9)}
#: The paper does not print b of figures 3 and 4. These values fit the axes.
STRENGTHS = (0.6, 0.4, 0.2)
ONLY_B = "Only b = (0.6, 0.4, 0.2) is inferred from the axes; eta and the start are printed."
#: The printed X(0) of figure 4a.
DEVIATIONS = 10.0 ** -np.arange(3, 11)
RUNS = 10


def learning_curves(seed: int, n: int) -> tuple[Section, dict[str, Any]]:
    """Figure 1a: R and S against time."""
    model = CompetitiveDynamics(np.eye(2), learning_rate=1.1)
    start = overlaps_of_pair(0.1, 1e-3, 0.2, 0.2)
    fine, coarse = np.linspace(0, 200, 401), np.linspace(0, 200, 21)
    course = model.solve(*start, fine)
    runs = model.simulate(*start, coarse, n_features=n, runs=RUNS, random_state=seed)
    # Chance decides which prototype goes where: the larger overlap is R.
    ordered = np.sort(runs.R[:, :, 0], axis=2)
    lines = {"R": (fine, course.R[:, 0, 0]), "S": (fine, course.R[:, 0, 1])}
    points = {
        name: (coarse, *mean_and_error(ordered[:, :, which]))
        for name, which in (("R", 1), ("S", 0))
    }
    [plateau] = course.plateaus()
    text = (
        "b = 1, eta = 1.1 and R-(0) = 0.001 are chosen; the figure's own are not printed. They fit "
        "its axes, R up to 1 and t up to 200. So do b = 0.8 with eta = 0.5, and others. The "
        f"plateau ends at {plateau.start + plateau.length:.0f} for N infinite. Points: the chain "
        f"at N = {n}, {RUNS} runs. Its noise, about 1 / sqrt(N), ends the plateau earlier."
    )
    block = drawing(plotting.courses(lines, points), "Figure 1a: R and S", text)
    numbers = {"plateau": [plateau.start, plateau.length], "R at the end": course.R[-1, 0, 0]}
    return Section("Figure 1a: learning curves", "", (block,)), numbers


def phase_line(seed: int, n: int) -> tuple[Section, dict[str, Any]]:
    """Figure 1b: the region in which prototypes specialise."""
    etas = np.linspace(0.02, 10, 200)
    points_by_kind: dict[str, list[tuple[float, float]]] = {"specialised": [], "together": []}
    wrong = 0
    for b in (0.6, 1.0, 1.4, 1.8, 2.2):
        pair = SymmetricPair(b)
        for eta in np.array([0.3, 0.6, 1.5, 2.5]) * pair.critical_rate:
            if eta > 10:
                continue
            start = overlaps_of_pair(b, 0.5 * b, b * b + eta / 2, 1.0 + eta / 2)
            end = max(20.0, 8 / abs(pair.growth_rate(eta)))
            model = CompetitiveDynamics(b * np.eye(2), learning_rate=eta)
            R = model.simulate(*start, [end], n_features=500, runs=4, random_state=seed).R[:, 0]
            apart = np.abs(R[:, 0, 0] - R[:, 0, 1] - R[:, 1, 0] + R[:, 1, 1]).mean() / 2
            kind = "specialised" if apart > 0.4 * b else "together"
            points_by_kind[kind].append((eta, b))
            wrong += (kind == "specialised") != (eta < pair.critical_rate)
    lines = {"critical": (etas, [critical_separation(eta) for eta in etas])}
    points = {kind: (*np.array(at).T, np.zeros(len(at))) for kind, at in points_by_kind.items()}
    text = (
        "The line is b_c(eta) = sqrt(sqrt(1 + pi eta / 2) - 1). Points: the chain at N = 500, 4 "
        "runs each, called specialised where |R-| stays above 0.4 b."
    )
    ax = plotting.courses(lines, points, labels=("learning rate", "b"))
    block = drawing(ax, "Specialised above the line", text)
    section = Section("Figure 1b: the line of specialisation", "", (block,))
    return section, {"points on the wrong side": int(wrong)}


def fitting_strengths() -> dict[str, float]:
    """Return the b at which figure 2 meets each of its axes, at small rates."""

    def root(gap: Callable[[SymmetricPair], float]) -> float:
        return float(brentq(lambda b: gap(SymmetricPair(b)), 0.05, 2.0))

    return {
        "R = 1": root(lambda pair: pair.specialised(1e-9)[0][0, 0] - 1.0),
        "Q = 1": root(lambda pair: pair.specialised(1e-9)[1][0, 0] - 1.0),
        "S = -0.2": root(lambda pair: pair.specialised(1e-9)[0][0, 1] + 0.2),
        "critical rate 2": root(lambda pair: pair.critical_rate - 2.0),
    }


def rest_states(seed: int, n: int) -> tuple[Section, dict[str, Any]]:
    """Figure 2: R, S and Q of the stationary state, against the learning rate."""
    pair = SymmetricPair(1.0)
    etas = np.linspace(0.01, 0.999, 120) * pair.critical_rate
    states = [pair.specialised(eta) for eta in etas]
    R, S = np.array([R[0] for R, _ in states]).T
    lines = {"R": (etas, R), "S": (etas, S), "Q": (etas, [Q[0, 0] for _, Q in states])}
    tried = (0.2, 0.6, 1.0, 1.4, 1.7)
    overlaps_by_name: dict[str, list[Any]] = {name: [] for name in lines}
    for eta in tried:
        model = CompetitiveDynamics(np.eye(2), learning_rate=eta)
        start = pair.specialised(eta)
        runs = model.simulate(*start, [30.0], n_features=n, runs=RUNS, random_state=seed)
        overlaps = np.sort(runs.R[:, 0].reshape(RUNS, 4), axis=1)
        overlaps_by_name["R"].append(mean_and_error(overlaps[:, 2:].mean(axis=1)))
        overlaps_by_name["S"].append(mean_and_error(overlaps[:, :2].mean(axis=1)))
        overlaps_by_name["Q"].append(mean_and_error(runs.Q[:, 0, [0, 1], [0, 1]].mean(axis=1)))
    points = {name: (tried, *np.array(values).T) for name, values in overlaps_by_name.items()}
    fits = fitting_strengths()
    text = (
        "b = 1 is chosen: the figure's own is not printed. S(0) = -0.1996: the prototypes "
        "overshoot the centres. No b fits all axes of the figure. S from -0.2 on needs b = "
        f"{fits['S = -0.2']:.2f} and rates up to 2 need {fits['critical rate 2']:.2f}, but R up to "
        f"1 needs b < {fits['R = 1']:.2f} and Q up to 1 needs b < {fits['Q = 1']:.2f}. Points: the "
        f"chain at N = {n}, {RUNS} runs."
    )
    (_, simulated_R, _), (_, simulated_S, error) = points["R"], points["S"]
    plane = plotting.courses(
        {"first prototype": (R, S), "second prototype": (S, R)},
        {
            "first prototype": (simulated_R, simulated_S, error),
            "second prototype": (simulated_S, simulated_R, error),
            "clusters": ([1.0, 0.0], [0.0, 1.0], [0.0, 0.0]),
        },
        labels=("along B_1", "along B_2"),
    )
    plane.set_aspect("equal")
    blocks = (
        drawing(plotting.courses(lines, points, labels=("learning rate", "")), "At rest", text),
        drawing(
            plane,
            "Prototypes in the plane",
            "The same states in the plane of the centres. Small rates overshoot the centres; at "
            "the critical rate both prototypes meet in the middle.",
        ),
    )
    numbers = {"learning rate": list(tried), "b of the axes": fits} | {
        k: [list(map(float, v)) for v in vs] for k, vs in overlaps_by_name.items()
    }
    return Section("Figure 2: the specialised state", "", blocks), numbers


def more_prototypes(seed: int, n: int) -> tuple[Section, dict[str, Any]]:
    """Section 2's outlook: three prototypes on two clusters, and annealing."""
    times, coarse = np.linspace(0, 200, 201), np.linspace(0, 200, 11)
    three = CompetitiveDynamics(np.eye(2), learning_rate=0.3, n_prototypes=3)
    R, Q = [[0.3, 0.0], [0.0, 0.3], [0.01, 0.0]], 0.2 * np.eye(3)
    course = three.solve(R, Q, times)
    runs = three.simulate(R, Q, coarse, n_features=n, runs=RUNS, random_state=seed)
    lines = {f"prototype {k + 1}, B_1": (times, course.R[:, k, 0]) for k in range(3)}
    points = {
        f"prototype {k + 1}, B_1": (coarse, *mean_and_error(runs.R[:, :, k, 0])) for k in range(3)
    }
    split = drawing(
        plotting.courses(lines, points),
        "Three prototypes, two clusters",
        "b = 1, eta = 0.3. Two prototypes take the clusters; the third settles where it wins "
        f"examples of both, and keeps some of them. Points: the chain at N = {n}, {RUNS} runs.",
    )
    errors, last = {}, {}
    start = overlaps_of_pair(0.5, 0.3, 0.3, 0.3)
    for name, eta, annealing in (
        ("1", 1.0, None),
        ("0.1", 0.1, None),
        ("1 / (1 + t / 10)", 1.0, Annealing(Power(10.0, 10.0 * n), n)),
    ):
        model = CompetitiveDynamics(np.eye(2), learning_rate=eta, annealing=annealing)
        error = model.solve(*start, times).error
        errors[name], last[name] = (times, error), float(error[-1])
    annealed = drawing(
        plotting.courses(errors, labels=("t", "error")),
        "Annealing the learning rate",
        "b = 1. A large rate learns fast and keeps a large error; a small one is slow. A rate that "
        "falls as 1 / t is fast and ends below both.",
    )
    text = "The paper names both as extensions and draws neither."
    section = Section("More prototypes, and annealing", text, (split, annealed))
    return section, {"third prototype": course.R[-1, 2].tolist(), "last errors": last}


def neighborhoods(seed: int, n: int) -> tuple[Section, dict[str, Any]]:
    """Section 4's outlook: a chain of three units and neural gas on three clusters."""
    places, centres = np.arange(3), np.eye(3)
    squares = (places[:, None] - places) ** 2
    kinds: dict[str, Callable[[float], Any]] = {
        "chain": lambda h: h ** squares.astype(float),
        "gas": lambda h: h ** places.astype(float),
    }
    fine, coarse = np.linspace(0, 60, 121), np.linspace(0, 60, 11)
    R, Q = 0.3 * centres, 0.2 * np.eye(3)
    lines, points, deviations = {}, {}, []
    for name, shares in {
        "winner": None,
        "chain": kinds["chain"](0.4),
        "gas": kinds["gas"](0.4),
    }.items():
        model = CompetitiveDynamics(centres, learning_rate=0.3, neighborhood=shares)
        runs = model.simulate(R, Q, coarse, n_features=n, runs=RUNS, random_state=seed)
        lines[name] = (fine, model.solve(R, Q, fine).R[:, 0, 0])
        points[name] = (coarse, *mean_and_error(runs.R[:, :, 0, 0]))
        mean, error = points[name][1:]
        deviations.append(np.abs(mean - lines[name][1][::12])[1:] / error[1:])
    ends: dict[str, list[float]] = {}
    times, levels = np.linspace(0, 400, 201), (0.0, 0.2, 0.6)
    for kind, shares_of in kinds.items():
        for same_total in (False, True):
            name = f"{kind}, same total" if same_total else kind
            for h in levels:
                shares = shares_of(h)
                rate = 0.3 / (shares.sum() / len(np.atleast_2d(shares)) if same_total else 1.0)
                model = CompetitiveDynamics(centres, learning_rate=rate, neighborhood=shares)
                course = model.solve(1e-3 * centres, 0.1 * np.eye(3), times)
                apart = course.R[:, 0, 0] - course.R[:, 0, 2]
                ends.setdefault(name, []).append(course.when(apart, apart[-1] / 2))
    blocks = (
        drawing(
            plotting.courses(lines, points, labels=("t", "R_11")),
            "A neighbourhood of fixed width",
            "b = 1, eta = 0.3, share 0.4 of the neighbour in the chain and of the second in the "
            f"gas. Points: the chain at N = {n}, {RUNS} runs.",
        ),
        drawing(
            plotting.courses(
                {name: (levels, values) for name, values in ends.items()},
                labels=("share of the neighbour", "t"),
            ),
            "The end of the plateau",
            "From R = 0.001, until the first and the third unit have half of their final "
            "difference. Same total: the rate is divided by the sum of the shares.",
        ),
    )
    text = "Units of a chain, or of the second rank and later, learn with a share of the winner's."
    numbers = {"ends": ends, "rms z": float(np.sqrt(np.mean(np.square(deviations))))}
    return Section("Maps and neural gas", text, blocks), numbers


def cascade(seed: int, n: int) -> tuple[Section, dict[str, Any]]:
    """Figures 3a and 4b: the error falls in steps, sooner if rates differ."""
    times, R = np.linspace(0, 800, 801), np.full((3, 3), START) + np.diag([0, 1e-10, 1e-10])
    lines, overlaps, steps = {}, {}, {}
    for name, factors in RATES.items():
        course = PrincipalDynamics(STRENGTHS, learning_rate=ETA * np.array(factors)).solve(
            R, np.eye(3), times
        )
        own = np.abs(course.R[:, range(3), range(3)]).T
        lines[name] = (times, course.error)
        steps[name] = [course.when(values, values[-1] / 2) for values in own]
        if name == "equal":
            overlaps = {f"|R{k + 1}{k + 1}|": (times, values) for k, values in enumerate(own)}
    # The model warns of exactly this.
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        exact = PrincipalDynamics(STRENGTHS[:2], learning_rate=ETA).solve(
            np.full((2, 2), START), np.eye(2), (200.0, 300.0, 500.0)
        )
    rounding = np.abs(np.linalg.det(exact.R)).tolist()
    text = (
        f"N infinite, deviations of 1e-10. {ONLY_B} Without deviations X stays zero in theory, but "
        "this state is unstable: with two units, rounding grows to |X| = "
        f"{', '.join(f'{value:.0e}' for value in rounding)} at t = 200, 300 and 500."
    )
    blocks = (
        drawing(plotting.courses(lines, labels=("t", "error")), "The estimation error", text),
        drawing(plotting.courses(overlaps), "Inset of figure 3a", "Own overlaps, equal rates."),
    )
    numbers = {"half-rise times": steps, "X of rounding": rounding}
    return Section("Figures 3a, 4b: a cascade of plateaus", "", blocks), numbers


def pair_start(X: float) -> tuple[Any, Any]:
    """Return the start of figures 3b and 4a: overlaps of 1e-2, Q12 of 1e-4, and X(0)."""
    return np.array([[0.03, 0.02], [0.03, 0.02 + X / 0.03]]), np.array([[1.0, 1e-4], [1e-4, 1.0]])


def two_units(seed: int, n: int) -> tuple[Section, dict[str, Any]]:
    """Figures 3b and 4a: overlaps fall and rise again; the plateau grows with -ln X(0)."""
    model, times = PrincipalDynamics(STRENGTHS[:2], learning_rate=ETA), np.linspace(0, 300, 601)
    courses = {X: model.solve(*pair_start(X), times) for X in DEVIATIONS}
    last = courses[DEVIATIONS[-1]]
    lines = {
        f"|R{i + 1}{j + 1}|": (times, np.abs(last.R[:, i, j])) for i in (0, 1) for j in (0, 1)
    } | {"|Q12|": (times, np.abs(last.Q[:, 0, 1]))}
    half = float(model.fixed_point()[0][1, 1]) / 2
    ends = [course.when(np.abs(course.R[:, 1, 1]), half) for course in courses.values()]
    errors = {f"{-np.log10(X):.0f}": (times, course.error) for X, course in courses.items()}
    starts, points, means = DEVIATIONS[::3], {}, {}
    for size, runs in ((n // 4, 24), (5 * n // 2, RUNS)):
        grid, first_times = np.arange(0.0, 130.0), []
        for X in starts:
            chain = model.simulate(
                *pair_start(X), grid, n_features=size, runs=runs, random_state=seed
            )
            above = np.abs(chain.R[:, :, 1, 1]) > half
            first_times.append(mean_and_error(grid[np.where(above.any(1), above.argmax(1), -1)]))
        points[f"N = {size}"] = (starts, *np.array(first_times).T)
        means[f"N = {size}"] = [float(mean) for mean, _ in first_times]
    slope = float(np.polyfit(np.log(DEVIATIONS), ends, 1)[0])
    lengths = plotting.courses(
        {"N infinite": (DEVIATIONS, ends)}, points, labels=("X(0)", "t"), scales=("log", "linear")
    )
    blocks = (
        drawing(plotting.courses(lines), "Figure 3b: overlaps of two units", "X(0) = 1e-10."),
        drawing(
            plotting.courses(errors, labels=("t", "error")),
            "Figure 4a: the error for -log10 X(0) = 3 to 10",
            "From left to right, from the start of figure 3b.",
        ),
        drawing(
            lengths,
            "When the second unit specialises",
            f"The line has the slope 1 / gamma_2 = {1 / model.growth_rate(2):.2f} per e-fold (not "
            "1 / gamma, 4.13). At finite N noise ends the plateau: points are the chain's means.",
        ),
    )
    section = Section("Figures 3b, 4a: overlaps are lost, and found again", ONLY_B, blocks)
    return section, {"slope": slope, "ends": ends, **means}


def stability(seed: int, n: int) -> tuple[Section, dict[str, Any]]:
    """The region in which the aligned state is stable: a correction of the paper."""
    seconds = 2.0 * np.linspace(0.1, 0.95, 60)
    critical = [PrincipalDynamics([2.0, b]).critical_rates[1] for b in seconds]
    edge = []
    for b, most in zip(seconds, critical, strict=True):
        rates = np.linspace(0, most, 400)[1:]
        stable = [PrincipalDynamics([2.0, b], learning_rate=eta).is_stable() for eta in rates]
        edge.append(rates[np.flatnonzero(stable)[-1]])
    lines = {
        "every rate below critical (as printed)": (seconds, critical),
        "stable (exact)": (seconds, edge),
    }
    kinds: dict[str, list[tuple[float, float]]] = {"aligned": [], "collapsed": []}
    wrong = 0
    tried = ((1.0, 0.8), (1.0, 1.3), (1.0, 2.2), (1.0, 4.0), (0.5, 0.3), (0.5, 1.2), (1.5, 6.0))
    for b, eta in tried:
        model = PrincipalDynamics([2.0, b], learning_rate=eta)
        start = [[0.3, 0.1], [0.1, 0.3]], np.eye(2)
        runs = model.simulate(*start, [60.0], n_features=n, runs=3, random_state=seed)
        kind = "collapsed" if np.abs(runs.Q[:, 0, 0, 1]).mean() > 0.5 else "aligned"
        kinds[kind].append((b, eta))
        wrong += (kind == "aligned") != model.is_stable()
    points = {kind: (*np.array(at).T, np.zeros(len(at))) for kind, at in kinds.items() if at}
    text = (
        "b_1 = 2, equal rates. Between the lines the second unit collapses onto the first, though "
        f"every rate is below critical. Points: the chain at N = {n}."
    )
    ax = plotting.courses(lines, points, labels=("b_2", "learning rate"))
    block = drawing(ax, "Stability of the aligned state", text)
    return Section("What the paper's criterion leaves out", "", (block,)), {
        "points on the wrong side": int(wrong)
    }


FIGURES = {
    "1a": learning_curves,
    "1b": phase_line,
    "2": rest_states,
    "outlook": more_prototypes,
    "maps": neighborhoods,
    "3a, 4b": cascade,
    "3b, 4a": two_units,
    "stability": stability,
}


def run(effort: Effort, seeds: int, clock: Clock) -> Outcome:
    """Make each figure. A figure repeats its runs, so it uses one seed."""
    clock.begin("figures", len(FIGURES))
    sections, numbers = [], {}
    for name, figure in FIGURES.items():
        section, numbers[name] = figure(seeds, 2000 if effort in ("default", "full") else 400)
        sections.append(section)
        clock.advance(1)
    sides = {name: str(numbers[name]["points on the wrong side"]) for name in ("1b", "stability")}
    rows = [
        ("1b: simulated points on the wrong side", sides["1b"], "0"),
        ("4a: plateau per e-fold of X(0)", f"{-numbers['3b, 4a']['slope']:.2f}", "10.99"),
        ("stability: points on the wrong side", sides["stability"], "0"),
    ]
    table = PageTable(("", "measured", "theory"), rows)
    report = Report(
        title="The dynamics of on-line learning",
        lead=(
            "Overlaps of prototypes and units with the directions of the data: ordinary "
            "differential equations as lines, exact simulations at finite N as points."
        ),
        sections=(Section("Measured, and in theory", "", (table,)), explorer(), *sections),
    )
    return Outcome(table, report, {"seeds": seeds} | numbers)


PAPER = Paper(
    "dynamics", "Plateaus and critical rates of competitive learning and Sanger's rule ([DYN])", run
)
