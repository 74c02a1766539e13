"""Law 7 for every class that learns: save, load, go on = go on, to the last bit."""

import subprocess
import sys
from copy import deepcopy

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.frozen import FrozenEstimator

import eigenstream
from eigenstream import (
    Adaline,
    AdalineRegressor,
    ClassScatter,
    ClassSubspace,
    CompetitiveLearning,
    Contrast,
    MultilayerPerceptron,
    MultilayerPerceptronRegressor,
    OjaNeuron,
    PairMetric,
    PairScatter,
    PairSubspace,
    Perceptron,
    RBFNetwork,
    SangerNetwork,
    SelfOrganizingMap,
    SlowSubspace,
    StreamPCA,
    ThresholdClassifier,
    VarianceScatter,
    VelocityScatter,
)
from eigenstream.features import GradientOrientation
from eigenstream.models import load, save
from eigenstream.models._writing import Writer
from eigenstream.models.base import ESTIMATORS
from eigenstream.schedules import Power
from members import MEMBERS

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((90, 9)) * np.linspace(3, 1, 9)
LABELS = np.arange(90) % 3
NAMES = np.array(["a", "bb", "c"])[LABELS]
INDEX = RNG.integers(90, size=(120, 2))
SIGNS = np.where(LABELS[INDEX[:, 0]] == LABELS[INDEX[:, 1]], 1, -1)
PAIRS = ROWS[INDEX]
CUT = 47

#: Estimators that go on learning.
STREAMING = [
    StreamPCA(2),
    StreamPCA(2, scale=True, missing="skip"),
    StreamPCA(2, solver="flow", random_state=0),
    StreamPCA(2, solver="flow", schedule=Power(10, 100), init=np.eye(9)[:2], block_size=5),
    StreamPCA(2, solver="sketch", random_state=0),
    SlowSubspace(2, lag=3),
    SlowSubspace(2, criterion="ratio"),
    SlowSubspace(2, features=RBFNetwork(60, gamma="median")),
    SlowSubspace(2, features=FrozenEstimator(RBFNetwork(20, random_state=0).fit(ROWS))),
    SlowSubspace(2, alpha=0.5, solver="flow", random_state=0),
    SlowSubspace(2, alpha=0.5, solver="sketch", random_state=0),
    PairSubspace(2, eta=2.0),
    PairSubspace(2),
    PairSubspace(2, eta=2.0, solver="flow", random_state=0),
    ClassSubspace(2, eta=2.0),
    ClassSubspace(2),
    ClassSubspace(2, eta=2.0, solver="flow", random_state=0),
    RBFNetwork(60, gamma="median"),
    OjaNeuron(random_state=0, history_every=10),
    SangerNetwork(2, random_state=0),
    Perceptron(pocket=True, history_every=7),
    Adaline(),
    AdalineRegressor(),
    MultilayerPerceptron(4, batch_size=7, momentum=0.5, random_state=0),
    MultilayerPerceptronRegressor(4, random_state=0),
    SelfOrganizingMap((3, 4), random_state=0),
    SelfOrganizingMap(5, init="random", init_size=20, n_steps=80, radius=(2.0, 0.0)),
    SelfOrganizingMap((3, 4), missing="partial", learning_rate=Power(10, 100), init_size=7),
    SelfOrganizingMap((2, 3), init=np.eye(9)[:6], topology="hexagonal", periodic=True),
    CompetitiveLearning(5, random_state=0),
    CompetitiveLearning(5, init="data", learning_rate=Power(1, 10)),
    CompetitiveLearning(4, init=np.eye(4, 9), forgetting=0.01, missing="skip"),
    CompetitiveLearning(
        7, assignment="soft", init="k-means++", init_size=20, reseed=9, random_state=0
    ),
    CompetitiveLearning(4, assignment="rank", init="data", record_every=5, directions=np.eye(2, 9)),
]

