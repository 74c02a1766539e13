"""
K-means against neural gas
==========================

K-means moves only the nearest prototype of each row.
After a bad start, some clusters have no prototype.
Neural gas, ``assignment="rank"``, also moves the other prototypes, by rank.
It finds all nine clusters from every start.
"""

import numpy as np

from eigenstream import CompetitiveLearning, plotting
from eigenstream.schedules import Exponential

# %%
# Nine clusters
# -------------

rng = np.random.default_rng(0)
centres = np.array([[x, y] for x in (-4, 0, 4) for y in (-4, 0, 4)])
X = centres[rng.integers(9, size=3000)] + 0.5 * rng.standard_normal(
    (3000, 2)
)

# %%
# Learn from twenty random starts
# -------------------------------
# The width in ranks and the learning rate of neural gas shrink over the
# rows.

gas = {
    "assignment": "rank",
    "width": Exponential(3, 600),
    "learning_rate": Exponential(0.5, 700),
}
models = {
    name: [
        CompetitiveLearning(9, init="random", random_state=k, **rule).fit(X)
        for k in range(20)
    ]
    for name, rule in (("k-means", {}), ("neural gas", gas))
}
inertia = {
    name: [one.inertia_ / len(X) for one in found]
    for name, found in models.items()
}
print({name: f"{np.mean(values):.3f}" for name, values in inertia.items()})

# %%
# Draw the prototypes of the worst start
# --------------------------------------
# The inertia is the mean squared distance of a row to the nearest
# prototype.

for name, ax in zip(models, plotting.panels([2], [4.0]), strict=True):
    worst = int(np.argmax(inertia[name]))
    ax.plot(*X.T, ".", ms=2, color="0.75")
    ax.plot(
        *models[name][worst].prototypes_.T,
        "o",
        ms=7,
        color="C3",
        mec="white",
    )
    ax.set(xticks=[], yticks=[], aspect="equal")
    ax.set_title(f"{name}, inertia {inertia[name][worst]:.2f}", loc="left")

# %%
# Draw the sizes of the clusters
# ------------------------------
# After the worst start of k-means, two prototypes have two clusters each,
# and three prototypes share one.

worst = int(np.argmax(inertia["k-means"]))
ax = plotting.sizes(models["k-means"][worst])
