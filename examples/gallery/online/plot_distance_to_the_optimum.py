"""
Distance to the optimum against rows
====================================

Three solvers of :class:`~eigenstream.StreamPCA` and ``IncrementalPCA``
learn from the same stream. The sketch stores no square matrix, and is as
good as the exact solver. The flow takes a step for each row, and needs more
rows.
"""

import numpy as np
from sklearn.decomposition import IncrementalPCA

from eigenstream import Flow, Sketch, StreamPCA, plotting
from eigenstream.evaluation import captured
from eigenstream.processes import SpikedGaussian

# %%
# A stream with five large variances among 500
# --------------------------------------------

D, d = 500, 5
process = SpikedGaussian(D, (12, 10, 8, 6, 4), random_state=0)

learners = {
    "flow": StreamPCA(d, solver=Flow()),
    "IncrementalPCA": IncrementalPCA(d),
    "sketch": StreamPCA(d, solver=Sketch()),
    "dense": StreamPCA(d, solver="dense"),
}

# %%
# Learn, and measure at eleven moments
# -------------------------------------
# The distance is the share of the largest possible variance that the
# components miss.

ends = np.unique(np.geomspace(100, 10_000, 11).astype(int))
X = process.take(ends[-1])
distances = {name: [] for name in learners}
for start, end in zip([0, *ends[:-1]], ends, strict=True):
    for name, model in learners.items():
        model.partial_fit(X[start:end])
        distances[name].append(
            1 - captured(model.components_.T, process.covariance)
        )

final = {name: values[-1] for name, values in distances.items()}
print({name: f"{value:.4f}" for name, value in final.items()})

# %%
# Draw the distances
# ------------------

ax = plotting.courses(
    {name: (ends, values) for name, values in distances.items()},
    labels=("rows", "missed share of the variance"),
    scales=("log", "log"),
)
ax.set_title("Distance to the optimum, 500 columns", loc="left")