#: Those that learn all at once.
AT_ONCE = [
    StreamPCA(2, solver="krylov"),
    PairSubspace(2, eta=2.0, solver="krylov"),
    PairSubspace(2, eta=2.0, solver="dual"),
    ClassSubspace(2, eta=2.0, solver="krylov"),
    ClassSubspace(2, eta=2.0, solver="dual"),
    ClassSubspace(2, eta=2.0, kernel="rbf", gamma=0.1),
    PairMetric(max_iter=20),
    GradientOrientation(cells=2),
    ThresholdClassifier(3.0),
]


def data_of(model):
    if isinstance(model, PairSubspace | PairMetric):
        return PAIRS, SIGNS
    if isinstance(model, AdalineRegressor | MultilayerPerceptronRegressor):
        return ROWS, ROWS @ np.arange(9.0)
    if isinstance(model, CompetitiveLearning):
        return ROWS, None
    if isinstance(model, ClassSubspace | ThresholdClassifier) or hasattr(model, "predict"):
        return ROWS, NAMES
    return ROWS, None


def more(model, part):
    """Learn from a part of the data that belong to a model."""
    X, y = data_of(model)
    classifies = isinstance(model, Perceptron | Adaline | MultilayerPerceptron)
    first = {"classes": np.unique(NAMES)} if classifies else {}
    return model.partial_fit(X[part], None if y is None else y[part], **first)


def answer(model):
    X, _ = data_of(model)
    if isinstance(model, PairSubspace | PairMetric):
        return model.pair_distance(X), model.threshold_
    return (model.predict if hasattr(model, "predict") else model.transform)(X)


def assert_same(left, right):
    """Equal in every bit, in the order of axes in memory, too."""
    writers = Writer(), Writer()
    trees = [writer.written(one, "") for writer, one in zip(writers, (left, right), strict=True)]
    assert trees[0] == trees[1]
    mine, yours = (writer.arrays for writer in writers)
    assert mine.keys() == yours.keys()
    for name, values in mine.items():
        assert values.dtype == yours[name].dtype, name
        assert values.tobytes() == yours[name].tobytes(), name


@pytest.mark.parametrize("model", STREAMING, ids=repr)
@pytest.mark.parametrize("read", [False, True], ids=["unread", "read"])
def test_mid_stream(model, read, tmp_path):
    model = more(deepcopy(model), slice(0, CUT))
    if read and not isinstance(model, RBFNetwork) and getattr(model, "features", None) is None:
        answer(model)
    save(model, tmp_path / "model.eigs")
    before = deepcopy(model)
    again = load(tmp_path / "model.eigs")
    assert type(again) is type(model)
    assert_same(again, before)
    assert_same(more(again, slice(CUT, None)), more(model, slice(CUT, None)))
    np.testing.assert_equal(answer(again), answer(model))


@pytest.mark.parametrize("model", STREAMING + AT_ONCE, ids=repr)
def test_after_a_fit(model, tmp_path):
    model = deepcopy(model).fit(*data_of(model))
    expected = answer(model)
    save(model, tmp_path / "model.eigs")
    again = load(tmp_path / "model.eigs")
    np.testing.assert_equal(answer(again), expected)
    assert_same(again, model)
    assert again.get_params(deep=False).keys() == model.get_params(deep=False).keys()


def test_every_class_is_in_the_tables():
    assert {type(member.estimator) for member in MEMBERS} == set(ESTIMATORS.values())
    assert {type(model) for model in STREAMING + AT_ONCE} == set(ESTIMATORS.values())


@pytest.mark.parametrize("model", STREAMING + AT_ONCE, ids=repr)
def test_nothing_learned_yet(model, tmp_path):
    save(model, tmp_path / "model.eigs")
    assert_same(load(tmp_path / "model.eigs"), model)


