"""Oja's weight on the unit circle, beside Hebb's and the references; Sanger's components."""

import numpy as np

from eigenstream import plotting
from eigenstream._linalg import Float64s
from eigenstream.neurons import OjaNeuron, SangerNetwork
from eigenstream.reports.base import Drawing, Section
from eigenstream.schedules import Constant, Power
from papers import _plots
from papers._figures import mean_with_spread
from papers.neurons._lesson import Lesson
from papers.neurons._references import krylov, power_iteration

__all__ = ["oja", "sanger"]

#: Standard deviations of the plane's two directions, and of Sanger's eight.
PLANE = (1.5, 0.6)
#: Each variance is half the one before, so that each component takes twice as long.
SPECTRUM = tuple(3.0 * 2.0 ** (-k / 2) for k in range(8))
FOUND = 4


def oja(seeds: int, steps: int) -> Lesson:
    """Compare Oja's neuron with the dense answer and the references; draw the ways there."""
    angles, variances, norms, growths, powers, spans = [], [], [], [], [], []
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
        made = {"center": False, "init": start, "history_every": 1}
        neuron = OjaNeuron(form="linear", schedule=rate, **made).partial_fit(rows)
        w = neuron.components_[0]
        angles.append(_degrees(w, top))
        variances.append(float((neuron.transform(rows) ** 2).mean() / values[-1]))
        norms.append(float(np.linalg.norm(w)))
        slow = OjaNeuron(form="hebb", schedule=Constant(0.002), **made)
        lengths = [np.linalg.norm(slow.partial_fit(part).components_) for part in halves(rows)]
        # Once it has turned, the length grows by 1 + eta lambda_1 a step.
        gained = np.log(lengths[1] / lengths[0])
        growths.append(float(gained / (0.002 * len(halves(rows)[1]) * values[-1])))
        hebb = OjaNeuron(form="hebb", schedule=Constant(0.01), **made).partial_fit(rows[:200])
        iterates = power_iteration(R, start[0], 12)
        tangents = [abs(np.tan(np.radians(_degrees(b, top)))) for b in iterates[[2, 6]]]
        powers.append(float((tangents[1] / tangents[0]) ** 0.25 / (values[0] / values[-1])))
        spans.append(_degrees(krylov(R, start[0], 2), top))
        if seed == 0:
            paths = {
                "Hebb": np.vstack([start, [v[0] for _, v in hebb.history_]]),
                "Oja": np.vstack([start, [v[0] for _, v in neuron.history_]]),
                "power iteration": iterates,
            }
            shown = top
    return Lesson(
        Section(
            "Hebb and Oja: towards the first principal component",
            "Hebb's rule multiplies the weight by I + eta x xᵀ at each step: it turns towards the "
            "direction of largest variance (dashed) and grows without bound. Oja's takes off what "
            "grows. Power iteration, which knows the whole scatter, does the same in a few steps; "
            "two vectors of a Krylov space, made orthogonal, span the plane.",
            (
                Drawing(
                    plotting.svg(_plots.unit_circle(paths, shown), "circle"),
                    "Three ways to the component",
                    "From the same start. Hebb's weight leaves the picture. First seed.",
                ),
            ),
        ),
        [
            ("Oja: degrees from the first component", mean_with_spread(angles), "0"),
            ("Oja: variance of the response / λ₁", mean_with_spread(variances), "1"),
            ("Oja: length of the weight", mean_with_spread(norms), "1"),
            ("Hebb: log growth / (η λ₁ steps)", mean_with_spread(growths), "1 for small η"),
            ("power iteration: factor a step / (λ₂ / λ₁)", mean_with_spread(powers), "1"),
            ("Krylov, two vectors: degrees from it", mean_with_spread(spans), "0 in the plane"),
        ],
        {
            "degrees": angles,
            "variance": variances,
            "norm": norms,
            "hebb_growth": growths,
            "power_factor": powers,
            "krylov_degrees": spans,
        },
    )


def sanger(seeds: int, steps: int) -> Lesson:
    """Watch the components come one after the other."""
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
            schedule=Power(6.0, 2000.0),
            center=False,
            history_every=max(steps // 400, 1),
            random_state=seed,
        ).partial_fit(rows)
        moments = np.array([step for step, _ in network.history_])
        cosines = np.array(
            [
                [
                    abs(w[k] @ vectors[:, k]) / max(float(np.linalg.norm(w[k])), 1e-300)
                    for k in range(FOUND)
                ]
                for _, w in network.history_
            ]
        )
        final.append([float(c) for c in cosines[-1]])
        arrival.append([int(moments[_settled(cosines[:, k])]) for k in range(FOUND)])
        if seed == 0:
            curves = {f"component {k + 1}": cosines[:, k] for k in range(FOUND)}
            drawn = _plots.arrivals(moments, curves, "|cosine| with the true component")
    typical = np.median(arrival, axis=0)
    return Lesson(
        Section(
            "Sanger: one component after the other",
            "Unit k learns from what the units before it leave. It turns towards its component at "
            "a rate of eta (λ_k − λ_{k+1}), which here halves from one to the next.",
            (
                Drawing(
                    plotting.svg(drawn, "arrivals"),
                    "The components arrive",
                    f"{FOUND} units on {len(SPECTRUM)} inputs. First seed.",
                ),
            ),
        ),
        [
            (
                f"Sanger: |cosine| of component {k + 1}",
                mean_with_spread([one[k] for one in final]),
                "1",
            )
            for k in range(FOUND)
        ]
        + [
            (
                "Sanger: steps until |cosine| stays above 0.95, medians",
                ", ".join(f"{step:.0f}" for step in typical),
                "each about twice the last",
            )
        ],
        {"cosines": final, "arrival": arrival},
    )


def halves(rows: Float64s, most: int = 3000) -> list[Float64s]:
    """Return two halves of the first rows, not so many that plain Hebb explodes.

    >>> [len(half) for half in halves(np.zeros((9000, 2)))]
    [1500, 1500]
    """
    half = min(len(rows), most) // 2
    return [rows[:half], rows[half : 2 * half]]


def _settled(cosines: Float64s, level: float = 0.95) -> int:
    """Return the place from which on a curve stays above the level; the last if it never does."""
    below = np.flatnonzero(cosines <= level)
    return int(min(below[-1] + 1, len(cosines) - 1)) if below.size else 0


def _degrees(a: Float64s, b: Float64s) -> float:
    """Return the angle between two lines.

    >>> round(_degrees(np.array([1.0, 1.0]), np.array([0.0, -2.0])), 9)
    45.0
    """
    flat = np.array([a / np.linalg.norm(a), b / np.linalg.norm(b)])
    along, across = flat[0] @ flat[1], flat[0][0] * flat[1][1] - flat[0][1] * flat[1][0]
    return float(np.degrees(np.arctan2(abs(across), abs(along))))
