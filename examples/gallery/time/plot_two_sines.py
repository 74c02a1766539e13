"""
Two mixed sines and the slow feature
====================================

Two sensors record the same two sines in different mixtures.
:class:`~eigenstream.SlowSubspace` finds the slow sine.
The fast sine is ten times larger, so PCA finds the fast one.
"""

import numpy as np

from eigenstream import SlowSubspace, StreamPCA, plotting

# %%
# Make the recording
# ------------------
# The slow sine has a period of 1000 rows, the fast one of 41 rows.

rng = np.random.default_rng(0)
t = np.arange(3000)
slow, fast = np.sin(2 * np.pi * t / 1000), np.sin(2 * np.pi * t / 41)
X = np.outer(slow, [0.3, 0.2]) + np.outer(fast, [2.0, -3.0])
X += 0.01 * rng.standard_normal(X.shape)

# %%
# Learn one feature
# -----------------
# The sign of a feature is arbitrary, so the correlation is an absolute
# value.

model = SlowSubspace(n_components=1).fit(X)
feature = model.transform(X)[:, 0]
component = StreamPCA(n_components=1).fit_transform(X)[:, 0]

correlation = abs(np.corrcoef(feature, slow)[0, 1])
correlation_of_pca = abs(np.corrcoef(component, slow)[0, 1])
print(f"correlation with the slow sine: {correlation:.3f}")
print(f"of the first principal component: {correlation_of_pca:.3f}")

# %%
# Draw the sensors and both features
# ----------------------------------

names = [
    "sensor 1",
    "sensor 2",
    "first principal component",
    "slow feature",
]
ax = plotting.runs(np.column_stack([X, component, feature]), names)
