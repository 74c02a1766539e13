"""Golden cases of rows in time: StreamPCA and SlowSubspace."""

from functools import partial

import numpy as np
import scipy.sparse as sp
from sklearn.frozen import FrozenEstimator

import oracles
from eigenstream import Flow, RBFNetwork, Sketch, SlowSubspace, StreamPCA, lag_path
from eigenstream.schedules import Constant, Power
from eigenstream.subspace import (
    autocorrelations,
    implied_timescales,
    matrices,
    n_positive,
    objective,
    pair_rule,
    subspace_bound,
)
from eigenstream.theory import FiniteMemory, Geometric, Independent
from golden.table import add, fields, quality, share, subspace


def Slow(n_components=2, **parameters):
    """The stored components are eigenvectors."""
    return SlowSubspace(n_components, basis="eigenvalue", **parameters)


Slow.__name__ = "SlowSubspace"

X = oracles.slow_sources(m=400)
WEIGHTS = np.random.default_rng(1).uniform(0, 2, 400)
HOLES = X.copy()
HOLES[[50, 51, 200], [1, 4, 7]] = np.nan
WIDE = oracles.slow_sources(m=3000, n_features=40, seed=3)
MAP = FrozenEstimator(RBFNetwork(12, gamma=0.02, random_state=0).fit(X))
PARTS = [X[:100], X[100:103], X[103:]]
DEGENERATE = {
    "constant": np.ones((30, 5)),
    "rank one": np.outer(np.arange(30.0), np.arange(1.0, 6.0)),
    "repeated": np.repeat(oracles.slow_sources(m=6, n_features=5), 5, axis=0),
    "tiny": 1e-100 * oracles.slow_sources(m=30, n_features=5),
    "huge": 1e100 * oracles.slow_sources(m=30, n_features=5),
    "few rows": oracles.slow_sources(m=4, n_features=5),
}


def chunked(model, parts=PARTS, **how):
    for part in parts:
        model.partial_fit(part, **how)
    return model


def scatter_of(X, alpha=1.0, lag=1):
    """Return T of a slow subspace; alpha=1 is the covariance."""
    A = oracles.variance(X, lag=lag)
    return alpha * A - (1 - alpha) * oracles.velocity(X, lag=lag) if alpha < 1 else A


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
for name, rows in DEGENERATE.items():
    for kind in (StreamPCA, Slow):
        add(
            f"degenerate/{kind.__name__}, {name}",
            lambda kind=kind, rows=rows: (
                matrices(model := kind(2).fit(rows)).rank(),
                model.eigenvalues_,
                model.mean_,
            ),
            1e-7,
        )
add("pca/weights", lambda: subspace(StreamPCA(3).fit(X, sample_weight=WEIGHTS)), 1e-9)
add("pca/chunks", lambda: subspace(chunked(StreamPCA(3))), 1e-9)
add("pca/merged", lambda: subspace(StreamPCA(3).fit(X[:90]).merge(StreamPCA(3).fit(X[90:]))), 1e-9)
PCA = StreamPCA(3).fit(X)
add("pca/variances", lambda: (PCA.explained_variance_, PCA.explained_variance_ratio_))
add("pca/likelihood", lambda: (PCA.noise_variance_, PCA.score(X), PCA.score_samples(X[:9])))
add("pca/transformed", lambda: (np.abs(PCA.transform(X[:9])), PCA.mean_, PCA.n_samples_seen_))
add("pca/back", lambda: PCA.inverse_transform(PCA.transform(X[:9])))
ADVICE = "learning_rate", "critical_rate", "examples"
add("pca/advice", lambda: fields(PCA.advise(0.05), *ADVICE), 1e-3)
for d in (2, 5):
    T = scatter_of(WIDE)
    quality(
        f"pca/sketch {d}",
        lambda d=d, T=T: share(StreamPCA(d, solver="sketch").fit(WIDE), T),
        0.01,
    )
    quality(
        f"pca/flow {d}",
        lambda d=d, T=T: share(StreamPCA(d, solver="flow").fit(WIDE), T),
        0.05,
    )
quality(
    "pca/sketch, merged",
    lambda: share(
        StreamPCA(3, solver="sketch")
        .fit(WIDE[:1500])
        .merge(StreamPCA(3, solver="sketch").fit(WIDE[1500:])),
        scatter_of(WIDE),
    ),
    0.01,
)
for name, rate in (("constant", Constant(0.002)), ("power", Power(0.5, 50.0))):
    add(
        f"pca/flow at a {name} rate",
        lambda rate=rate: (
            (V := StreamPCA(2, solver=Flow(rate, init=np.eye(2, 8))).fit(X).components_).T @ V
        ),
    )

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
add("slow/weights", lambda: subspace(Slow(3).fit(X, sample_weight=WEIGHTS)))
for lag in (1, 3, 10):
    add(
        f"slow/chunks, lag {lag}",
        lambda lag=lag: subspace(chunked(Slow(2, alpha=0.8, lag=lag))),
    )
    for new in (False, True):
        add(
            f"slow/merged, lag {lag}, new sequence {new}",
            lambda lag=lag, new=new: subspace(
                Slow(2, lag=lag).fit(X[:90]).merge(Slow(2, lag=lag).fit(X[90:]), new_sequence=new)
            ),
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
for name, mixing in (("independent", Independent()), ("geometric", Geometric(1, 0.5))):
    bound = partial(subspace_bound, NUMBER, 0.05, mixing, radius=20.0)
    add(f"slow/bound, {name}", lambda f=bound: fields(f(), "gap", "lower", "vacuous"))
add(
    "slow/bound, tight",
    lambda: subspace_bound(NUMBER, 0.05, FiniteMemory(2), radius=20.0, tight=True).gap,
)
RULE = partial(pair_rule, NUMBER, 0.5, 0.05, Independent(), radius=20.0)
add("slow/rule for pairs", lambda: fields(RULE(), "distance", "error"))
for d, alpha in ((2, 0.8), (5, 0.9)):
    T = scatter_of(WIDE, alpha)
    for solver, allowance in (("sketch", 0.02), ("flow", 0.05)):
        quality(
            f"slow/{solver} {d}",
            lambda d=d, alpha=alpha, T=T, solver=solver: share(
                Slow(d, alpha=alpha, solver=solver).fit(WIDE), T
            ),
            allowance,
        )
quality(
    "slow/sketch, two passes",
    lambda: share(
        Slow(5, alpha=0.9, solver=Sketch(passes=2)).fit(WIDE),
        scatter_of(WIDE, 0.9),
    ),
    0.005,
)
