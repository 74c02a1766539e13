"""Law 7 for every member: save, load and continue gives what continuing gives."""

from copy import deepcopy

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from eigenstream import (
    Adaline,
    ClassSubspace,
    Flow,
    PairSubspace,
    SlowSubspace,
    StreamPCA,
)
from eigenstream.core.storable import CLASSES
from eigenstream.monitor import Monitor
from eigenstream.persistence import load, save
from eigenstream.persistence.codec import encode
from eigenstream.subspace.estimators.mapping import FeatureMap
from eigenstream.subspace.solvers.kernels import KernelMap, RowSpan
from members import DATA, MEMBERS, keeping

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((90, 9)) * np.linspace(3, 1, 9)
LABELS = np.arange(90) % 3
NAMES = np.array(["a", "bb", "c"])[LABELS]
PAIRS = ROWS[RNG.integers(90, size=(120, 2))]
CUT = 47


def assert_same(left, right):
    """Both would be saved alike: numbers and text equal, arrays to rounding."""
    arrays, others = {}, {}
    assert encode(left, arrays) == encode(right, others)
    assert arrays.keys() == others.keys()
    for name, values in arrays.items():
        np.testing.assert_allclose(others[name], values, rtol=1e-9, atol=1e-11, err_msg=name)


def again(model, folder):
    save(model, folder / "model.eigs")
    found = load(folder / "model.eigs")
    assert type(found) is type(model)
    assert_same(found, model)
    return found


@pytest.mark.parametrize("member", keeping(7), ids=lambda one: repr(one.estimator))
def test_every_member(member, tmp_path):
    again(member.estimator, tmp_path)
    X, y = member.rows_and_labels
    if member.data in ("labels", "targets"):  # class names are text
        y = np.array(["a", "bb", "ccc", "d", "e"])[DATA["labels"][1]]
    model = deepcopy(member.estimator).fit(X, y)
    np.testing.assert_equal(member.answer(again(model, tmp_path)), member.answer(model))
    if member.at_once:
        return
    model = member.learn(deepcopy(member.estimator), slice(CUT), y)
    read = member.learn(again(model, tmp_path), slice(CUT, None), y)
    assert_same(read, member.learn(model, slice(CUT, None), y))


def test_every_estimator_is_a_member():
    known = [one for one in CLASSES.values() if hasattr(one, "fit")]
    named = {cls for cls in known if cls.__module__.startswith("eigenstream")}
    named -= {FeatureMap, KernelMap, RowSpan}  # parts of a fitted estimator
    named -= {Monitor}  # of a fitted estimator; tests/monitor has its laws
    bases = {base for cls in named for base in cls.__mro__[1:]}
    kinds = {cls for member in MEMBERS for cls in type(member.estimator).__mro__[:2]}
    assert named - bases == {cls for cls in kinds if cls in named} - bases


SPARSE = sp.random(90, 30, 0.1, random_state=0, format="csr")
FORMS = {
    "sparse rows": (StreamPCA(2), SPARSE, {}),
    "sparse rows of classes": (ClassSubspace(2), SPARSE, {"y": LABELS}),
    "labels that are objects": (
        ClassSubspace(2, criterion="difference", eta=1.0),
        ROWS,
        {"y": NAMES.astype(object)},
    ),
    "tasks": (
        ClassSubspace(2, criterion="difference", eta=1.0),
        ROWS,
        {"y": LABELS, "groups": np.arange(90) % 2},
    ),
    "weights": (SlowSubspace(2), ROWS, {"sample_weight": np.arange(90.0)}),
    "float32": (SlowSubspace(2, alpha=0.5, solver="sketch"), ROWS.astype(np.float32), {}),
    "column-major rows": (StreamPCA(2), np.asfortranarray(ROWS), {}),
    "fewer rows than the lag": (SlowSubspace(2, lag=5), ROWS[:3], {}),
}


@pytest.mark.parametrize("name", FORMS)
def test_other_forms_of_data(name, tmp_path):
    model, X, given = FORMS[name]
    model = deepcopy(model).partial_fit(X, **given)
    read = again(model, tmp_path)
    assert_same(read.partial_fit(X, **given), model.partial_fit(X, **given))


def test_column_names_and_skipped_rows(tmp_path):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(ROWS, columns=[f"sensor {k}" for k in range(9)])
    table.iloc[3, 2] = np.nan
    model = StreamPCA(2, missing="skip").partial_fit(table).set_output(transform="pandas")
    save(model, tmp_path / "model.eigs")
    read = load(tmp_path / "model.eigs")
    assert (read.n_samples_skipped_, read.n_samples_seen_) == (1, 89)
    pd.testing.assert_frame_equal(read.transform(table[4:]), model.transform(table[4:]))


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (StreamPCA(2, solver=Flow(learning_rate=lambda t: 1 / (t + 9.0))), "learning_rate"),
        (StreamPCA(2, solver=Flow(hook=print)), "hook"),
        (StreamPCA(2, features=StandardScaler()), "features"),
        (StreamPCA(2, solver=Flow(random_state=np.random.RandomState(0))), "random_state"),
        (PairSubspace(2, preprocessor=[print]), "preprocessor"),
        (Adaline(learning_rate=lambda t: 0.1), "learning_rate"),
    ],
)
def test_values_that_cannot_be_saved(model, name, tmp_path):
    with pytest.raises(TypeError, match=f"{name}.*cannot be saved"):
        save(model, tmp_path / "model.eigs")
    for thing in (PCA(2), print, "model.eigs"):
        with pytest.raises(TypeError, match="cannot be saved"):
            save(thing, tmp_path / "model.eigs")
    assert not list(tmp_path.iterdir())


def test_an_estimator_that_could_not_be_loaded_is_not_saved(tmp_path):
    model, path = StreamPCA(2).fit(ROWS), tmp_path / "model.eigs"
    save(model, path)
    vars(model)["_learner"].block_rows = 1.5
    with pytest.raises(ValueError, match=r"block_rows is 1.5.*Expected"):
        save(model, path)
    assert load(path).n_samples_seen_ == 90
    assert list(tmp_path.iterdir()) == [path]


def test_without_a_hook(tmp_path):
    model = StreamPCA(2, solver=Flow(hook=lambda progress: None))
    model.partial_fit(ROWS[:30])
    save(model, tmp_path / "model.eigs", without=["hook"])
    read = load(tmp_path / "model.eigs").partial_fit(ROWS[30:])
    np.testing.assert_array_equal(read.components_, model.partial_fit(ROWS[30:]).components_)
    with pytest.raises(ValueError, match="without"):
        save(StreamPCA(), tmp_path / "model.eigs", without=["learning_rate"])
