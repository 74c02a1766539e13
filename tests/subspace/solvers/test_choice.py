"""Requests that the solver has no ability for raise, as the table of abilities states."""

import itertools
import re

import numpy as np
import pytest

from eigenstream import ClassSubspace, ContrastSubspace, DynamicSubspace, SlowSubspace, StreamPCA
from eigenstream.subspace.solvers.base import ADD, MATRIX, MERGE, Need
from eigenstream.subspace.solvers.choice import SOLVERS, chosen_solver

#: The solvers that answer for any weights from the same sums.
FULL = {"dense", "kernel"}

NUMBERS = (2, None, 0.5)
MODELS = [
    (SlowSubspace(n, alpha=alpha, criterion=criterion, scale=scale), full)
    for n, (alpha, criterion), scale in itertools.product(
        NUMBERS[:2],
        [(0.5, "difference"), ("auto", "difference"), ("bound", "difference"), ("auto", "ratio")],
        (False, True),
    )
    for full in [n is None or alpha != 0.5 or scale]
]
MODELS += [(StreamPCA(n, scale=scale), n != 2 or scale) for n in NUMBERS for scale in (False, True)]
MODELS += [(ContrastSubspace(n, scale=s), n is None or s) for n in (2, None) for s in (False, True)]
MODELS += [
    (ClassSubspace(2, criterion="difference", eta=eta), eta != 1.0)
    for eta in (1.0, "auto", [1.0, 2.0])
]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("model", "full"), MODELS, ids=repr)
def test_parameters_that_need_matrices(model, full, solver):
    model.solver = solver
    # The flow has its own alpha, and passes over the rows find one.
    own = solver in ("flow", "krylov") and model.n_components == 2 and not model.scale
    own = own and getattr(model, "alpha", None) == "auto" and model.criterion == "difference"
    if full and solver not in FULL and not own:
        with pytest.raises(ValueError, match=f"is not supported by solver='{solver}'. Use solver="):
            chosen_solver(model, 5, 100)
    else:
        assert chosen_solver(model, 5, 100).name == solver


@pytest.mark.parametrize("solver", sorted(set(SOLVERS) - {"dense"}))
@pytest.mark.parametrize(
    "model",
    [
        SlowSubspace(2, alpha=0.5, missing="available"),
        SlowSubspace(2, alpha=0.5, center="sequences"),
        SlowSubspace(2, criterion="ratio", reversible="koopman"),
        DynamicSubspace(2),
    ],
    ids=repr,
)
def test_sums_of_pairs_need_the_dense_solver(model, solver):
    model.solver = solver
    words = rf"is not supported by solver='{solver}'. Use solver=Dense\(\)"
    with pytest.raises(ValueError, match=words):
        model.fit(np.random.default_rng(0).standard_normal((100, 3)))


@pytest.mark.parametrize(
    ("method", "able"),
    [(ADD, {"dense", "sketch", "flow"}), (MERGE, {"dense", "sketch"}), (MATRIX, FULL)],
)
def test_calls_need_methods(method, able):
    for name in SOLVERS:
        model = StreamPCA(2, solver=name)
        if name in able:
            assert chosen_solver(model, 5, None, Need("this call", method)).name == name
        else:
            with pytest.raises(ValueError, match="this call is not supported"):
                chosen_solver(model, 5, None, Need("this call", method))


@pytest.mark.parametrize("solver", sorted(set(SOLVERS) - {"dense"}))
def test_the_advice_for_error_bars_can_be_followed(solver):
    """Blocks are merged, and solved again: each suggested solver does both."""
    X = np.random.default_rng(0).standard_normal((200, 3)).cumsum(0)
    with pytest.raises(ValueError, match=f"blocks= is not supported by solver='{solver}'") as error:
        StreamPCA(1, solver=solver).fit(X, blocks=10)
    for name in re.findall(r"(\w+)\(\)", str(error.value)):
        assert StreamPCA(1, solver=name.lower()).fit(X, blocks=10).result_.uncertainty
