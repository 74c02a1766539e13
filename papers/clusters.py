"""Winner, soft and ranked prototypes on the two-cluster model of [DYN]."""

from typing import Any

import numpy as np

from eigenstream import CompetitiveLearning, plotting
from eigenstream.demo import Clock
from eigenstream.reports.base import Drawing, PageTable, Report, Section
from eigenstream.schedules import Exponential
from eigenstream.theory import CompetitiveDynamics, OrderParameters
from papers._plots import paths
from papers.base import Effort, Outcome, Paper, drawing, mean_and_error, mean_with_spread

#: The centres lie b from the origin; eta is the learning rate of the paper; t ends here.
SEPARATION, ETA, END = 1.5, 0.5, 40

#: R and Q at the start: small, with a small difference that breaks the symmetry.
START_R = np.array([[0.2, 0.1], [0.1, 0.2]])

ASSIGNMENTS = ("winner", "soft", "rank")


def run(effort: Effort, seeds: int, clock: Clock) -> Outcome:
    """Run every assignment on the same rows; a seed draws rows and directions."""
    n = {"tiny": 100, "quick": 100, "default": 500, "full": 2000}[effort]
    clock.begin("runs", len(ASSIGNMENTS) * seeds)
    measured: dict[str, Any] = {}
    for assignment in ASSIGNMENTS:
        runs = [_run(assignment, n, seed) for seed in range(seeds)]
        measured[assignment] = tuple(map(np.array, zip(*runs, strict=True)))
        clock.advance(seeds)
    start = START_R, START_R @ START_R.T + 0.09 * np.eye(2), np.linspace(0.0, END, 4 * END + 1)
    theory = {"winner": _model().solve(*start), "soft": _model(softness=1.0).solve(*start)}
    numbers = {name: _numbers(name, measured[name], theory) for name in ASSIGNMENTS}
    table = _table(numbers, seeds)
    report = Report(
        title="Three ways to compete for two clusters",
        lead=(
            f"Rows of {n} features come from two Gaussians of variance 1. Their centres lie "
            f"{SEPARATION} from the origin, in two directions. Two prototypes start between them. "
            "Every row moves the nearest (winner), both by their shares in a mixture (soft), or "
            "both by rank, less and less (rank)."
        ),
        facts=(("features", str(n)), ("rows", f"{END * n:,} a run"), ("runs", str(seeds))),
        sections=(
            Section("What they find", "", (table,)),
            Section(
                "Overlaps in the course of learning",
                "",
                (*_courses(measured, theory), _plane(measured, n)),
            ),
            Section("Inertia over the stream", "", (_inertia(measured, theory),)),
        ),
    )
    return Outcome(table, report, {"seeds": seeds, "features": n} | numbers)


def _run(assignment: str, n: int, seed: int) -> tuple[Any, Any, float, float]:
    """Return R and Q at integer times, the number of separated rows, and Lloyd's inertia."""
    rng = np.random.default_rng(seed)
    directions = np.linalg.qr(rng.standard_normal((n, 4)))[0].T
    labels = rng.integers(2, size=END * n)
    rows = rng.standard_normal((END * n, n)) + SEPARATION * directions[labels]
    # The rest of the start vectors is orthogonal to the clusters, and to each other.
    start = np.hstack([START_R, 0.3 * np.eye(2)]) @ directions
    width: Any = {"winner": "auto", "soft": 1.0, "rank": Exponential(2.0, 5.0 * n)}[assignment]
    model = CompetitiveLearning(
        2, assignment=assignment, width=width, learning_rate=ETA / n, init=start, record_every=n
    ).fit(rows)
    _, R, Q = OrderParameters.of_history(model.history_, directions[:2])
    agreement = float((model.predict(rows) == labels).mean())
    means = CompetitiveLearning(2, method="batch", init=start).fit(rows).prototypes_
    lloyd = _model().error(means @ directions[:2].T, means @ means.T)
    return R, Q, max(agreement, 1.0 - agreement), float(lloyd)


def _model(softness: float | None = None) -> CompetitiveDynamics:
    return CompetitiveDynamics(SEPARATION * np.eye(2), learning_rate=ETA, softness=softness)


def _overlaps(R: Any) -> tuple[Any, Any]:
    """Return the mean overlaps with the prototype's own direction, and with the other."""
    return (R[..., 0, 0] + R[..., 1, 1]) / 2, (R[..., 0, 1] + R[..., 1, 0]) / 2


