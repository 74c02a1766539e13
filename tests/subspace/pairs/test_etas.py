"""The choice of eta: what it does not depend on, and how well it serves classes never seen."""

import numpy as np
import pytest

from eigenstream import ClassSubspace

# Fewer positive eigenvalues than components is no news here.
pytestmark = pytest.mark.filterwarnings("ignore:n_components")


def synthetic(seed):
    """Forty classes that six directions of thirty tell apart, and noise that grows along them."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(40), 12)
    rows = rng.standard_normal((480, 30)) * np.linspace(0.3, 2.0, 30)
    rows[:, :6] += rng.standard_normal((40, 6))[labels]
    return rows, labels


@pytest.mark.parametrize("seed", range(3))
def test_the_choice_serves_classes_never_seen(seed):
    rows, labels = synthetic(seed)
    old, fresh = labels < 12, labels >= 12
    found = ClassSubspace(6, criterion="difference").fit(rows[old], labels[old])
    scores = [
        found.solved_with(eta=eta).score(rows[fresh], labels[fresh])
        for eta in found.result_.choice.etas
    ]
    assert found.score(rows[fresh], labels[fresh]) > max(scores) - 0.02
