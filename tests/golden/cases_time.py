"""Golden cases of rows in time: StreamPCA and SlowSubspace."""

import numpy as np
import scipy.sparse as sp
from sklearn.frozen import FrozenEstimator

import oracles
from eigenstream import RBFNetwork, SlowSubspace, StreamPCA, lag_path
from eigenstream.subspace import (
    autocorrelations,
    implied_timescales,
    n_positive,
    objective,
)
from golden.table import add, fields, subspace


def Slow(n_components=2, **parameters):
    """The stored components are eigenvectors."""
    return SlowSubspace(n_components, basis="eigenvalue", **parameters)


Slow.__name__ = "SlowSubspace"

X = oracles.slow_sources(m=400)
HOLES = X.copy()
HOLES[[50, 51, 200], [1, 4, 7]] = np.nan
MAP = FrozenEstimator(RBFNetwork(12, gamma=0.02, random_state=0).fit(X))
PARTS = [X[:100], X[100:103], X[103:]]
# ---- principal components ------------------------------------------------------------------------

for name, parameters, rows in [
    ("1", {"n_components": 1}, X),
    ("3", {"n_components": 3}, X),
    ("all", {"n_components": None}, X),
    ("share of the variance", {"n_components": 0.9}, X),
    ("not centred", {"center": False}, X),
    ("scaled", {"scale": True}, X),
    ("missing", {"missing": "skip"}, HOLES),
    ("behind a map", {"features": MAP}, X),
    ("single precision", {}, X.astype("f4")),
    ("sparse", {"center": False}, sp.csr_matrix(np.where(abs(X) > 1, X, 0))),
    ("sequences", {}, PARTS),
    ("krylov", {"solver": "krylov"}, X),
]:
    add(
        f"pca/{name}",
        lambda p=parameters, rows=rows: subspace(StreamPCA(**p).fit(rows)),
        1e-5 if name == "single precision" else 1e-7 if name == "krylov" else 1e-9,
    )
PCA = StreamPCA(3).fit(X)
add("pca/transformed", lambda: (np.abs(PCA.transform(X[:9])), PCA.mean_, PCA.n_samples_seen_))
ADVICE = "learning_rate", "critical_rate", "examples"
add("pca/advice", lambda: fields(PCA.advise(0.05), *ADVICE), 1e-3)
# ---- slow subspaces ------------------------------------------------------------------------------

for name, parameters, rows in [
    ("automatic alpha", {}, X),
    ("automatic alpha, 5", {"n_components": 5}, X),
    ("alpha 1", {"alpha": 1.0}, X),
    ("alpha .5", {"alpha": 0.5}, X),
    ("lag 3", {"alpha": 0.9, "lag": 3}, X),
    ("lag 10", {"lag": 10}, X),
    ("not centred", {"center": False}, X),
    ("scaled", {"scale": True}, X),
    ("ratio", {"criterion": "ratio"}, X),
    ("ratio, lag 5", {"criterion": "ratio", "lag": 5}, X),
    ("ratio, not shrunk", {"criterion": "ratio", "shrinkage": 0.0}, X),
    ("all that gain", {"n_components": None, "alpha": 0.7}, X),
    ("missing", {"missing": "skip"}, HOLES),
    ("missing, lag 2", {"missing": "skip", "lag": 2, "alpha": 0.9}, HOLES),
    ("behind a map", {"features": MAP}, X),
    ("behind a map, ratio", {"features": MAP, "criterion": "ratio"}, X),
    ("single precision", {"alpha": 0.8}, X.astype("f4")),
    ("sequences", {"lag": 2}, PARTS),
    ("krylov", {"alpha": 0.9, "solver": "krylov"}, X),
]:
    add(
        f"slow/{name}",
        lambda p=parameters, rows=rows: (
            *subspace(model := Slow(**p).fit(rows)),
            model.alpha_,
            model.mean_,
        ),
        {"single precision": 1e-5, "krylov": 1e-7}.get(name, 1e-8),
    )
SLOW = Slow(3).fit(X)
NUMBER = Slow(2, alpha=0.9).fit(X)
add("slow/transformed", lambda: (np.abs(SLOW.transform(X[:9])), n_positive(SLOW)))
add("slow/score", lambda: (objective(SLOW, X), objective(NUMBER, X[:100])))
add(
    "slow/autocorrelations",
    lambda: (SLOW.result_.autocorrelations, autocorrelations(SLOW, X, lag=2)),
)
add("slow/timescales", lambda: (SLOW.timescales_, implied_timescales(SLOW, X, lag=2)))
PATH = "eigenvalues", "objective", "n_positive", "auto"
add("slow/path", lambda: fields(SLOW.path([0.3, 0.6, 0.9]), *PATH))
LAGS = "autocorrelations", "eigenvalues", "alphas"
add("slow/lags", lambda: fields(lag_path(Slow(2), X, lags=[1, 2, 5]), *LAGS))
