"""Subspace estimators as a plain PCA of scikit-learn."""

from copy import copy

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from eigenstream.core.checks import check_flag
from eigenstream.core.linalg import Float64s
from eigenstream.core.types import Transformer
from eigenstream.subspace.estimators.base import SubspaceEstimator
from eigenstream.subspace.estimators.results import Answered, PairResult, answered
from eigenstream.subspace.estimators.stream_pca import StreamPCA
from eigenstream.subspace.estimators.time import TimeEstimator
from eigenstream.subspace.solvers.base import MATRIX


def to_sklearn(estimator: SubspaceEstimator, preprocessing: bool = True) -> Transformer:
    """Return a scikit-learn PCA with the same projection as ``transform``, to rounding.

    With ``scale=True``, a feature map or preprocessing steps, it is a pipeline that ends in the
    PCA. For cosine distances, rows of unit length follow. Unknown variances are NaN. The
    ``inverse_transform`` of the PCA is correct only for orthonormal components, such as those of
    ``SlowSubspace(basis="eigenvalue")``.

    Parameters
    ----------
    estimator : StreamPCA, SlowSubspace, ClassSubspace or PairSubspace
        A fitted estimator.
    preprocessing : bool, default=True
        Begin the pipeline with the preprocessing steps of the stream. Steps that use earlier
        rows raise ValueError. If False, the result takes rows that are prepared already.

    Returns
    -------
    PCA or Pipeline
        The fitted transformer.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream import SlowSubspace
    >>> from eigenstream.subspace import to_sklearn
    >>> rows = np.random.default_rng(0).standard_normal((500, 3)).cumsum(axis=0)
    >>> slow = SlowSubspace(2).fit(rows)
    >>> bool(
    ...     np.allclose(to_sklearn(slow).transform(rows), slow.transform(rows))
    ... )
    True
    """
    check_flag(preprocessing, "preprocessing")
    answer = answered(estimator)
    parts: list[tuple[str, Transformer]] = []
    steps = vars(estimator).get("preprocessing_") if preprocessing else None
    if steps is not None:
        parts += steps.to_sklearn(estimator.n_features_in_)
    if answer.features is not None:
        parts.append(("features", answer.features))
    result = answer.result
    mean, scale = result.mean, result.scale
    width = len(mean)
    if scale is not None:
        parts.append(("scale", _scaler(mean, scale, estimator.n_samples_seen_)))
        mean = np.zeros(width)
    parts.append(("subspace", _pca(estimator, answer, mean)))
    if isinstance(result, PairResult) and result.normalize:
        parts.append(("unit rows", Normalizer()))
    names = vars(estimator).get("feature_names_in_")
    if steps is not None:
        names = estimator.provenance_.get("columns")
    if names is not None:
        name, first = parts[0]
        first = copy(first)  # a feature map belongs to the estimator
        first.feature_names_in_ = np.array(names, dtype=object)
        parts[0] = (name, first)
    return parts[0][1] if len(parts) == 1 else Pipeline(parts)


def _scaler(mean: Float64s, scale: Float64s, n_rows: int) -> StandardScaler:
    scaler = StandardScaler()
    scaler.mean_, scaler.scale_, scaler.var_ = mean.copy(), scale.copy(), scale**2
    scaler.n_samples_seen_, scaler.n_features_in_ = n_rows, len(mean)
    return scaler


def _variances(estimator: SubspaceEstimator, answer: Answered) -> Float64s:
    """Return the variance along each component, with n - 1; NaN where it is not known."""
    if isinstance(estimator, StreamPCA):
        return estimator.explained_variance_
    centred = isinstance(estimator, TimeEstimator) and estimator.center
    if not centred or MATRIX not in answer.solver.abilities:
        return np.full(len(answer.result.pairs.values), np.nan)
    moments: Float64s = answer.learner.thin_operator().moments(answer.result.columns)[0]
    n = answer.learner.terms.n_terms
    return moments * (n / (n - 1)) if n > 1 else moments


def _pca(estimator: SubspaceEstimator, answer: Answered, mean: Float64s) -> Transformer:
    from sklearn.decomposition import PCA  # takes 0.2 s to import

    components = answer.result.vectors.T.copy()
    variances = np.asarray(_variances(estimator, answer), np.float64)
    n_rows = int(estimator.n_samples_seen_)
    pca = PCA(n_components=len(components), whiten=getattr(estimator, "whiten", False))
    pca.components_, pca.mean_ = components, np.array(mean)
    pca.n_components_, pca.n_features_in_ = components.shape
    pca.n_samples_ = n_rows
    pca.explained_variance_ = variances
    pca.singular_values_ = np.sqrt(np.maximum(variances, 0.0) * max(n_rows - 1, 0))
    for name in ("explained_variance_ratio_", "noise_variance_"):
        value = getattr(estimator, name, np.nan * (variances if name.endswith("ratio_") else 1))
        setattr(pca, name, value)
    return pca
