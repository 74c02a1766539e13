"""
Digits before and after metric learning
=======================================

:class:`~eigenstream.ClassSubspace` learns a distance from labels. It brings
new images of the same digit together. The default prepares for new digits,
and ``shrinkage=0.1, mixing=0`` for the digits of the training set.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import train_test_split

from eigenstream import ClassSubspace, StreamPCA, plotting
from eigenstream.evaluation import pair_roc

# %%
# Learn from half of the digits
# -----------------------------

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.5, random_state=0
)
before = StreamPCA(n_components=9).fit(X_train).transform(X_test)
learned = ClassSubspace(n_components=9, shrinkage=0.1, mixing=0).fit(
    X_train, y_train
)
after = learned.transform(X_test)

# %%
# Measure on the other half
# -------------------------
# The ROC area is the probability that two images of the same digit are
# nearer than two images of different digits.

curves = {
    "PCA": pair_roc(before, y_test),
    "ClassSubspace": pair_roc(after, y_test),
}
areas = {name: curve.area for name, curve in curves.items()}
print({name: f"{area:.3f}" for name, area in areas.items()})

# %%
# Draw all distances
# ------------------
# Rows and columns are 300 held-out images, sorted by digit. Dark squares on
# the diagonal are small distances between images of the same digit. After
# learning, the squares are darker and the rest is lighter.

order = np.concatenate(
    [np.flatnonzero(y_test == digit)[:30] for digit in range(10)]
)
left, middle, right = plotting.panels([3], [3.4], width=10)
for ax, name, features in (
    (left, "PCA", before),
    (middle, "ClassSubspace", after),
):
    distances = pairwise_distances(features[order])
    ax.imshow(
        distances / np.median(distances), cmap="Blues_r", vmin=0.2, vmax=0.9
    )
    ax.grid(False)
    ax.set_title(f"Distances of {name}", loc="left")
    ax.set_xticks(np.arange(15, 300, 30), range(10))
    ax.set_yticks(np.arange(15, 300, 30), range(10))
plotting.roc(curves, ax=right)
right.set_title("ROC on held-out digits", loc="left")

# %%
# Draw the distances and the threshold
# ------------------------------------
# Pairs below the threshold are predicted to be of the same digit.

ax = plotting.distances(learned)
