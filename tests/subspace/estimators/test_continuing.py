"""Going on with a stream: what may change on the way, and what may not."""

import numpy as np
import pytest
from sklearn.base import clone

from eigenstream import (
    ClassSubspace,
    Flow,
    OjaNeuron,
    PairSubspace,
    RBFNetwork,
    SlowSubspace,
    StreamPCA,
)
from eigenstream.schedules import Power

ROWS = np.random.default_rng(0).standard_normal((60, 5))
LABELS = np.arange(60) % 3
PAIRS, SIGNS = np.stack([ROWS[:30], ROWS[30:]], axis=1), np.tile([1, -1], 15)

FLOW = {"solver": "flow"}
RATE = {"learning_rate": Power(1, 10)}
CHANGES = [
    (SlowSubspace(2, alpha=0.9), {"lag": 3}),
    (StreamPCA(2), {"missing": "available"}),
    (StreamPCA(2), {"center": "sequences"}),
    (StreamPCA(2), {"features": RBFNetwork(4, gamma=0.1)}),
    (StreamPCA(2, **FLOW), {"n_components": 3}),
    (StreamPCA(2, **FLOW), {"solver": Flow(Power(1, 10))}),
    (SlowSubspace(2, alpha=0.9, **FLOW), {"alpha": 0.8}),
    (SlowSubspace(2, alpha=0.9), FLOW),
    (SlowSubspace(2, alpha=0.9, **FLOW), {"solver": "dense"}),
    (ClassSubspace(2, criterion="difference", eta=3.0), {"solver": "sketch"}),
    (ClassSubspace(2, criterion="difference", eta=3.0, solver="sketch"), {"eta": 4.0}),
    (PairSubspace(2, criterion="difference", eta=3.0, solver="sketch"), {"eta": 4.0}),
    (OjaNeuron(), RATE),
]


def data_of(estimator):
    if isinstance(estimator, PairSubspace):
        return PAIRS, SIGNS
    return (ROWS, LABELS) if isinstance(estimator, ClassSubspace) else (ROWS,)


@pytest.mark.parametrize("begin", ["fit", "partial_fit"])
@pytest.mark.parametrize(("estimator", "change"), CHANGES)
def test_a_change_that_comes_too_late_is_refused(estimator, change, begin):
    estimator, data = clone(estimator), data_of(estimator)
    getattr(estimator, begin)(*data)
    before = estimator.components_.copy()
    old = {name: getattr(estimator, name) for name in change}
    estimator.set_params(**change)
    with pytest.raises(ValueError, match=r"[Cc]all fit to start (again|anew)"):
        estimator.partial_fit(*data)
    np.testing.assert_array_equal(estimator.components_, before)
    estimator.set_params(**old).partial_fit(*data)
    estimator.set_params(**change).fit(*data)


def test_names_of_another_kind_are_refused():
    """1 and "1" are two classes: mixed up by a reader of files, they would never meet."""
    first = ClassSubspace(2, criterion="difference", eta=3.0).partial_fit(ROWS, LABELS)
    tasks = clone(first).partial_fit(ROWS, LABELS, groups=LABELS % 2)
    before = first.components_.copy()
    for model, labels, groups in (
        (first, LABELS.astype(str), None),
        (first, LABELS, LABELS % 2),
        (tasks, LABELS, (LABELS % 2).astype(str)),
    ):
        with pytest.raises(ValueError, match=r"but earlier rows had \['numbers'.*Use one kind"):
            model.partial_fit(ROWS, labels, groups=groups)
    np.testing.assert_array_equal(first.components_, before)
    first.partial_fit(ROWS, LABELS.astype(float)).fit(ROWS, LABELS.astype(str))
