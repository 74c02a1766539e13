"""A page of pictures: five neurons during learning, compared with theory."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from eigenstream import plotting
from eigenstream.demo import Clock
from eigenstream.neurons import (
    AdalineRegressor,
    MultilayerPerceptron,
    OjaNeuron,
    Perceptron,
    SangerNetwork,
)
from eigenstream.online import UnstableStepError
from eigenstream.reports.base import PageTable, Report, Section
from eigenstream.schedules import Constant, Power
from papers._blocks import frames
from papers._plots import decision_lines, error_surface, unit_circle
from papers.base import Effort, Outcome, Paper, degrees, drawing, mean_with_spread, span

#: Rows that the Hebbian units see, and passes of the network.
STEPS: Mapping[Effort, int] = {"tiny": 5000, "quick": 5000, "default": 20_000, "full": 100_000}
PASSES: Mapping[Effort, int] = {"tiny": 500, "quick": 500, "default": 1000, "full": 5000}


@dataclass(frozen=True)
class Lesson:
    """A section of the page, its rows (what, measured, theory) and all of its numbers."""

    section: Section
    rows: list[tuple[str, str, str]]
    numbers: dict[str, Any]


#: The number of points of the two classes, and their smallest distance from the line.
POINTS, GAP = 60, 0.25
#: Rates of Adaline in units of the limit.
RATES = {"slow": 0.02, "fast": 0.15, "beyond the limit": 1.1}


def separable(seed: int) -> tuple[Any, Any]:
    """Return points of two classes with a gap between them."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((POINTS, 2)) * 1.5
    angle = rng.uniform(0, 2 * np.pi)
    side = rows @ [np.cos(angle), np.sin(angle)] + 0.6
    rows = rows + GAP * np.sign(side)[:, None] * [np.cos(angle), np.sin(angle)]
    return rows, np.sign(side)


def best_margin(rows: Any, signs: Any) -> float:
    """Return the largest margin of a plane through the origin of (x, 1): that of |w| = 1 / margin.

    >>> round(best_margin(np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])), 6)
    1.0
    """
    signed = signs[:, None] * np.column_stack([rows, np.ones(len(rows))])
    mirrored, sides = np.concatenate([signed, -signed]), np.repeat([1, -1], len(signed))
    w = SVC(kernel="linear", C=1e6, tol=1e-8).fit(mirrored, sides).coef_[0]
    return float((signed @ w).min() / np.linalg.norm(w))


def perceptron(seeds: int) -> Lesson:
    """Compare the number of mistakes with its bound; draw the line after some of them."""
    mistakes, bounds = [], []
    for seed in range(seeds):
        rows, signs = separable(seed)
        unit = Perceptron(random_state=seed).fit(rows, signs)
        mistakes.append(int(unit.n_mistakes_[0]))
        bounds.append(float((unit.radius_ / best_margin(rows, signs)) ** 2))
    rows, signs = separable(0)
    unit = Perceptron(random_state=0, record_every=1).fit(rows, signs)
    lines: list[tuple[Any, float]] = [(np.zeros(2), 0.0)]
    for w, b in zip(unit.history_.weights, unit.history_.intercepts, strict=True):
        if not (np.array_equal(w[0], lines[-1][0]) and b[0] == lines[-1][1]):
            lines.append((w[0], float(b[0])))
    drawings = [
        (
            plotting.svg(decision_lines(rows, signs, [lines[k]], faint=lines[1:k]), f"line{k}"),
            f"{k}",
        )
        for k in moments(len(lines) - 1)
    ]
    return Lesson(
        Section(
            "The perceptron: it learns from mistakes",
            "A point on the wrong side of the line is added to the weights with its sign. If some "
            "line leaves a margin gamma, and no point (x, 1) is longer than R, there are at most "
            "(R / gamma)² mistakes, in any order.",
            (
                frames(
                    "perceptron",
                    drawings,
                    "The line after so many mistakes",
                    "Gray: the lines before. First seed. Arrow keys step through.",
                ),
            ),
        ),
        [("perceptron: mistakes", span(mistakes, ".0f"), f"at most {span(bounds, '.0f')}")],
        {"mistakes": mistakes, "bounds": bounds},
    )


def moments(last: int, most: int = 9) -> list[int]:
    """Return at most ``most`` steps up to the last one, with growing distances.

    >>> moments(20, 4)
    [1, 3, 7, 20]
    """
    spread = np.geomspace(1, max(last, 1), min(most, max(last, 1)))
    return sorted({round(float(k)) for k in spread})


