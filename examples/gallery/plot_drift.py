"""
Drift of a subspace
===================

:class:`~eigenstream.SubspaceDrift` compares the subspace of each window of rows with a reference.
It raises an alarm if the angle is larger than chance allows.
"""

import numpy as np

from eigenstream import StreamPCA, SubspaceDrift
from eigenstream.plotting import axes

# %%
# A stream that turns slowly from row 60,000 on
# ---------------------------------------------
# Two of ten columns have a large variance.
# The second one is replaced, step by step, by the third.

rng = np.random.default_rng(0)
rows = rng.standard_normal((120_000, 10)) * [4.0, 3.0, *8 * [1.0]]
angles = np.clip((np.arange(120_000) - 60_000) / 60_000, 0.0, 1.0)
turned = rows.copy()
turned[:, 1] = np.cos(angles) * rows[:, 1] - np.sin(angles) * rows[:, 2]
turned[:, 2] = np.sin(angles) * rows[:, 1] + np.cos(angles) * rows[:, 2]

# %%
# Learn a reference and watch the rest
# ------------------------------------
# The false-alarm rate is the probability of an alarm in a window without drift.

reference = StreamPCA(2).fit(turned[:30_000])
drift = SubspaceDrift(reference, window=3_000, false_alarm_rate=0.001)
records = list(drift.watch(turned[30_000:]))
first = next(one for one in records if one.alarm)
print(f"The first alarm is at row {30_000 + first.rows:,}, at an angle of {first.angle:.3f}.")

# %%
# Draw the angles
# ---------------
# The spread is the angle that is expected without drift.

ends = np.array([30_000 + one.rows for one in records])
ax = axes(title="Angle between each window and the reference")
ax.plot(ends, [one.angle for one in records], "-o", ms=3.5, color="#1c8fc4", label="angle")
ax.plot(ends, [one.spread for one in records], color="#8a8f98", label="expected without drift")
alarms = [(end, one.angle) for end, one in zip(ends, records, strict=True) if one.alarm]
ax.plot(*np.transpose(alarms), "o", ms=6, mfc="none", color="#e08a1e", label="alarm")
ax.axvline(60_000, ls=":", color="#8a8f98")
ax.set(xlabel="row", ylabel="angle, radians", yscale="log")
ax.legend(frameon=False)
