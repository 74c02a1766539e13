"""A fitted subspace as plain scikit-learn: what projects the same, and learns no more."""

from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

__all__ = ["as_sklearn"]


def as_sklearn(estimator: Any, variances: Any, preprocessing: bool) -> Any:
    """Return a PCA, or a pipeline that ends in one, which projects as the estimator does.

    ``variances`` are those of the features, NaN where they are not known.
    """
    parts: list[tuple[str, Any]] = []
    steps = getattr(estimator, "preprocessing_", None) if preprocessing else None
    if steps is not None:
        parts += steps.to_sklearn(estimator.n_features_in_)
    if estimator._map is not None:
        parts.append(("features", estimator._map.transformer))
    mean, scale = estimator.mean_, estimator.scale_
    width = len(mean)
    if scale is not None:
        parts.append(("scale", _scaler(mean, scale, estimator.n_samples_seen_)))
        mean = np.zeros(width)
    pca = _pca(estimator, mean, np.asarray(variances, np.float64))
    if not parts and hasattr(estimator, "feature_names_in_"):
        pca.feature_names_in_ = estimator.feature_names_in_.copy()
    return pca if not parts else Pipeline([*parts, ("subspace", pca)])


def _scaler(mean: Any, scale: Any, n_rows: int) -> StandardScaler:
    made = StandardScaler()
    made.mean_, made.scale_, made.var_ = mean.copy(), scale.copy(), scale**2
    made.n_samples_seen_, made.n_features_in_ = n_rows, len(mean)
    return made


def _pca(estimator: Any, mean: Any, variances: Any) -> PCA:
    components = estimator._solved().pairs.vectors.T.copy()
    n_rows = int(estimator.n_samples_seen_)
    made = PCA(n_components=len(components))
    made.components_, made.mean_ = components, np.array(mean)
    made.n_components_, made.n_features_in_ = components.shape
    made.n_samples_ = n_rows
    made.explained_variance_ = variances
    made.singular_values_ = np.sqrt(np.maximum(variances, 0.0) * max(n_rows - 1, 0))
    for name in ("explained_variance_ratio_", "noise_variance_"):
        known = getattr(estimator, name, np.nan * (variances if name.endswith("ratio_") else 1))
        setattr(made, name, known)
    return made
