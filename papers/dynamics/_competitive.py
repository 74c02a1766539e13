"""Figures 1 and 2 of [DYN]: two prototypes part, or do not."""

from typing import Any

import numpy as np

from eigenstream import plotting
from eigenstream.reports.base import Drawing, Section
from eigenstream.theory import (
    CompetitiveDynamics,
    SymmetricPair,
    critical_separation,
    overlaps_of_pair,
)

#: The numbers of entries and of runs of the simulated points.
N, RUNS = 2000, 10


def _parted(R: Any) -> Any:
    """|R-| of each run, at each time."""
    return np.abs(R[..., 0, 0] - R[..., 0, 1] - R[..., 1, 0] + R[..., 1, 1]) / 2


def _with_error(values: Any) -> tuple[Any, Any]:
    return values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))


def learning_curves(seed: int, *, n_features: int = N) -> tuple[Section, dict[str, Any]]:
    """Figure 1a: R and S against alpha, theory and chain."""
    model = CompetitiveDynamics(np.eye(2), eta=0.5)
    # Seeded well above the noise, so that runs agree on who goes where and when.
    R, Q = overlaps_of_pair(0.1, 0.2, 0.2, 0.2)
    fine, coarse = np.linspace(0, 60, 121), np.linspace(0, 60, 16)
    course = model.solve(R, Q, fine)
    runs = model.simulate(R, Q, coarse, n_features=10 * n_features, runs=RUNS, random_state=seed)
    (mean, _), (error, _) = runs.mean, runs.standard_error
    lines = {"R": (fine, course.R[:, 0, 0]), "S": (fine, course.R[:, 0, 1])}
    points = {
        "R": (coarse, mean[:, 0, 0], error[:, 0, 0]),
        "S": (coarse, mean[:, 0, 1], error[:, 0, 1]),
    }
    text = (
        f"b = 1, eta = 0.5 and the start (R- = 0.2) are chosen by us: those of the paper cannot be "
        f"read. Points: the exact chain at N = {10 * n_features}, {RUNS} runs, with standard "
        "errors."
    )
    worst = float(np.nanmax(np.abs(mean - model.solve(R, Q, coarse).R)))
    drawing = Drawing(
        plotting.svg(plotting.courses(lines, points), "dynamics-curves"), "R and S", text
    )
    section = Section("Figure 1a: learning curves", "", (drawing,))
    return section, {"worst difference": worst}


def phase_line(seed: int) -> tuple[Section, dict[str, Any]]:
    """Figure 1b: where prototypes specialise."""
    etas = np.linspace(0.02, 10, 200)
    line = (etas, [critical_separation(eta) for eta in etas])
    found: dict[str, list[tuple[float, float]]] = {"specialised": [], "together": []}
    wrong = []
    for b in (0.6, 1.0, 1.4, 1.8, 2.2):
        pair = SymmetricPair(b)
        for share in (0.3, 0.6, 1.5, 2.5):
            eta = share * pair.critical_rate
            if eta > 10:
                continue
            R, Q = overlaps_of_pair(b, 0.5 * b, b * b + eta / 2, 1.0 + eta / 2)
            end = max(20.0, 8 / abs(pair.growth_rate(eta)))
            model = CompetitiveDynamics(b * np.eye(2), eta=eta)
            last = _parted(
                model.simulate(R, Q, [end], n_features=500, runs=4, random_state=seed).R
            ).mean()
            kind = "specialised" if last > 0.4 * b else "together"
            found[kind].append((eta, b))
            if (kind == "specialised") != (share < 1):
                wrong.append((eta, b))
    lines = {"critical": line}
    points = {kind: (*np.array(places).T, np.zeros(len(places))) for kind, places in found.items()}
    ax = plotting.courses(lines, points, labels=("eta", "b"))
    text = (
        "The line is b_c(eta) = sqrt(sqrt(1 + pi eta / 2) - 1). Points: the chain at N = 500, 4 "
        "runs each, called specialised where |R-| stays above 0.4 b."
    )
    section = Section(
        "Figure 1b: the line of specialisation",
        "",
        (Drawing(plotting.svg(ax, "dynamics-phase"), "Specialised above the line", text),),
    )
    return section, {"points on the wrong side": len(wrong)}


def rest_states(seed: int, *, n_features: int = N) -> tuple[Section, dict[str, Any]]:
    """Figure 2: R, S and Q at rest, against the learning rate."""
    pair = SymmetricPair(1.0)
    etas = np.linspace(0.01, 0.999, 120) * pair.critical_rate
    states = [pair.specialised(eta) for eta in etas]
    lines = {
        "R": (etas, [R[0, 0] for R, _ in states]),
        "S": (etas, [R[0, 1] for R, _ in states]),
        "Q": (etas, [Q[0, 0] for _, Q in states]),
    }
    tried = (0.2, 0.6, 1.0, 1.4, 1.7)
    kept: dict[str, list[tuple[float, float]]] = {name: [] for name in lines}
    for eta in tried:
        model = CompetitiveDynamics(np.eye(2), eta=eta)
        runs = model.simulate(
            *pair.specialised(eta), [30.0], n_features=n_features, runs=RUNS, random_state=seed
        )
        # Prototypes may have changed names: the larger overlap is R.
        overlaps = np.sort(runs.R[:, 0].reshape(RUNS, 4), axis=1)
        for name, values in (
            ("R", overlaps[:, 2:].mean(axis=1)),
            ("S", overlaps[:, :2].mean(axis=1)),
            ("Q", runs.Q[:, 0, [0, 1], [0, 1]].mean(axis=1)),
        ):
            kept[name].append(tuple(float(one) for one in _with_error(values)))  # type: ignore[arg-type]
    points = {name: (tried, *np.array(values).T) for name, values in kept.items()}
    text = (
        "b = 1, inferred from the axes: eta from 0 to 2 and S from -0.2 on. S(0) = -0.1996: the "
        f"prototypes overshoot the centres. Points: the chain at N = {n_features}, {RUNS} runs."
    )
    ax = plotting.courses(lines, points, labels=("eta", ""))
    section = Section(
        "Figure 2: the specialised state",
        "",
        (
            Drawing(plotting.svg(ax, "dynamics-rest"), "At rest", text),
            _projections(lines, kept),
        ),
    )
    return section, {"eta": list(tried)} | kept


def _projections(lines: Any, kept: Any) -> Drawing:
    """Where the prototypes lie in the plane of the clusters' directions, for each rate."""
    R, S = (np.asarray(lines[name][1]) for name in ("R", "S"))
    (simulated_R, _), (simulated_S, error) = (np.array(kept[name]).T for name in ("R", "S"))
    paths = {"first prototype": (R, S), "second prototype": (S, R)}
    points = {
        "first prototype": (simulated_R, simulated_S, error),
        "second prototype": (simulated_S, simulated_R, error),
        "clusters": ([1.0, 0.0], [0.0, 1.0], [0.0, 0.0]),
    }
    ax = plotting.courses(paths, points, labels=("along B_1", "along B_2"))
    ax.set_aspect("equal")
    text = (
        "The same states as projections on the plane of the clusters' centres: beyond the centres "
        "for small rates, and together in the middle at the critical one."
    )
    return Drawing(plotting.svg(ax, "dynamics-projections"), "Prototypes in the plane", text)
