"""
Any chunking, same components
=============================

``partial_fit`` keeps the last rows of a chunk, so no velocity is lost
between two chunks. The components equal those of one fit to rounding, and
so do those of merged workers. Chunks that are learned as separate sequences
lose velocities, and give other components.
"""

import numpy as np

from eigenstream import SlowSubspace, merge_all, plotting
from eigenstream.evaluation import subspace_angles
from eigenstream.processes import Autoregressive

# %%
# Fit once
# --------

X = Autoregressive(
    (0.99, 0.95, 0.8, 0.5, 0.3, 0.1), n_features=8, random_state=0
).take(6000)
model = SlowSubspace(n_components=2, alpha=0.5, lag=3)
one_fit = SlowSubspace(**model.get_params()).fit(X)

# %%
# Learn in chunks of 20 to 3000 rows
# ----------------------------------
# One learner reads all chunks, or one worker learns from each chunk and the
# workers are merged.

sizes = [20, 50, 100, 200, 500, 1000, 3000]
angles = {"separate sequences": [], "partial_fit": [], "merged workers": []}
for size in sizes:
    chunks = [X[start : start + size] for start in range(0, len(X), size)]
    online, apart = (SlowSubspace(**model.get_params()) for _ in range(2))
    for chunk in chunks:
        online.partial_fit(chunk)
        apart.partial_fit(chunk, new_sequence=True)
    workers = [
        SlowSubspace(**model.get_params()).partial_fit(chunk)
        for chunk in chunks
    ]
    for name, found in zip(
        angles, (apart, online, merge_all(workers)), strict=True
    ):
        angles[name].append(
            subspace_angles(one_fit.components_.T, found.components_.T)[0]
        )

largest = max(angles["partial_fit"] + angles["merged workers"])
print(f"largest angle to one fit: {largest:.1e} radians")

# %%
# Draw the angle to the components of one fit
# -------------------------------------------

ax = plotting.courses(
    {
        name: (sizes, np.maximum(values, 1e-17))
        for name, values in angles.items()
    },
    labels=("rows of a chunk", "angle to one fit, radians"),
    scales=("log", "log"),
)
ax.set_title("Distance to the components of one fit", loc="left")