def _numbers(name: str, measured: Any, theory: Any) -> dict[str, Any]:
    """Return the final overlaps and the quantisation error, measured and in theory."""
    R, Q, separated, lloyd = measured
    model = _model()
    own, other = _overlaps(R)
    numbers: dict[str, Any] = {
        "R": own[:, -1].tolist(),
        "S": other[:, -1].tolist(),
        "error": [float(model.error(r, q)) for r, q in zip(R[:, -1], Q[:, -1], strict=True)],
        "separated": separated.tolist(),
        "Lloyd's error": lloyd.tolist(),
    }
    if name in theory:
        course = theory[name]
        numbers["theory"] = [float(course.R[-1, 0, 0]), float(course.R[-1, 0, 1])]
        numbers["theory error"] = float(model.error(course.R[-1], course.Q[-1]))
    return numbers


def _table(numbers: dict[str, Any], seeds: int) -> PageTable:
    rows = []
    for name, figures in numbers.items():
        theory = [f"{value:.3f}" for value in figures.get("theory", ())] or ["", ""]
        cells = [mean_with_spread(figures["R"]), theory[0], mean_with_spread(figures["S"])]
        cells += [theory[1], f"{np.mean(figures['error']):.3f}"]
        rows.append((name, *cells, f"{100 * np.mean(figures['separated']):.1f} %"))
    return PageTable(
        ("", "R", "in theory", "S", "in theory", "quantisation error", "rows separated"),
        rows,
        caption=(
            f"At t = {END}, mean ± standard deviation of {seeds} runs. R is a prototype's "
            "overlap with its own cluster's direction, S with the other's; the centres have "
            f"{SEPARATION} and 0. "
            "Winners overshoot: rows of a cluster that lie nearer to the other prototype are lost "
            "to that, and the mean of the others lies further out. Soft prototypes are where the "
            "likelihood is largest, at the centres, but for what a constant rate takes away. "
            "Ranked ones end as winners, since their reach falls. The quantisation error is that "
            "of the nearest prototype, less that of none ([DYN] eq. 2.14)."
        ),
    )


def _courses(measured: Any, theory: Any) -> list[Drawing]:
    drawings = []
    for name in ASSIGNMENTS:
        overlaps = zip("RS", _overlaps(measured[name][0]), strict=True)
        points = {what: _points(values) for what, values in overlaps}
        lines = {}
        if name in theory:
            course = theory[name]
            lines = {"R": (course.t, course.R[:, 0, 0]), "S": (course.t, course.R[:, 0, 1])}
        text = "Lines: the equations for N to infinity. " if lines else ""
        text += "Points: the estimator, with standard errors over the runs."
        drawings.append(drawing(plotting.courses(lines, points), name, text))
    return drawings


def _points(values: Any) -> tuple[Any, Any, Any]:
    """Return every second time, and the mean over the runs with its standard error."""
    return np.arange(0.0, END + 1.0, 2.0), *mean_and_error(values[:, ::2])


def _inertia(measured: Any, theory: Any) -> Drawing:
    """Return the inertia of new rows during learning, and that of Lloyd's means."""
    model = _model()

    def course(Rs: Any, Qs: Any) -> Any:
        return np.array([2.0 * model.error(R, Q) for R, Q in zip(Rs, Qs, strict=True)])

    lines, points = {}, {}
    for name in ASSIGNMENTS:
        runs = zip(*measured[name][:2], strict=True)
        points[name] = _points(np.array([course(R, Q) for R, Q in runs]))
        if name in theory:
            lines[name] = theory[name].t, course(theory[name].R, theory[name].Q)
    lloyd = 2.0 * float(np.mean(measured["winner"][3]))
    lines["Lloyd's means"] = (0, END), (lloyd, lloyd)
    ax = plotting.courses(lines, points, labels=("t", "inertia of a row"))
    return drawing(
        ax,
        "Inertia",
        "The mean squared distance of fresh rows to the nearest prototype, less that to none, as R "
        "and Q say it ([DYN] eq. 2.14). Lines: the equations for N to infinity. Points: the "
        "estimator, one pass over the stream, with standard errors. Lloyd's means are those of all "
        "rows of the stream, gone through until nothing moved: a constant rate stays above them.",
    )


def _plane(measured: Any, n: int) -> Drawing:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((600, 2)) + SEPARATION * np.eye(2)[rng.integers(2, size=600)]
    moved = {name: measured[name][0][0] for name in ASSIGNMENTS}
    ax = paths(moved, rows, marks=SEPARATION * np.eye(2), labels=("along B1", "along B2"))
    return drawing(
        ax,
        "In the plane of the two centres",
        "The first run, from the rings to the dots. Crosses are the centres, and gray dots rows, "
        f"all seen in the two directions that matter, of {n}: what is a matter of course in this "
        f"picture is hidden in {n - 2} directions of noise.",
    )


PAPER = Paper("clusters", "Winner, soft and ranked prototypes on two clusters ([DYN])", run)
