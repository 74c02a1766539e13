"""SlowSubspace: the objective, the choice of alpha, and what it is for."""

import numpy as np
import pytest

import oracles
from eigenstream import SlowSubspace
from eigenstream.subspace import n_positive, objective

ROWS = oracles.slow_sources(m=500)


def objective_of(rows, components, mean, alpha, lag):
    """L^(P) of [SLOW], term by term."""
    total = 0.0
    for t in range(lag, len(rows)):
        now, before = components @ (rows[t] - mean), components @ (rows[t - lag] - mean)
        total += alpha * now @ now - (1 - alpha) * (now - before) @ (now - before)
    return total / (len(rows) - lag)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("lag", [1, 3])
def test_objective(lag, center):
    model = SlowSubspace(3, alpha=0.9, lag=lag, center=center, basis="eigenvalue").fit(ROWS[:300])
    for rows in (ROWS[:300], ROWS[300:]):
        expected = objective_of(rows, model.components_, model.mean_, 0.9, lag)
        assert objective(model, rows) == pytest.approx(expected, rel=1e-10)
    assert objective(model, ROWS[:300]) == pytest.approx(model.result_.objective, rel=1e-10)


def test_path_needs_no_data():
    model = SlowSubspace(3).fit(ROWS)
    alphas = [0.3, 0.7, 1.0]
    path = model.path(alphas)
    for i, alpha in enumerate(alphas):
        direct = SlowSubspace(3, alpha=alpha, basis="eigenvalue")
        if alpha == 0.3:
            with pytest.warns(UserWarning, match="positive"):
                direct.fit(ROWS)
        else:
            direct.fit(ROWS)
        np.testing.assert_allclose(path.components[i], direct.components_, atol=1e-10)
        np.testing.assert_allclose(path.eigenvalues[i], direct.eigenvalues_, atol=1e-12)
        assert path.objective[i] == pytest.approx(direct.result_.objective)
        assert path.n_positive[i] == n_positive(direct)
    assert (np.diff(path.n_positive) >= 0).all()


def test_bound_warns_when_vacuous_and_reports_its_value():
    with pytest.warns(UserWarning, match="vacuous"):
        model = SlowSubspace(2, alpha="bound").fit(ROWS)
    assert model.result_.bound >= 1.0
    # Two states that hardly ever change, at the largest norm allowed: a bound that says something.
    rng = np.random.default_rng(0)
    states = np.where(rng.random(20000) < 0.002, -1.0, 1.0).cumprod()
    rows = np.column_stack([states, 0.01 * rng.standard_normal(20000)])
    rows -= rows.mean(axis=0)
    tight = SlowSubspace(1, alpha="bound").fit(rows)
    assert tight.result_.bound < 0.9
    assert SlowSubspace(1).fit(rows).result_.bound is None
    # Its value is the formula's, and no other alpha does better.
    radius = np.linalg.norm(rows, axis=1).max() + np.linalg.norm(rows[1:].mean(axis=0))

    def formula(alpha):
        model = SlowSubspace(1, alpha=alpha).fit(rows / (2 * radius))
        return (1 - 2 / alpha * model.result_.objective) / (1 - alpha)

    assert tight.result_.bound == pytest.approx(formula(tight.alpha_), rel=1e-6)
    assert tight.result_.bound <= min(formula(alpha) for alpha in (0.05, 0.2, 0.5, 0.9)) + 1e-6


def test_few_positive_eigenvalues_are_reported():
    with pytest.warns(UserWarning, match=r"only 0 of the 3 .* Raise alpha"):
        SlowSubspace(3, alpha=0.01).fit(np.random.default_rng(0).standard_normal((200, 5)))


def few_directions(scale=1.0, middle=0.0):
    """A slow sine and noise in five of twenty directions."""
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((20, 5)))[0]
    sources = rng.standard_normal((2000, 5))
    sources[:, 0] = 1e-2 * np.sin(np.arange(2000) / 400)
    return middle + scale * sources @ basis.T


@pytest.mark.parametrize("alpha", [0.001, 0.3, 0.5])
def test_none_takes_no_rounding_of_the_negative_part_for_a_component(alpha):
    # The positive eigenvalue is 1e-5 of the largest negative one, whose rounding is all around 0.
    model = SlowSubspace(None, alpha=alpha).fit(few_directions())
    assert model.n_components_ == n_positive(model) == 1
    assert model.path([alpha]).n_positive.tolist() == [1]


@pytest.mark.parametrize("rank", [3, 0.9])
@pytest.mark.parametrize("n", [40, 2000])
def test_rank_leaves_the_leading_directions_of_differences(n, rank):
    rows = np.random.default_rng(0).standard_normal((n, 50)) * 0.5 ** np.arange(50.0)
    rows = rows.cumsum(axis=0)[:, ::-1]
    slow = SlowSubspace(2, alpha=0.4, rank=rank).fit(rows)
    now = rows[1:] - rows[1:].mean(axis=0)
    variances, directions = np.linalg.svd(now, full_matrices=False)[1:]
    shares = (variances**2).cumsum() / (variances**2).sum()
    kept = directions[: rank if rank > 1 else int((shares <= rank).sum()) + 1].T
    inside = SlowSubspace(2, alpha=0.4).fit(rows @ kept)
    np.testing.assert_allclose(
        slow.eigenvalues_, inside.eigenvalues_[: len(slow.eigenvalues_)], rtol=1e-8
    )
    np.testing.assert_allclose(
        slow.timescales_, inside.timescales_[: len(slow.timescales_)], rtol=1e-6
    )