@pytest.mark.parametrize(
    ("made", "parts"),
    [
        (lambda: VarianceScatter(9, lag=2), (ROWS,)),
        (lambda: VelocityScatter(9), (ROWS.astype(np.float32),)),
        (lambda: PairScatter(9), (PAIRS,)),
        (lambda: ClassScatter(9, same=True), (ROWS, NAMES)),
        (lambda: Contrast(VarianceScatter(9, lag=1), VelocityScatter(9)), (ROWS,)),
    ],
    ids=["variance", "velocity", "pairs", "classes", "contrast"],
)
def test_scatters(made, parts, tmp_path):
    scatter = made().update(*(part[:CUT] for part in parts))
    save(scatter, tmp_path / "scatter.eigs")
    again = load(tmp_path / "scatter.eigs")
    both = [one.update(*(part[CUT:] for part in parts)) for one in (scatter, again)]
    assert_same(*both)


#: Other forms of rows and labels, and what is learned from each.
SPARSE = sp.random(90, 30, 0.1, random_state=0, format="csr")
FORMS = {
    "sparse rows": (StreamPCA(2), SPARSE, {}),
    "sparse rows by the flow": (StreamPCA(2, solver="flow", random_state=0), SPARSE, {}),
    "sparse rows of classes": (ClassSubspace(2), SPARSE, {"y": LABELS}),
    "labels that are objects": (ClassSubspace(2, eta=1.0), ROWS, {"y": NAMES.astype(object)}),
    "tasks": (ClassSubspace(2, eta=1.0), ROWS, {"y": LABELS, "groups": np.arange(90) % 2}),
    "weights": (SlowSubspace(2), ROWS, {"sample_weight": np.arange(90.0)}),
    "float32": (SlowSubspace(2, alpha=0.5, solver="sketch"), ROWS.astype(np.float32), {}),
    "columns one by one": (StreamPCA(2), np.asfortranarray(ROWS), {}),
    "fewer rows than the lag": (SlowSubspace(2, lag=5), ROWS[:3], {}),
}


@pytest.mark.parametrize("name", FORMS)
def test_other_forms_of_data(name, tmp_path):
    model, X, given = FORMS[name]
    model = deepcopy(model).partial_fit(X, **given)
    save(model, tmp_path / "model.eigs")
    again = load(tmp_path / "model.eigs")
    assert_same(again, model)
    assert_same(again.partial_fit(X, **given), model.partial_fit(X, **given))


def test_names_of_columns_and_skipped_rows_stay(tmp_path):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(ROWS, columns=[f"sensor {k}" for k in range(9)])
    table.iloc[3, 2] = np.nan
    model = StreamPCA(2, missing="skip").partial_fit(table).set_output(transform="pandas")
    save(model, tmp_path / "model.eigs")
    again = load(tmp_path / "model.eigs")
    assert again.feature_names_in_.tolist() == table.columns.tolist()
    assert (again.n_samples_skipped_, again.n_samples_seen_) == (1, 89)
    pd.testing.assert_frame_equal(again.transform(table[4:]), model.transform(table[4:]))


def test_another_process_goes_on(tmp_path):
    model = more(SlowSubspace(2), slice(0, CUT))
    save(model, tmp_path / "half.eigs")
    np.save(tmp_path / "rest.npy", ROWS[CUT:])
    code = """
import sys, numpy as np, eigenstream
folder = sys.argv[1]
model = eigenstream.load(folder + "/half.eigs").partial_fit(np.load(folder + "/rest.npy"))
eigenstream.save(model, folder + "/whole.eigs", date="now")
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    more(model, slice(CUT, None))
    assert_same(load(tmp_path / "whole.eigs"), deepcopy(model))


def test_the_same_model_makes_the_same_bytes(tmp_path):
    for name in "ab":
        save(StreamPCA(2).fit(ROWS), tmp_path / name, date="2026-01-01")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_names_of_the_package():
    assert eigenstream.save is save
    assert eigenstream.load is load
