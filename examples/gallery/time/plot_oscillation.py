"""
The period of an oscillation
============================

:class:`~eigenstream.DynamicSubspace` finds features that predict
themselves. A pair of complex eigenvalues of the propagator is an
oscillation that decays.
"""

import numpy as np

from eigenstream import DynamicSubspace, plotting

# %%
# A noisy oscillation with a period of 20 rows
# --------------------------------------------

rng = np.random.default_rng(0)
angle, decay = 2 * np.pi / 20, np.exp(-1 / 40)
turn = decay * np.array(
    [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
)
state, rows = np.zeros(2), []
for _ in range(2000):
    state = turn @ state + rng.standard_normal(2)
    rows.append(state)
X = np.array(rows) @ rng.standard_normal((2, 5))
X += 0.3 * rng.standard_normal(X.shape)

# %%
# Find it with its error bars
# ---------------------------

found = DynamicSubspace(n_components=2, lag=2).uncertainty(X)
period = found.periods
print(
    f"period {period.value[0]:.1f} rows, "
    f"95 % interval {period.low[0]:.1f} to {period.high[0]:.1f}"
)

# %%
# Draw the eigenvalues in the unit circle
# ---------------------------------------
# The angle is the phase after ``lag`` rows, and the distance from the
# circle is the decay.

ax = plotting.propagator(found)
