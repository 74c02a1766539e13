"""Solvers that only estimate the eigenvalues report what is wrong with their answer."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

import oracles
from eigenstream import SlowSubspace, StreamPCA


def stream(n=3000, width=32, seed=0):
    """Five slow sources among fast ones."""
    rng = np.random.default_rng(seed)
    memory = np.r_[1.0 - np.geomspace(0.005, 0.1, 5), rng.uniform(-0.4, 0.4, width - 5)]
    rows = oracles.autoregressive(memory, n, rng)
    return rows @ np.linalg.qr(rng.standard_normal((width, width)))[0]


def warned(model, rows):
    """Return the warnings of a fit."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(rows)
    return " ".join(str(one.message) for one in caught)


@pytest.mark.parametrize("solver", ["dense", "krylov", "sketch", "flow"])
def test_every_solver_warns_of_eigenvalues_that_are_not_positive(solver):
    rows = stream()
    model = SlowSubspace(6, alpha=0.4, solver=solver)
    assert "eigenvalues are positive at alpha=0.4" in warned(model, rows)
    model = SlowSubspace(2, alpha=0.5, solver=solver)
    assert "positive" not in warned(model, rows)


def with_artefacts(places, n, seed):
    rows = stream(n, seed=seed)
    rows[places] += 1000.0 * np.random.default_rng(seed).standard_normal((len(places), 32))
    return rows


@pytest.mark.parametrize("places", [[0], [1500]], ids=str)
@pytest.mark.parametrize("learner", [StreamPCA(5), SlowSubspace(3, alpha=0.6)], ids=repr)
@pytest.mark.parametrize("seed", range(4))
def test_outliers_do_not_mislead_the_flow(learner, places, seed):
    rows = with_artefacts(places, 12_000, seed)
    dense = clone(learner).fit(rows)
    T = dense.operator_.matrix(dense.operator_.weights)
    flow = clone(learner).set_params(solver="flow").fit(rows)
    reached = np.trace(flow.components_ @ T @ flow.components_.T)
    assert reached > 0.9 * dense.eigenvalues_.sum()
    assert flow.eigenvalues_.sum() == pytest.approx(reached, rel=0.25)


@pytest.mark.parametrize("seed", range(3))
def test_a_flow_that_outliers_have_misled_says_so(seed):
    model = SlowSubspace(5, alpha=0.3, solver="flow")
    found = warned(model, with_artefacts([600, 1200, 1900, 2500], 3000, seed))
    assert "worse than none. Remove outliers" in found or "eigenvalues are positive" in found


@pytest.mark.parametrize("learner", [StreamPCA(3), SlowSubspace(3, alpha=0.6)], ids=repr)
@pytest.mark.parametrize("n", [50, 400, 6000])
def test_clean_rows_have_no_outliers(learner, n):
    for seed in range(5):
        model = clone(learner).set_params(solver="flow").fit(stream(n, seed=seed))
        assert len(model._learner.solver._learner.outliers[0]) == 0


@pytest.mark.parametrize("learner", [StreamPCA(2), SlowSubspace(2, alpha=0.4)])
def test_only_exact_solvers_have_an_objective(learner):
    rows = stream()
    for solver in ("dense", "krylov", "sketch", "flow"):
        model = learner.set_params(solver=solver).fit(rows)
        assert hasattr(model, "objective_") == (solver in {"dense", "krylov"})
    with pytest.raises(AttributeError, match="Use score on rows"):
        _ = model.objective_
