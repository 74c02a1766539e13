"""The perceptron's lines as they move; Adaline's paths over its error surface."""

import numpy as np
from scipy.optimize import nnls

from eigenstream import plotting
from eigenstream._linalg import Float64s
from eigenstream.neurons import AdalineRegressor, Perceptron
from eigenstream.reports.base import Drawing, Frames, Section
from eigenstream.rules import UnstableStepError
from papers import _plots
from papers._figures import mean_with_spread
from papers.neurons._lesson import Lesson

__all__ = ["adaline", "perceptron"]

#: Points of the two clouds, and how far from the line between them the nearest may be.
POINTS, GAP = 60, 0.25
#: Rates of Adaline in units of the limit.
RATES = {"slow": 0.02, "fast": 0.15, "beyond the limit": 1.1}


def separable(seed: int) -> tuple[Float64s, Float64s]:
    """Return points of two classes with a gap between them."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((POINTS, 2)) * 1.5
    angle = rng.uniform(0, 2 * np.pi)
    side = rows @ [np.cos(angle), np.sin(angle)] + 0.6
    rows = rows + GAP * np.sign(side)[:, None] * [np.cos(angle), np.sin(angle)]
    return rows, np.sign(side)


def best_margin(rows: Float64s, signs: Float64s) -> float:
    """Return the largest margin of a plane through the origin of (x, 1): that of |w| = 1 / margin.

    >>> round(best_margin(np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])), 6)
    1.0
    """
    signed = signs[:, None] * np.column_stack([rows, np.ones(len(rows))])
    # min |w| with <w, z> >= 1 for all z, as non-negative least squares (Lawson and Hanson's LDP).
    system = np.vstack([signed.T, np.ones(len(signed))])
    wanted = np.append(np.zeros(signed.shape[1]), 1.0)
    rest = wanted - system @ nnls(system, wanted)[0]
    w = -rest[:-1] / rest[-1]
    return float((signed @ w).min() / np.linalg.norm(w))


def perceptron(seeds: int) -> Lesson:
    """Count mistakes beside the theorem's bound; draw the line after some of them."""
    mistakes, bounds = [], []
    for seed in range(seeds):
        rows, signs = separable(seed)
        unit = Perceptron(random_state=seed).fit(rows, signs)
        mistakes.append(int(unit.n_mistakes_[0]))
        bounds.append(float((unit.radius_ / best_margin(rows, signs)) ** 2))
    rows, signs = separable(0)
    unit = Perceptron(random_state=0, history_every=1).fit(rows, signs)
    lines: list[tuple[Float64s, float]] = [(np.zeros(2), 0.0)]
    for _, w, b in unit.history_:
        if not (np.array_equal(w[0], lines[-1][0]) and b[0] == lines[-1][1]):
            lines.append((w[0], float(b[0])))
    frames = [
        (
            plotting.svg(
                _plots.decision_lines(rows, signs, [lines[k]], faint=lines[1:k]), f"line{k}"
            ),
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
                Frames(
                    "perceptron",
                    frames,
                    "The line after so many mistakes",
                    "Gray: the lines before. First seed. Arrow keys step through.",
                ),
            ),
        ),
        [("perceptron: mistakes", _counts(mistakes), f"at most {_counts(bounds)}")],
        {"mistakes": mistakes, "bounds": bounds},
    )


def moments(last: int, most: int = 9) -> list[int]:
    """Return about so many moments up to the last, ever farther apart.

    >>> moments(20, 4)
    [1, 3, 7, 20]
    """
    spread = np.geomspace(1, max(last, 1), min(most, max(last, 1)))
    return sorted({round(float(k)) for k in spread})


def _counts(values: list[int] | list[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:.0f}" if low == high else f"{low:.0f} to {high:.0f}"


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
                schedule=share * limit, normalize=False, fit_intercept=False, history_every=1
            )
            try:
                neuron.partial_fit(rows, targets)
            except UnstableStepError as stop:
                diverged.append(stop.step)
                steps = min(stop.step, 40)
                neuron.partial_fit(rows[:steps], targets[:steps])
            else:
                tail = np.array([w[0] for _, w, _ in neuron.history_[n // 4 :]]) - truth
                error = np.einsum("ij,jk,ik->i", tail, R, tail).mean()
                excess[name].append(float(error / noise**2))
            if seed == 0:
                path = np.array([w[0] for _, w, _ in neuron.history_[:600]])
                paths[f"{name}: {share:g} × limit"] = np.vstack([np.zeros(2), path])
    rows_of = []
    theories = {}
    for name in list(RATES)[:2]:
        theories[name] = misadjustment(R, RATES[name] * limit)
        rows_of.append(
            (
                f"Adaline, {RATES[name]:g} × limit: excess error / noise",
                mean_with_spread(excess[name]),
                f"{theories[name]:.3f}",
            )
        )
    rows_of.append(("Adaline, 1.1 × limit: explodes at step", _counts(diverged or [n]), "diverges"))
    drawn = _plots.error_surface(R, truth, paths, reach=3.0)
    return Lesson(
        Section(
            "Adaline: down the error surface",
            f"The squared error is a bowl over the weights, steep along one direction and flat "
            f"along another. The rate may not exceed 2 / lambda = {limit:.3f} with the largest "
            "eigenvalue lambda of the inputs' scatter. Small steps follow the slope; long ones "
            "jump about the bottom, and pay for it with an error above the least.",
            (
                Drawing(
                    plotting.svg(drawn, "surface"),
                    "Paths of three learning rates",
                    "600 steps from zero; the cross is least squares. What leaves the picture is "
                    "cut. First seed.",
                ),
            ),
        ),
        rows_of,
        {"limit": limit, "excess": excess, "theory": theories, "diverged": diverged},
    )


def misadjustment(R: Float64s, rate: float) -> float:
    """Return LMS's stationary excess over the least error, for Gaussian rows.

    With s = sum of eta l / (2 (1 - eta l)) over the eigenvalues l of R it is s / (1 - s).

    >>> round(misadjustment(np.eye(1), 0.5), 6)
    1.0
    """
    scaled = rate * np.linalg.eigvalsh(R)
    s = float((scaled / (2.0 * (1.0 - scaled))).sum())
    return s / (1.0 - s) if (scaled < 1.0).all() and s < 1.0 else float("inf")
