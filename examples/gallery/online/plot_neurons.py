"""
A line, a component and exclusive or
====================================

A perceptron separates two classes by a line.
Oja's neuron turns towards the first principal component.
A multilayer perceptron learns exclusive or, which no line separates.
"""

import numpy as np
from sklearn.inspection import DecisionBoundaryDisplay

from eigenstream import (
    MultilayerPerceptron,
    OjaNeuron,
    Perceptron,
    plotting,
)
from eigenstream.schedules import Constant

# %%
# A perceptron
# ------------

rng = np.random.default_rng(0)
y = rng.integers(2, size=60)
X = rng.standard_normal((60, 2)) + np.outer(2 * y - 1, [2.0, 1.5])
perceptron = Perceptron(random_state=0).fit(X, y)

# %%
# Oja's neuron
# ------------
# ``record_every=1`` keeps the weights after every row. Their length is one.

rows = rng.standard_normal((300, 2)) @ np.array([[1.5, 1.2], [0.3, -0.4]])
neuron = OjaNeuron(
    learning_rate=Constant(0.03),
    center=False,
    init=[[1.0, -0.2]],
    record_every=1,
)
path = neuron.partial_fit(rows).history_.weights[:, 0]
component = np.linalg.svd(rows, full_matrices=False)[2][0]
cosine = abs(path[-1] @ component)

# %%
# Exclusive or
# ------------

corners, answers = (
    np.array([[0, 0], [0, 1], [1, 0], [1, 1]]),
    np.array([0, 1, 1, 0]),
)
network = MultilayerPerceptron(
    4, learning_rate=0.3, max_iter=1000, random_state=0
)
network.fit(corners, answers)
print(f"perceptron: {perceptron.score(X, y):.2f}")
print(f"cosine of Oja's neuron: {cosine:.3f}")
print(f"exclusive or: {network.score(corners, answers):.2f}")

# %%
# Draw all three
# --------------

left, middle, right = plotting.panels([3], [3.3], width=10)
for model, response, ax, points, classes, title in (
    (perceptron, "predict", left, X, y, "Perceptron"),
    (network, "predict_proba", right, corners, answers, "Exclusive or"),
):
    DecisionBoundaryDisplay.from_estimator(
        model,
        points,
        response_method=response,
        ax=ax,
        cmap="RdBu_r",
        alpha=0.4,
    )
    ax.grid(False)
    ax.scatter(*points.T, c=classes, cmap="RdBu_r", edgecolor="white")
    ax.set_title(title, loc="left")
middle.plot(*rows.T, ".", ms=3, color="0.75")
middle.plot(*path.T, color="C3", label="weights")
middle.axline(
    (0, 0), component, color="black", ls="--", lw=1, label="component"
)
middle.set(xlim=(-1.6, 1.6), ylim=(-1.6, 1.6), aspect="equal")
middle.set_title("Oja's neuron", loc="left")
middle.legend(loc="lower right")