def adaline(seeds: int) -> Lesson:
    """Compare the error that a constant rate leaves with theory's; draw paths at three rates."""
    R = np.array([[2.0, 0.9], [0.9, 0.6]])
    truth = np.array([1.0, -1.0])
    limit = 2.0 / float(np.linalg.eigvalsh(R)[-1])
    noise, n = 0.5, 20_000
    excess: dict[str, list[float]] = {name: [] for name in RATES}
    diverged: list[int] = []
    paths = {}
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        rows = rng.standard_normal((n, 2)) @ np.linalg.cholesky(R).T
        targets = rows @ truth + noise * rng.standard_normal(n)
        for name, share in RATES.items():
            neuron = AdalineRegressor(
                learning_rate=share * limit, rule="lms", fit_intercept=False, record_every=1
            )
            try:
                neuron.partial_fit(rows, targets)
            except UnstableStepError as stop:
                diverged.append(stop.step)
                steps = min(stop.step, 40)
                neuron.partial_fit(rows[:steps], targets[:steps])
            else:
                tail = neuron.history_.weights[n // 4 :, 0] - truth
                error = np.einsum("ij,jk,ik->i", tail, R, tail).mean()
                excess[name].append(float(error / noise**2))
            if seed == 0:
                path = neuron.history_.weights[:600, 0]
                paths[f"{name}: {share:g} × limit"] = np.vstack([np.zeros(2), path])
    theories = {name: misadjustment(R, RATES[name] * limit) for name in list(RATES)[:2]}
    table = [
        (f"Adaline, {RATES[name]:g} × limit: excess error / noise", measured, f"{theory:.3f}")
        for name, theory in theories.items()
        for measured in [mean_with_spread(excess[name])]
    ]
    exploded = span(diverged or [n], ".0f")
    table.append(("Adaline, 1.1 × limit: explodes at step", exploded, "diverges"))
    drawn = error_surface(R, truth, paths, reach=3.0)
    return Lesson(
        Section(
            "Adaline: down the error surface",
            f"The squared error is a bowl over the weights, steep along one direction and flat "
            f"along another. The rate may not exceed 2 / lambda = {limit:.3f} with the largest "
            "eigenvalue lambda of the inputs' scatter. Small steps follow the slope; long ones "
            "jump about the bottom, and pay for it with an error above the least.",
            (
                drawing(
                    drawn,
                    "Paths of three learning rates",
                    "600 steps from zero; the cross is least squares. What leaves the picture is "
                    "cut. First seed.",
                ),
            ),
        ),
        table,
        {"limit": limit, "excess": excess, "theory": theories, "diverged": diverged},
    )


def misadjustment(R: Any, rate: float) -> float:
    """Return LMS's stationary excess over the least error, for Gaussian rows.

    With s = sum of eta l / (2 (1 - eta l)) over the eigenvalues l of R it is s / (1 - s).

    >>> round(misadjustment(np.eye(1), 0.5), 6)
    1.0
    """
    scaled = rate * np.linalg.eigvalsh(R)
    s = float((scaled / (2.0 * (1.0 - scaled))).sum())
    return s / (1.0 - s) if (scaled < 1.0).all() and s < 1.0 else float("inf")


#: Standard deviations of the plane's two directions, and of Sanger's eight.
PLANE = (1.5, 0.6)
#: Each variance is half the previous one.
SPECTRUM = tuple(3.0 * 2.0 ** (-k / 2) for k in range(8))
FOUND = 4


def oja(seeds: int, steps: int) -> Lesson:
    """Compare Oja's neuron with the dense answer and the references; draw the ways there."""
    angles, variances, norms, growths = [], [], [], []
    paths = {}
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        turn = np.linalg.qr(rng.standard_normal((2, 2)))[0]
        rows = rng.standard_normal((steps, 2)) * PLANE @ turn.T
        R = rows.T @ rows / steps
        values, vectors = np.linalg.eigh(R)
        top = vectors[:, -1]
        start = np.array([[1.0, 0.3]]) * np.sign(top[0] + 0.3 * top[1])
        rate = Power(1.0, 50.0)
        options = {"center": False, "init": start, "record_every": 1}
        neuron = OjaNeuron(form="linear", learning_rate=rate, **options).partial_fit(rows)
        w = neuron.components_[0]
        angles.append(float(degrees(w, top)))
        variances.append(float((neuron.transform(rows) ** 2).mean() / values[-1]))
        norms.append(float(np.linalg.norm(w)))
        slow = OjaNeuron(form="hebb", learning_rate=Constant(0.002), **options)
        lengths = [np.linalg.norm(slow.partial_fit(part).components_) for part in halves(rows)]
        # Once it has turned, the length grows by 1 + eta lambda_1 a step.
        gained = np.log(lengths[1] / lengths[0])
        growths.append(float(gained / (0.002 * len(halves(rows)[1]) * values[-1])))
        hebb = OjaNeuron(form="hebb", learning_rate=Constant(0.01), **options).partial_fit(
            rows[:200]
        )
        if seed == 0:
            paths = {
                "Hebb": np.vstack([start, hebb.history_.weights[:, 0]]),
                "Oja": np.vstack([start, neuron.history_.weights[:, 0]]),
            }
            shown = top
    return Lesson(
        Section(
            "Hebb and Oja: towards the first principal component",
            "Hebb's rule multiplies the weight by I + eta x xᵀ at each step: it turns towards the "
            "direction of largest variance (dashed) and grows without bound. Oja's rule takes off "
            "what grows.",
            (
                drawing(
                    unit_circle(paths, shown),
                    "Two ways to the component",
                    "From the same start. Hebb's weight leaves the picture. First seed.",
                ),
            ),
        ),
        [
            ("Oja: degrees from the first component", mean_with_spread(angles), "0"),
            ("Oja: variance of the response / λ₁", mean_with_spread(variances), "1"),
            ("Oja: length of the weight", mean_with_spread(norms), "1"),
            ("Hebb: log growth / (η λ₁ steps)", mean_with_spread(growths), "1 for small η"),
        ],
        {"degrees": angles, "variance": variances, "norm": norms, "hebb_growth": growths},
    )


def sanger(seeds: int, steps: int) -> Lesson:
    """Compare the units of Sanger's network with the components, which they find in order."""
    final: list[list[float]] = []
    arrival: list[list[int]] = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        D = len(SPECTRUM)
        turn = np.linalg.qr(rng.standard_normal((D, D)))[0]
        rows = rng.standard_normal((steps, D)) * SPECTRUM @ turn.T
        R = rows.T @ rows / steps
        vectors = np.linalg.eigh(R)[1][:, ::-1]
        network = SangerNetwork(
            FOUND,
            learning_rate=Power(6.0, 2000.0),
            center=False,
            record_every=max(steps // 400, 1),
            random_state=seed,
        ).partial_fit(rows)
        moments = network.history_.step
        weights = network.history_.weights
        along = np.abs(np.einsum("tkj,jk->tk", weights, vectors[:, :FOUND]))
        cosines = along / np.maximum(np.linalg.norm(weights, axis=2), 1e-300)
        final.append(cosines[-1].tolist())
        arrival.append([int(moments[_stays_above(cosines[:, k])]) for k in range(FOUND)])
        if seed == 0:
            drawn = plotting.courses(
                {f"component {k + 1}": (moments, cosines[:, k]) for k in range(FOUND)},
                labels=("step", "|cosine| with the true component"),
                scales=("log", "linear"),
            )
    typical = np.median(arrival, axis=0)
    return Lesson(
        Section(
            "Sanger: one component after the other",
            "Unit k learns from what the units before it leave. It turns towards its component at "
            "a rate of eta (λ_k − λ_{k+1}), half of the last one's, and starts later.",
            (
                drawing(
                    drawn,
                    "The components arrive",
                    f"{FOUND} units on {len(SPECTRUM)} inputs. First seed.",
                ),
            ),
        ),
        [
            (
                f"Sanger: |cosine| of component {k + 1}",
                mean_with_spread([values[k] for values in final]),
                "1",
            )
            for k in range(FOUND)
        ]
        + [
            (
                "Sanger: steps until |cosine| stays above 0.95, medians",
                ", ".join(f"{step:.0f}" for step in typical),
                "each later than the last",
            )
        ],
        {"cosines": final, "arrival": arrival},
    )


def halves(rows: Any, most: int = 3000) -> list[Any]:
    """Return two halves of the first rows, few enough that plain Hebb learning does not diverge.

    >>> [len(half) for half in halves(np.zeros((9000, 2)))]
    [1500, 1500]
    """
    half = min(len(rows), most) // 2
    return [rows[:half], rows[half : 2 * half]]


def _stays_above(cosines: Any, level: float = 0.95) -> int:
    """Return the place from which on a curve stays above the level; the last if it never does."""
    below = np.flatnonzero(cosines <= level)
    return int(min(below[-1] + 1, len(cosines) - 1)) if below.size else 0


CORNERS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
ANSWERS = np.array([0, 1, 1, 0])
HIDDEN = 4


def exclusive_or(seeds: int, passes: int) -> Lesson:
    """Learn exclusive or from several starts; draw the plane as the first one sees it."""
    solved, losses = [], []
    for seed in range(seeds):
        network = MultilayerPerceptron(
            HIDDEN,
            learning_rate=0.3,
            max_iter=passes,
            tol=0.0,
            n_iter_no_change=passes,
            record_every=4,
            random_state=seed,
        ).fit(CORNERS, ANSWERS)
        solved.append(bool(network.score(CORNERS, ANSWERS) == 1.0))
        losses.append(float(network.loss_))
        if seed == 0:
            shown = network
    drawings = []
    history = shown.history_
    for k in moments(len(history.step)):
        coefs, intercepts = (
            [recorded[k - 1] for recorded in part] for part in (history.weights, history.intercepts)
        )
        lines = [(coefs[0][:, j], float(intercepts[0][j])) for j in range(HIDDEN)]
        drawn = decision_lines(CORNERS, ANSWERS, lines, answers=_sees(coefs, intercepts))
        drawings.append((plotting.svg(drawn, f"xor{k}"), f"{k}"))
    curve = plotting.courses(
        {"loss": (np.arange(1, len(shown.loss_curve_) + 1), shown.loss_curve_)},
        labels=("pass", "mean loss"),
        scales=("log", "linear"),
    )
    unit = Perceptron(max_iter=100, random_state=0)
    separable = unit.fit(CORNERS, ANSWERS).separable_
    return Lesson(
        Section(
            "A hidden layer: exclusive or",
            "No line separates these corners, so that a single unit must fail. Hidden units draw a "
            "line each, and the output joins what they see.",
            (
                frames(
                    "xor",
                    drawings,
                    "What the network answers, after so many passes",
                    "Black: the lines of the hidden units. Shades: the answer. First seed. Arrow "
                    "keys step through.",
                ),
                drawing(
                    curve, "Its loss", "Mean cross-entropy in each pass over the four corners."
                ),
            ),
        ),
        [
            (
                "one perceptron on exclusive or: separable?",
                {True: "yes", False: "no", None: "unknown"}[separable],
                "no",
            ),
            (
                f"multilayer perceptron, {HIDDEN} hidden units: starts that solve it",
                f"{sum(solved)} of {len(solved)}",
                "",
            ),
        ],
        {"solved": solved, "loss": losses},
    )


def _sees(coefs: Any, intercepts: Any) -> Callable[[Any], Any]:
    """Return the network with these weights as a function of points."""

    def answers(points: Any) -> Any:
        hidden = np.tanh(points @ coefs[0] + intercepts[0])
        return 1.0 / (1.0 + np.exp(-(hidden @ coefs[1] + intercepts[1])[:, 0]))

    return answers


def run(effort: Effort, seeds: int, clock: Clock) -> Outcome:
    """Let each neuron learn with seeds 0, 1, ..."""
    lessons: dict[str, Callable[[], Lesson]] = {
        "perceptron": lambda: perceptron(seeds),
        "adaline": lambda: adaline(seeds),
        "oja": lambda: oja(seeds, STEPS[effort]),
        "sanger": lambda: sanger(seeds, STEPS[effort]),
        "exclusive or": lambda: exclusive_or(seeds, PASSES[effort]),
    }
    clock.begin("lessons", len(lessons))
    results: dict[str, Lesson] = {}
    for name, lesson in lessons.items():
        with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
            results[name] = lesson()
        clock.advance(1)
    table = PageTable(
        ("", "measured", "theory"),
        [row for lesson in results.values() for row in lesson.rows],
        caption="Mean ± standard deviation over the seeds, or their range.",
    )
    report = Report(
        title="The classic neurons, as they learn",
        lead=(
            "Units that learn from one example after the other, each by the rule of its textbook, "
            "and what theory predicts for each."
        ),
        facts=(("seeds", str(seeds)),),
        sections=(
            Section("Measured, and in theory", "", (table,)),
            *(lesson.section for lesson in results.values()),
        ),
    )
    numbers = {"seeds": seeds} | {name: lesson.numbers for name, lesson in results.items()}
    return Outcome(table, report, numbers)


PAPER = Paper("neurons", "Perceptron, Adaline, Oja, Sanger, a multilayer perceptron", run)
