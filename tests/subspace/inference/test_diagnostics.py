"""Solvers that only estimate the eigenvalues report what is wrong with their answer."""

import numpy as np
import pytest

import oracles
from eigenstream import SlowSubspace, StreamPCA
from watched import messages


def stream(n=3000, width=32, seed=0):
    """Five slow sources among fast ones."""
    rng = np.random.default_rng(seed)
    memory = np.r_[1.0 - np.geomspace(0.005, 0.1, 5), rng.uniform(-0.4, 0.4, width - 5)]
    rows = oracles.autoregressive(memory, n, rng)
    return rows @ np.linalg.qr(rng.standard_normal((width, width)))[0]


def warned(model, rows):
    """Return the warnings of a fit."""
    return " ".join(messages(lambda: model.fit(rows)))


@pytest.mark.parametrize("solver", ["dense", "krylov", "sketch", "flow"])
def test_every_solver_warns_of_eigenvalues_that_are_not_positive(solver):
    rows = stream()
    model = SlowSubspace(6, alpha=0.4, solver=solver)
    assert "eigenvalues are positive at alpha=0.4" in warned(model, rows)
    model = SlowSubspace(2, alpha=0.5, solver=solver)
    assert "positive" not in warned(model, rows)


@pytest.mark.parametrize("seed", range(3))
def test_a_flow_that_outliers_have_misled_says_so(seed):
    rows = stream(seed=seed)
    rng = np.random.default_rng(seed)
    rows[[600, 1200, 1900, 2500]] += 1000.0 * rng.standard_normal((4, 32))
    model = SlowSubspace(5, alpha=0.6, solver="flow")
    assert "worse than none. Remove outliers, use solver='dense'" in warned(model, rows)


@pytest.mark.parametrize("learner", [StreamPCA(3), SlowSubspace(3, alpha=0.6)])
@pytest.mark.parametrize("place", [0, 1, 40, 1500])
def test_a_flow_warns_of_one_outlier(learner, place):
    rows = stream(seed=place)
    assert "result may follow this row" not in warned(learner.set_params(solver="flow"), rows)
    rows[place] += 1000.0
    assert "result may follow this row" in warned(learner, rows)


@pytest.mark.parametrize("learner", [StreamPCA(2), SlowSubspace(2, alpha=0.4)])
def test_only_exact_solvers_have_an_objective(learner):
    rows = stream()
    for solver in ("dense", "krylov", "sketch", "flow"):
        model = learner.set_params(solver=solver).fit(rows)
        assert hasattr(model.result_, "objective") == (solver in {"dense", "krylov"})
    with pytest.raises(AttributeError, match="Use score on rows"):
        _ = model.result_.objective
