"""
Eigenvalues against alpha
=========================

:class:`~eigenstream.SlowSubspace` weighs the variance by alpha and the
velocity by 1 - alpha. Each eigenvalue of the difference crosses zero at one
alpha. ``alpha="auto"`` has 1.1 times the odds of the last of these
crossings.
"""

import numpy as np

from eigenstream import SlowSubspace, plotting
from eigenstream.processes import Autoregressive

# %%
# Three slow and three fast sources
# ---------------------------------
# The library mixes six sources, each with an autocorrelation after one row.

process = Autoregressive((0.99, 0.95, 0.9, 0.5, 0.3, 0.1), random_state=0)
model = SlowSubspace(n_components=3).fit(process.take(20_000))

# %%
# Solve for 200 values of alpha
# -----------------------------
# ``path`` solves for other weights, and does not read the data again.

path = model.path(np.linspace(0.005, 1, 200))
above = path.n_positive[path.alphas > model.alpha_].min()
below = path.n_positive[path.alphas < 0.9 * model.alpha_].max()
print(f"auto: alpha = {model.alpha_:.3f}")
print(f"positive eigenvalues: {above} above, {below} below")

# %%
# Draw the path
# -------------

ax = plotting.alphas(path)
