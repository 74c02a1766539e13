"""
A plateau: theory over simulation
=================================

Two units learn two principal components by Sanger's rule. The second unit
waits on a plateau until the first one has found its component.
:class:`~eigenstream.theory.PrincipalDynamics` predicts the overlaps R by
differential equations.
"""

import numpy as np

from eigenstream import plotting
from eigenstream.theory import PrincipalDynamics

# %%
# Solve the equations
# -------------------
# R12 is the overlap of unit 1 with component 2. Time is rows divided by
# columns.

model = PrincipalDynamics([0.6, 0.4], learning_rate=0.1)
R, Q = [[0.08, 0.065], [0.08, 0.08]], np.eye(2)
course = model.solve(R, Q, np.linspace(0, 100, 201))
start, end = (
    course.when(course.R[:, 1, 1], level) for level in (0.15, 0.25)
)
print(
    f"unit 2 stays between 0.15 and 0.25 from t = {start:.0f} to {end:.0f}"
)

# %%
# Simulate six runs with 20,000 columns
# -------------------------------------
# ``simulate`` has the law of the learning rule on vectors, and needs no
# vector.

runs = model.simulate(R, Q, np.arange(0, 101, 5), n_features=20_000, runs=6)
gap = np.abs(runs.mean[0] - course.R[::10]).max()
print(f"largest gap between theory and the mean of the runs: {gap:.3f}")

# %%
# Draw the theory as lines and the runs as points
# -----------------------------------------------

ax = plotting.overlaps(course, runs)
ax.set(xlabel="time, rows / columns", ylabel="overlap")
ax.set_title("Two units find two components", loc="left")
