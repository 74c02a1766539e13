"""The statements hold on processes with known answers, with the ratio of bound to measurement."""

import numpy as np
import pytest

import simulated
from eigenstream.theory import markov_mixing, mean_bound, metric_rule_error, slow_bound


@pytest.mark.parametrize("name", ["independent", "moving_average", "switching"])
def test_theorem_2_holds_over_many_runs(name):
    process = getattr(simulated, name)()
    rows, d, delta, runs = 10_000, 2, 0.1, 200
    for alpha in (0.2, 0.8):
        gaps = simulated.slow_runs(process, rows, runs, d=d, alpha=alpha)
        for tight in (False, True):
            bound = slow_bound(rows, d, delta, process.mixing, tight=tight)
            assert not bound.vacuous
            failures = (gaps > bound.value).mean()
            ratio = bound.value / gaps.max()
            message = f"{name}: {failures:.0%} above the bound; bound/measured = {ratio:.1f}"
            assert failures <= delta, message
            # Far from sharp, as distribution-free bounds are: the ratio is known to be large.
            assert ratio > 10, message


def test_corollary_1_holds_for_means():
    m, runs, delta = 2000, 400, 0.1
    for process in (simulated.independent(), simulated.switching()):
        rng = np.random.default_rng(1)
        norms = np.array([np.linalg.norm(process.sample(m, rng).mean(axis=0)) for _ in range(runs)])
        bound = mean_bound(m, 0.5, delta, process.mixing)
        assert (norms > bound.value).mean() <= delta, f"bound/measured {bound.value / norms.max()}"


def test_pair_bound_holds_over_many_samples():
    delta = 0.1
    risks, bounds = simulated.pair_runs(8000, 100, delta=delta)
    values = np.array([bound.value for bound in bounds])
    ratio = np.median(values / risks)
    message = f"bound/risk = {ratio:.1f}, risks up to {risks.max():.3f}"
    assert not any(bound.vacuous for bound in bounds), message
    assert risks.min() > 0.01, message
    assert (risks > values).mean() <= delta, message
    assert ratio > 1, message


def metric_rule(scale, stay, rng):
    """A chain in three classes of four states, continuous with respect to the process."""
    classes = np.repeat(np.arange(3), 4)
    pi = rng.dirichlet(np.full(12, 20.0))
    same = classes[:, None] == classes[None, :]
    # Stay inside the class with probability ``stay``, else draw afresh.
    inside = same * pi / (same * pi).sum(axis=1, keepdims=True)
    transition = stay * inside + (1 - stay) * pi
    centers = rng.normal(size=(3, 5)) @ np.diag([1, 1, 0.1, 0.1, 0.1])
    features = centers[classes] + scale * rng.normal(size=(12, 5))
    features -= pi @ features
    features *= 0.5 / np.linalg.norm(features, axis=1).max()
    return pi, transition, classes, features


@pytest.mark.parametrize("stay", [0.9, 0.99, 0.999])
def test_theorem_5_bounds_the_exact_error(stay):
    rng = np.random.default_rng(5)
    told = 0
    for scale in (0.01, 0.1, 0.5):
        for _ in range(10):
            pi, transition, classes, features = metric_rule(scale, stay, rng)
            same = classes[:, None] == classes[None, :]
            pair, step = np.outer(pi, pi), pi[:, None] * transition
            assert (pair[same] <= step[same] * (1 + 1e-12)).all()  # Definition 2
            np.testing.assert_allclose(markov_mixing(transition).stationary, pi, atol=1e-12)
            projected = features[:, :2]
            distance = ((projected[:, None] - projected[None]) ** 2).sum(axis=2)
            variance = pi @ (projected**2).sum(axis=1)
            velocity = (step * distance).sum()
            for alpha in (0.01, 0.05, 0.2, 0.5):
                error = pair[(distance < alpha) != same].sum()
                objective = alpha * variance - (1 - alpha) * velocity
                bound = metric_rule_error(objective, alpha, pair[same].sum())
                assert error <= bound + 1e-12
                told += bound < 1
    assert told > 20, "the bound says something on some of these"
