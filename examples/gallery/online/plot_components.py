"""
Principal components of wines
=============================

:class:`~eigenstream.StreamPCA` finds the directions of largest variance.
With ``blocks=20``, each weight has a 95 % interval.
"""

from sklearn.datasets import load_wine

from eigenstream import StreamPCA, plotting

# %%
# Learn from columns in units of their deviation
# ----------------------------------------------
# The rows of the file are sorted by cultivar, so they are shuffled first.

wine = load_wine(as_frame=True)
X = wine.data.sample(frac=1, random_state=0)
y = wine.target_names[wine.target[X.index]]
model = StreamPCA(n_components=2, scale=True).fit(X, blocks=20)
print(f"share of the variance: {model.explained_variance_ratio_.sum():.2f}")

# %%
# Draw the eigenvalues and the rows
# ---------------------------------

left, right = plotting.panels([2], [3.4])
ax = plotting.spectrum(model, ax=left)
features = model.transform(X)
ax = plotting.embedding(features, y, ax=right)

# %%
# Draw the columns of each component
# ----------------------------------

ax = plotting.loadings(model)
