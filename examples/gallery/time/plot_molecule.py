"""
Time scales of a molecule against lag
=====================================

A simulated molecule turns about two bonds. It turns about the first bond
more rarely. :func:`~eigenstream.lag_path` learns slow features at several
lags in one pass. The time scales approach the exact values as the lag
grows.
"""

import numpy as np

from eigenstream import SlowSubspace, lag_path, plotting

# %%
# Simulate the molecule
# ---------------------
# Each angle is an overdamped particle in a periodic potential with two
# wells. The barrier between the wells is 4 kT for the first angle, and 2 kT
# for the second.

BARRIERS, STEP = np.array([4.0, 2.0]), 0.02
RUNS, ROWS = 40, 4000
rng = np.random.default_rng(0)
angles = np.empty((ROWS, RUNS, 2))
now = rng.choice([-np.pi / 2, np.pi / 2], (RUNS, 2))  # the wells
for k in range(-500, ROWS):  # 500 steps to reach equilibrium
    now = now + STEP * BARRIERS * np.sin(2 * now)
    now += np.sqrt(2 * STEP) * rng.standard_normal(now.shape)
    if k >= 0:
        angles[k] = now

# %%
# Only 12 noisy distances are recorded. They depend on both angles.

circle = np.concatenate([np.cos(angles), np.sin(angles)], axis=-1)
distances = circle @ rng.standard_normal((4, 12))
distances += 0.3 * rng.standard_normal(distances.shape)
runs = list(distances.swapaxes(0, 1))  # one sequence for each run

# %%
# Learn at several lags
# ---------------------

slow = SlowSubspace(n_components=2, criterion="ratio")
path = lag_path(slow, runs, [1, 2, 5, 10, 20, 50, 100])
features = path.estimators[-2].transform(runs)
first, sine = (
    np.concatenate(features)[:, 0],
    np.sin(angles[..., 0]).T.ravel(),
)
correlation = abs(np.corrcoef(first, sine)[0, 1])
print(f"correlation with the sine of the slow angle: {correlation:.3f}")

# %%
# The exact time scales come from the transition matrix of one angle on a
# fine grid.

grid = np.linspace(-np.pi, np.pi, 200, endpoint=False)
exact = []
for barrier in BARRIERS:
    moved = grid - (grid + STEP * barrier * np.sin(2 * grid))[:, None]
    moved = (moved + np.pi) % (2 * np.pi) - np.pi
    chances = np.exp(-(moved**2) / (4 * STEP))
    chances /= chances.sum(axis=1, keepdims=True)
    second = np.sort(np.abs(np.linalg.eigvals(chances)))[-2]
    exact.append(-1 / np.log(second))
print("exact time scales:", np.round(exact))
print("learned at lag 100:", np.round(path.timescales[-1]))

# %%
# Draw the features of one run, and the time scales
# -------------------------------------------------
# The dashed lines are exact. In the shaded area a time scale is below its
# lag.

left, right = plotting.panels([2], [3.6])
plotting.runs(features[:1], ["feature 1", "feature 2"], ax=left)
plotting.lags(path, ax=right)
left.set_title("One of 40 runs", loc="left")
right.set_title("Time scales", loc="left")
for scale in exact:
    right.axhline(scale, color="black", lw=1, ls="--")
