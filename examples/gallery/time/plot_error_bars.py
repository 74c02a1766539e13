"""
Error bars from one pass
========================

:meth:`~eigenstream.SlowSubspace.uncertainty` fits a subspace and returns
error bars. They come from fits without each block of rows, which need no
further pass.
"""

import numpy as np

from eigenstream import SlowSubspace, plotting
from eigenstream.processes import Autoregressive

# %%
# Five sources, two of which are hard to tell apart
# -------------------------------------------------
# The sources forget within 60, 20, 18, 6 and 3 rows. They are mixed in
# eight columns.

exact = np.array([60, 20, 18, 6, 3])
process = Autoregressive(np.exp(-1 / exact), n_features=8, random_state=0)
found = SlowSubspace(5, criterion="ratio", lag=3).uncertainty(
    process.take(30_000), blocks=20
)
print(found)

# %%
# Compare with the exact time scales
# ----------------------------------
# An interval contains the exact value in about 95 % of all cases.

scales = found.timescales
inside = int(((scales.low <= exact) & (exact <= scales.high)).sum())
print(f"{inside} of {len(exact)} intervals contain the exact time scale.")

# %%
# Draw the intervals and the stability
# ------------------------------------
# Components 2 and 3 are mixtures of the same two sources, so their angles
# are large. The number at a point is the component that is mixed in. The
# span of the first three components is known to about a degree.

left, right = plotting.panels([2], [3.4])
plotting.timescales(found, ax=left)
left.plot(np.arange(1, 6), exact, "_", ms=18, color="black", label="exact")
left.legend(frameon=False)
plotting.stability(found, ax=right)
