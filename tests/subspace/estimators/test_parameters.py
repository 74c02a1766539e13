"""Parameters: checked whenever they are read, and rejected where nothing would read them."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit

from eigenstream import (
    ClassSubspace,
    CompetitiveLearning,
    Dense,
    Flow,
    Kernel,
    Krylov,
    PairSubspace,
    Sketch,
    SlowSubspace,
    StreamPCA,
)
from eigenstream.subspace import matrices, pair_risks
from watched import messages

ROWS = np.random.default_rng(0).standard_normal((60, 5)).cumsum(axis=0)
LABELS = np.repeat(np.arange(6), 10)
PAIRS = np.random.default_rng(1).integers(0, 60, (300, 2))
SIGNS = np.where(LABELS[PAIRS[:, 0]] == LABELS[PAIRS[:, 1]], 1, -1)
LEARNERS = [
    StreamPCA(2),
    SlowSubspace(2, alpha=0.9),
    PairSubspace(criterion="difference", eta=0.5),
    ClassSubspace(criterion="difference", eta=0.5),
]


def learned(model, method="fit"):
    if isinstance(model, ClassSubspace):
        return getattr(model, method)(ROWS, LABELS)
    if isinstance(model, PairSubspace):
        return getattr(model, method)(ROWS[PAIRS], SIGNS)
    return getattr(model, method)(ROWS)


DIFFERENCE = ClassSubspace(criterion="difference")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (StreamPCA(solver=Dense(forgetting=2.0)), "'forgetting' parameter of Dense"),
        (StreamPCA(solver=Sketch(oversampling=-1)), "'oversampling' parameter of Sketch"),
        (DIFFERENCE.set_params(solver=Krylov(tol=-1)), "'tol' parameter of Krylov"),
        (SlowSubspace(alpha=0.5, solver=Flow("fast")), "'learning_rate' parameter of Flow"),
        (PairSubspace(solver=Kernel("sinc")), "'kernel' parameter of Kernel"),
        (ClassSubspace(2, criterion="difference", eta=-1.0), "'eta' parameter"),
        (SlowSubspace(2, solver="sketch"), r"Use solver=Dense\(\) or Sketch\(passes=2\) or"),
        (StreamPCA(0.9, solver="sketch"), "n_components=0.9 is not supported by .* or a whole"),
    ],
    ids=repr,
)
def test_parameters_that_are_rejected(model, message):
    with pytest.raises(ValueError, match=message):
        learned(model)
    assert not hasattr(model, "components_")


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_components": 100}, "n_components=100 exceeds the number of features, 5"),
    ],
    ids=str,
)
def test_parameters_set_later_are_those_of_the_next_rows(learner, change, message):
    model, expected = learned(clone(learner), "partial_fit"), learned(clone(learner), "partial_fit")
    old = {name: getattr(model, name) for name in change}
    model.set_params(**change)
    np.testing.assert_array_equal(model.components_, expected.components_)
    with pytest.raises(ValueError, match=message):
        learned(model, "partial_fit")
    np.testing.assert_array_equal(model.components_, expected.components_)
    learned(model.set_params(**old), "partial_fit")


@pytest.mark.parametrize("solver", ["auto", "flow", "sketch"])
@pytest.mark.parametrize("learner", [StreamPCA(), SlowSubspace(alpha=0.9)], ids=repr)
def test_the_default_of_two_components_on_one_feature(learner, solver):
    model = clone(learner).set_params(solver=solver)
    assert model.fit(ROWS[:, :1]).components_.shape == (1, 1)
    again = clone(model).partial_fit(ROWS[:, :1])
    np.testing.assert_allclose(again.components_, model.components_, rtol=1e-12)
    with pytest.raises(ValueError, match="n_components=3 exceeds the number of features, 1"):
        model.set_params(n_components=3).fit(ROWS[:, :1])


@pytest.mark.parametrize("learner", LEARNERS[2:], ids=repr)
def test_what_was_learned_stays_readable(learner):
    """Parameters set after a fit are for the next one."""

    def results_of(model):
        risk = pair_risks(model).margin_risk().risk
        return model.transform(ROWS), risk, model.inverse_transform(np.eye(2))

    model = learned(clone(learner))
    before = results_of(model)
    model.set_params(solver=Kernel("rbf"), criterion="ratio", n_components=100)
    for ours, theirs in zip(results_of(model), before, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    "learner", [kind(criterion="difference") for kind in (PairSubspace, ClassSubspace)]
)
def test_the_operator_knows_the_weights_that_were_chosen(learner):
    for method in ("fit", "partial_fit"):
        model = learned(clone(learner), method)
        T = matrices(model).matrix()
        kept = np.linalg.eigvalsh(T)[::-1][: model.n_components_]
        np.testing.assert_allclose(kept, model.eigenvalues_, rtol=1e-9)


def test_parameters_of_a_solver_need_its_object():
    with pytest.raises(ValueError, match=r"an object, such as Sketch\(passes=2\)"):
        StreamPCA(2, solver="sketch").set_params(solver__passes=2)
    learner = StreamPCA(2).set_params(solver=Sketch(), solver__passes=2)
    assert learner.solver.passes == 2


def test_a_grid_search_warns_once_about_the_same_fault():
    rows = np.random.default_rng(0).standard_normal((300, 4))
    grid = {"alpha": [0.3, 0.4], "n_components": [2, 3]}
    search = GridSearchCV(SlowSubspace(), grid, cv=TimeSeriesSplit(3), refit=False)
    for _ in range(2):
        said = messages(lambda: search.fit(rows))
        assert len(said) == len(set(said))
        assert sum(message.startswith("only") for message in said) == 1


@pytest.mark.parametrize(
    ("model", "unused"),
    [
        (SlowSubspace(2, criterion="ratio"), {"alpha": 0.5}),
        (SlowSubspace(2), {"reversible": True, "shrinkage": 0.5}),
        (SlowSubspace(2, scale=True, criterion="ratio"), {"alpha": "bound"}),
        (ClassSubspace(2, criterion="ratio"), {"eta": 0.5}),
        (ClassSubspace(2, criterion="difference"), {"shrinkage": 0.1}),
        (PairSubspace(2, criterion="ratio"), {"eta": 0.5}),
        (CompetitiveLearning(3, random_state=0), {"width": 2.0}),
        (CompetitiveLearning(3, learning_rate=0.1, random_state=0), {"forgetting": 0.2}),
        (
            CompetitiveLearning(3, method="batch", random_state=0),
            {"learning_rate": 0.1, "forgetting": 0.2, "reseed": 9, "record_every": 2},
        ),
    ],
    ids=repr,
)
def test_an_unused_parameter_is_ignored(model, unused):
    plain, other = learned(clone(model)), learned(clone(model).set_params(**unused))
    name = "components_" if hasattr(plain, "components_") else "prototypes_"
    np.testing.assert_allclose(getattr(other, name), getattr(plain, name), atol=1e-12)
    if name == "prototypes_":
        np.testing.assert_allclose(other.counts_, plain.counts_)


def test_a_search_over_criteria_scores_every_combination():
    rows = np.random.default_rng(0).standard_normal((400, 3)).cumsum(axis=0)
    grid = {"criterion": ["difference", "ratio"], "alpha": ["auto", 0.5]}
    search = GridSearchCV(SlowSubspace(1), grid, cv=TimeSeriesSplit(3), error_score="raise")
    search.fit(rows)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
