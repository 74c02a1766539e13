"""Law 7 for every class that learns: save, load, go on = go on, to the last bit."""

import subprocess
import sys
from copy import deepcopy

import numpy as np
import pytest
import scipy.sparse as sp

import eigenstream
from eigenstream import (
    ClassScatter,
    ClassSubspace,
    Contrast,
    PairScatter,
    RBFNetwork,
    SlowSubspace,
    StreamPCA,
    VarianceScatter,
    VelocityScatter,
)
from eigenstream.features import GradientOrientation
from eigenstream.models import load, save
from eigenstream.models._writing import Writer
from eigenstream.models.base import ESTIMATORS
from members import DATA, MEMBERS, keeping

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((90, 9)) * np.linspace(3, 1, 9)
LABELS = np.arange(90) % 3
NAMES = np.array(["a", "bb", "c"])[LABELS]
INDEX = RNG.integers(90, size=(120, 2))
SIGNS = np.where(LABELS[INDEX[:, 0]] == LABELS[INDEX[:, 1]], 1, -1)
PAIRS = ROWS[INDEX]
CUT = 47

#: Members that go on learning, and those that learn all at once.
STREAMING = [member for member in keeping(7) if not member.at_once]
AT_ONCE = [member for member in keeping(7) if member.at_once]


def each(members):
    return pytest.mark.parametrize("member", members, ids=lambda one: repr(one.estimator))


def data_of(member):
    """What the member learns from; classes have names, which files keep as text."""
    X, y = DATA[member.data]
    if member.data in ("labels", "targets"):
        y = np.array(["a", "bb", "ccc", "d", "e"])[DATA["labels"][1]]
    return (X[:, :4] if isinstance(member.estimator, GradientOrientation) else X), y


def more(model, part, member):
    """Learn from a part of the data that belong to a model."""
    X, y = data_of(member)
    first = {"classes": np.unique(y)} if member.data == "targets" else {}
    return model.partial_fit(X[part], None if y is None else y[part], **first)


def answer(model, member):
    X, _ = data_of(member)
    if member.data == "pairs":
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


@each(STREAMING)
@pytest.mark.parametrize("read", [False, True], ids=["unread", "read"])
def test_mid_stream(member, read, tmp_path):
    model = more(deepcopy(member.estimator), slice(0, CUT), member)
    if read and not isinstance(model, RBFNetwork) and getattr(model, "features", None) is None:
        answer(model, member)
    save(model, tmp_path / "model.eigs")
    before = deepcopy(model)
    again = load(tmp_path / "model.eigs")
    assert type(again) is type(model)
    assert_same(again, before)
    rest = slice(CUT, None)
    assert_same(more(again, rest, member), more(model, rest, member))
    np.testing.assert_equal(answer(again, member), answer(model, member))


@each(AT_ONCE)
def test_the_others_do_not_go_on(member):
    model = deepcopy(member.estimator).fit(*data_of(member))
    if hasattr(model, "partial_fit"):
        with pytest.raises((ValueError, TypeError)):
            more(model, slice(0, CUT), member)


@each(STREAMING + AT_ONCE)
def test_after_a_fit(member, tmp_path):
    model = deepcopy(member.estimator).fit(*data_of(member))
    expected = answer(model, member)
    save(model, tmp_path / "model.eigs")
    again = load(tmp_path / "model.eigs")
    np.testing.assert_equal(answer(again, member), expected)
    assert_same(again, model)
    assert again.get_params(deep=False).keys() == model.get_params(deep=False).keys()


def test_every_class_can_be_saved():
    """And law 7 is run on it: ``tests/test_members.py``."""
    assert {type(member.estimator) for member in MEMBERS} == set(ESTIMATORS.values())


@each(STREAMING + AT_ONCE)
def test_nothing_learned_yet(member, tmp_path):
    save(member.estimator, tmp_path / "model.eigs")
    assert_same(load(tmp_path / "model.eigs"), member.estimator)


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
    model = SlowSubspace(2).partial_fit(ROWS[:CUT])
    save(model, tmp_path / "half.eigs")
    np.save(tmp_path / "rest.npy", ROWS[CUT:])
    code = """
import sys, numpy as np, eigenstream
folder = sys.argv[1]
model = eigenstream.load(folder + "/half.eigs").partial_fit(np.load(folder + "/rest.npy"))
eigenstream.save(model, folder + "/whole.eigs", date="now")
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    model.partial_fit(ROWS[CUT:])
    assert_same(load(tmp_path / "whole.eigs"), deepcopy(model))


def test_the_same_model_makes_the_same_bytes(tmp_path):
    for name in "ab":
        save(StreamPCA(2).fit(ROWS), tmp_path / name, date="2026-01-01")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_names_of_the_package():
    assert eigenstream.save is save
    assert eigenstream.load is load
