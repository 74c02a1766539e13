"""
A map unfolds
=============

:class:`~eigenstream.SelfOrganizingMap` starts as a tangle of random units.
Each row moves the nearest unit and its neighbours on the grid.
The net first unfolds, and then fills the square.
"""

import numpy as np

from eigenstream import SelfOrganizingMap, plotting

# %%
# A square of rows, and units anywhere in it
# ------------------------------------------

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (10_000, 2))
som = SelfOrganizingMap(
    (12, 12), init=rng.uniform(-1, 1, (144, 2)), n_steps=len(X)
)

# %%
# Learn, and draw the net at four moments
# ---------------------------------------

moments, start, errors = [1, 300, 2000, 10_000], 0, []
for end, ax in zip(
    moments, plotting.panels([2, 2], [3, 3], width=6), strict=True
):
    som.partial_fit(X[start:end])
    plotting.map_net(som, X[:1000], ax=ax)
    ax.set_title(f"{end:,} row{'s' if end > 1 else ''}", loc="left")
    errors.append(som.evaluate(X).topographic_error)
    start = end

# %%
# The topographic error is the share of rows whose two nearest units are not
# neighbours.

print("topographic error:", np.round(errors, 3))
