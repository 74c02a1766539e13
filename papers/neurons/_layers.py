"""A multilayer perceptron learns exclusive or: the lines of its hidden units as they move."""

import warnings
from typing import Any

import numpy as np

from eigenstream import plotting
from eigenstream.neurons import MultilayerPerceptron, Perceptron
from eigenstream.reports.base import Drawing, Frames, Section
from eigenstream.rules.supervised import Network, network_answers
from papers import _plots
from papers.neurons._lesson import Lesson
from papers.neurons._linear import moments

__all__ = ["exclusive_or"]

CORNERS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
ANSWERS = np.array([0, 1, 1, 0])
HIDDEN = 4


def exclusive_or(seeds: int, passes: int) -> Lesson:
    """Learn exclusive or from several starts; draw the plane as the first one sees it."""
    solved, losses = [], []
    for seed in range(seeds):
        network = MultilayerPerceptron(
            HIDDEN,
            schedule=0.3,
            max_iter=passes,
            tol=0.0,
            n_iter_no_change=passes,
            history_every=4,
            random_state=seed,
        ).fit(CORNERS, ANSWERS)
        solved.append(bool(network.score(CORNERS, ANSWERS) == 1.0))
        losses.append(float(network.loss_))
        if seed == 0:
            shown = network
    frames = []
    for k in moments(len(shown.history_)):
        _, coefs, intercepts = shown.history_[k - 1]
        lines = [(coefs[0][:, j], float(intercepts[0][j])) for j in range(HIDDEN)]
        drawn = _plots.decision_lines(CORNERS, ANSWERS, lines, answers=_sees(coefs, intercepts))
        frames.append((plotting.svg(drawn, f"xor{k}"), f"{k}"))
    curve = _plots.arrivals(
        np.arange(1, len(shown.loss_curve_) + 1), {"loss": shown.loss_curve_}, "mean loss"
    )
    curve.set_xlabel("pass")
    unit = Perceptron(max_iter=100, random_state=0)
    separable = _quietly(unit).separable_
    return Lesson(
        Section(
            "A hidden layer: exclusive or",
            "No line separates these corners, so that a single unit must fail. Hidden units draw a "
            "line each, and the output joins what they see.",
            (
                Frames(
                    "xor",
                    frames,
                    "What the network answers, after so many passes",
                    "Black: the lines of the hidden units. Shades: the answer. First seed. Arrow "
                    "keys step through.",
                ),
                Drawing(
                    plotting.svg(curve, "xorloss"),
                    "Its loss",
                    "Mean cross-entropy in each pass over the four corners.",
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


def _quietly(unit: Perceptron) -> Perceptron:
    """Fit the perceptron to what it cannot learn, without its warning: the page says it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return unit.fit(CORNERS, ANSWERS)


def _sees(coefs: Any, intercepts: Any) -> Any:
    """Return the network with these weights as a function of points."""
    net = Network.zeros((2, HIDDEN, 1), "tanh", "logistic")
    for (own, bias), W, b in zip(net.layers(), coefs, intercepts, strict=True):
        own[:], bias[:] = W, b
    return lambda points: network_answers(net, points)[:, 0]
