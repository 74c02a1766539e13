"""
Cross-validation from sums
==========================

:func:`~eigenstream.evaluation.cross_validate_sums` compares many numbers of
components and alphas. It reads the rows once, and each block of rows is
held out in turn.
"""

import numpy as np

from eigenstream import SlowSubspace
from eigenstream.evaluation import cross_validate_sums, time_blocks
from eigenstream.plotting import axes
from eigenstream.processes import Autoregressive

# %%
# Three slow sources in ten noisy columns
# ---------------------------------------
# The gaps between the blocks are longer than the slowest time scale of 50
# rows.

process = Autoregressive(
    np.exp([-1 / 50, -1 / 20, -1 / 8]),
    n_features=10,
    noise=0.3,
    random_state=0,
)
blocks = time_blocks(process.take(40_000), 20, gap=200)

# %%
# Hold out each block
# -------------------
# There are 20 folds, 8 numbers of components and 3 alphas: the scores of
# 480 fits.

counts, alphas = [1, 2, 3, 4, 5, 6, 7, 8], [0.02, 0.1, 0.5]
scores = cross_validate_sums(
    SlowSubspace(), blocks, n_components=counts, alphas=alphas
)
print(scores.best(lag=1))

# %%
# Draw the scores
# ---------------
# Features beyond the three sources do not improve the score.
# The bars are standard errors over the held-out blocks.

ax = axes(title="Score of held-out blocks")
colours = ["#8a8f98", "#d55e00", "#0072b2"]
for alpha, mean, error, colour in zip(
    alphas, scores.mean[0], scores.standard_error[0], colours, strict=True
):
    ax.errorbar(
        counts,
        mean,
        error,
        marker="o",
        ms=4,
        color=colour,
        label=f"alpha = {alpha}",
    )
ax.axvline(3, ls=":", color="#8a8f98")
ax.set(xlabel="number of components", ylabel="score")
ax.legend(frameon=False)
