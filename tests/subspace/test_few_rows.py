"""Fewer rows than columns: solved in the span of the rows, equal to the D x D matrices."""

import numpy as np
import pytest
from sklearn.base import clone

from eigenstream import ContrastSubspace, SlowSubspace, StreamPCA
from eigenstream._linalg import principal_angles
from eigenstream.subspace.sums.learner import Learner

ROWS = np.random.default_rng(0).standard_normal((40, 90)).cumsum(axis=0) + 3.0
MODELS = [
    StreamPCA(3),
    StreamPCA(0.9),
    StreamPCA(3, center=False),
    SlowSubspace(3),
    SlowSubspace(3, alpha=0.7, lag=3),
    SlowSubspace(35, alpha=0.3),  # more components than positive eigenvalues
    SlowSubspace(3, criterion="ratio"),
    SlowSubspace(2, criterion="ratio", reversible=True, shrinkage=0.1),
    ContrastSubspace(3),
]


def fit(model, rows):
    how = {"background": rows[::2] * 0.5} if isinstance(model, ContrastSubspace) else {}
    return clone(model).fit(rows, **how)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_answers_equal_those_of_the_matrices(model, monkeypatch):
    thin = fit(model, ROWS)
    monkeypatch.setattr(Learner, "thin_operator", lambda learner, n: learner.operator())
    whole = fit(model, ROWS)
    np.testing.assert_allclose(thin.eigenvalues_, whole.eigenvalues_, rtol=1e-7, atol=1e-9)
    n = int((whole.eigenvalues_ > 1e-6).sum())
    angles = principal_angles(thin.components_[:n].T, whole.components_[:n].T)
    assert angles.max() < 1e-5
    np.testing.assert_allclose(
        np.abs(thin.transform(ROWS)[:, :1]), np.abs(whole.transform(ROWS)[:, :1]), atol=1e-6
    )


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("model", [StreamPCA(5), SlowSubspace(5), ContrastSubspace(5)], ids=repr)
def test_no_matrix_of_all_columns_is_made(model):
    """A matrix of 12,000 x 12,000 numbers would take 1.2 GB and minutes."""
    rows = np.random.default_rng(1).standard_normal((60, 12_000))
    fitted = fit(model, rows)
    assert fitted.solver_ == "dense"
    assert fitted.components_.shape == (5, 12_000)
