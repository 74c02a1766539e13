"""Checkpoints of a fit: going on is never having stopped, and nothing else is gone on with."""

import weakref

import numpy as np
import pytest
from sklearn.base import clone

import eigenstream
from eigenstream import (
    ClassSubspace,
    CompetitiveLearning,
    Flow,
    Kernel,
    OjaNeuron,
    PairSubspace,
    Perceptron,
    RBFNetwork,
    SangerNetwork,
    SelfOrganizingMap,
    Sketch,
    SlowSubspace,
    StreamPCA,
    open_stream,
)
from eigenstream.persistence import Checkpoint, Interrupted, ModelError, describe, load
from eigenstream.persistence.checkpoints import learned_rows
from eigenstream.streams import LagEmbedding, Standardize
from stopping import Stopping

ROWS = np.random.default_rng(0).standard_normal((900, 6)) * np.linspace(3, 1, 6)


#: Wide rows, which a sketch does not hold as a whole. Less than a tenth lack a value.
WIDE = np.random.default_rng(1).standard_normal((900, 460))
WIDE[::11, 2] = np.nan


def stream(**options):
    given = {"chunk_rows": 70} | options
    return open_stream(ROWS, **given).through(Standardize(), LagEmbedding(2))


def taught(model, rows=ROWS, **options):
    """A stream of what a model learns from."""
    if isinstance(model, PairSubspace):
        if model.preprocessor is not None:
            rows = np.random.default_rng(int(rows is ROWS)).integers(len(rows), size=(900, 2))
        signs = np.where(np.arange(900) % 3 == 0, 1, -1)
        return open_stream(rows, chunk_rows=70, **options).with_labels(signs)
    wide = isinstance(getattr(model, "solver", ""), Sketch)
    if wide:
        rows, options = WIDE * (1 if rows is ROWS else 2), {"missing": "skip"}
    found = open_stream(rows, chunk_rows=70, **options).through(Standardize())
    if isinstance(model, ClassSubspace | Perceptron):
        return found.with_labels(np.arange(900) % 3)
    lagged = isinstance(model, SlowSubspace) and not wide
    return found.through(LagEmbedding(2)) if lagged else found


#: What estimators answer, compared to rounding.
ANSWERS = (
    *("components_", "eigenvalues_", "explained_variance_", "mean_", "prototypes_", "alpha_"),
    *("eta_", "n_samples_seen_", "n_samples_skipped_", "n_steps_", "n_iter_", "threshold_"),
    "feature_names_in_",
)


def assert_same(left, right):
    assert type(left) is type(right)
    assert left.get_params().keys() == right.get_params().keys()
    compared = 0
    for name in ANSWERS:
        if hasattr(left, name):
            one, other = np.asarray(getattr(left, name)), np.asarray(getattr(right, name))
            if one.dtype.kind == "f":
                scale = max(float(np.abs(one).max(initial=0.0)), 1.0)
                np.testing.assert_allclose(one, other, atol=1e-9 * scale, err_msg=name)
            else:
                np.testing.assert_array_equal(one, other, err_msg=name)
            compared += 1
    assert compared > 1


PAIRED = PairSubspace(2, criterion="difference", eta=2.0, preprocessor=ROWS[:, :4])
HEBBIAN = OjaNeuron(random_state=0, max_iter=3, tol=0.0)
BATCH = CompetitiveLearning(3, random_state=0, method="batch", max_iter=3, tol=0.0)


@pytest.mark.filterwarnings(
    "ignore:the sum of the ratios",
    "ignore:only 1 of the 2",
    "ignore:.*did not settle",
    "ignore:gamma .* nearly the identity",
)
@pytest.mark.parametrize(
    ("model", "stops"),
    [
        (StreamPCA(0.9, scale=True), 2),
        (SlowSubspace(2, lag=3, criterion="ratio"), 2),
        (SlowSubspace(2, features=RBFNetwork(60, gamma="median", random_state=0)), 2),
        (SlowSubspace(2, alpha=0.5, solver="flow"), 2),
        (StreamPCA(2, solver=Sketch(passes=3)), 7),
        (SlowSubspace(2, criterion="ratio", solver=Sketch(passes=3)), 7),
        (SlowSubspace(2, solver=Sketch(passes=2)), 4),
        (ClassSubspace(2, criterion="difference", eta=2.0, solver=Sketch(passes=3)), 7),
        (ClassSubspace(2), 2),
        (PairSubspace(2, features=RBFNetwork(9, random_state=0)), 2),
        (PAIRED, 2),
        (HEBBIAN, 7),
        (SangerNetwork(2, random_state=0, max_iter=1, record_every=100), 2),
        # Their first rows wait: there is a checkpoint before these are complete, or not.
        (CompetitiveLearning(20, random_state=0, init_size=500), 2),
        (CompetitiveLearning(3, random_state=0, reseed=200, max_iter=2), 5),
        (BATCH, None),
        (SelfOrganizingMap((4, 5), random_state=0, init_size=100, max_iter=2), 5),
        (SelfOrganizingMap((4, 5), random_state=0, training="batch", max_iter=3), None),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_stopped_fit_goes_on(model, stops, tmp_path):
    how = {"checkpoint": tmp_path / "whole.eigs", "every": 1}
    if model is PAIRED:  # without a checkpoint pairs of numbers are summed up at once
        whole = clone(model).fit(taught(model), **how)
    else:
        whole = clone(model).fit(taught(model))
        assert_same(clone(model).fit(taught(model), **how), whole)
    path, count = tmp_path / "fit.eigs", 0
    # A pass of a batch counts only when it is whole: every stop lies in another one.
    chunks = iter([3, 16, 16]) if stops is None else iter([5] * 20)
    while True:
        try:
            keeper = Stopping(path, next(chunks, 99), resume=True)
            again = clone(model).fit(taught(model), checkpoint=keeper)
            break
        except Interrupted as stop:
            count, said = count + 1, str(stop)
        assert path.exists() == (stops is not None or count > 1)
        if path.exists():
            place = describe(path)["checkpoint"]
            assert learned_rows(place["rows"], place["passes"]) in said
            load(path)
    assert count >= (3 if stops is None else stops)
    assert_same(again, whole)
    assert_same(clone(model).fit(taught(model), checkpoint=path, resume=True), whole)
    name = "random_state" if hasattr(model, "random_state") else "n_components"
    other = clone(model).set_params(**{name: 7})
    with pytest.raises(ModelError, match=f"{name}=7, but it has"):
        other.fit(taught(model), checkpoint=path, resume=True)
    with pytest.raises(ModelError, match="is a checkpoint of other data"):
        clone(model).fit(taught(model, ROWS * 2), checkpoint=path, resume=True)
    if model is PAIRED:
        with pytest.raises(ModelError, match="other data: preprocessor= has other rows"):
            clone(model).set_params(preprocessor=ROWS).fit(
                taught(model), checkpoint=path, resume=True
            )
    assert vars(other).keys() - {"_guard"} == vars(clone(other)).keys()


def test_a_stream_that_is_read_once(tmp_path):
    def made():
        return open_stream(iter(np.array_split(ROWS, 13)), chunk_rows=70)

    model = SlowSubspace(2, features=RBFNetwork(80, gamma="median", random_state=0))
    whole, path = clone(model).fit(made()), tmp_path / "fit.eigs"
    with pytest.raises(Interrupted):
        clone(model).fit(made(), checkpoint=Stopping(path, 3))
    assert_same(clone(model).fit(made(), checkpoint=path, resume=True), whole)


@pytest.mark.filterwarnings("ignore:missing='skip' left out")
def test_rows_that_are_skipped_are_counted_once(tmp_path):
    rows = ROWS.copy()
    rows[::7, 2] = np.nan
    rows[140:280] = np.nan  # two chunks of which nothing is left
    for model in (StreamPCA(2), CompetitiveLearning(3, random_state=0)):
        path = tmp_path / f"{type(model).__name__}.eigs"
        whole = clone(model).fit(taught(model, rows, missing="skip"))
        assert whole.n_samples_skipped_ == 129 + 120
        for chunks in (2, 5):
            keeper = Stopping(path, chunks, resume=True)
            with pytest.raises(Interrupted):
                clone(model).fit(taught(model, rows, missing="skip"), checkpoint=keeper)
        again = clone(model).fit(taught(model, rows, missing="skip"), checkpoint=path, resume=True)
        assert_same(again, whole)


def test_a_checkpoint_is_a_model(tmp_path):
    path = tmp_path / "fit.eigs"
    for model in (StreamPCA(2), OjaNeuron(random_state=0)):
        with pytest.raises(Interrupted):
            clone(model).fit(taught(model), checkpoint=Stopping(path, 5))
        told = describe(path)
        assert told["checkpoint"] == {"rows": 350, "passes": 0, "complete": False}
        assert told["provenance"]["rows_seen"] == 350
        found = load(path)
        assert repr(found.preprocessing_) == "Preprocessing([Standardize()])"
        found.partial_fit(ROWS[350:420])
        path.unlink()


def test_a_feature_map_is_learned_once(tmp_path):
    path = tmp_path / "fit.eigs"

    def made():
        return SlowSubspace(2, features=RBFNetwork(60, gamma="median", random_state=0))

    class Dead(Checkpoint):
        def after(self, chunk, learned, turn=0, whole=False):
            raise RuntimeError("killed at the first chunk")

    with pytest.raises(RuntimeError, match="killed"):
        made().fit(stream(), checkpoint=Dead(path))
    assert describe(path)["checkpoint"] == {"rows": 0, "passes": 0, "complete": False}
    kept = load(path).features_
    again = made().fit(stream(), checkpoint=path, resume=True)
    assert_same(again, made().fit(stream()))
    assert again.features_.prototypes_.tobytes() == kept.prototypes_.tobytes()


def stopped(tmp_path, model=None, **options):
    """A checkpoint of a fit that is not over."""
    path = tmp_path / "fit.eigs"
    with pytest.raises(Interrupted):
        (model or StreamPCA(2)).fit(stream(**options), checkpoint=Stopping(path, 5))
    return path


LAGGED = stream().through(LagEmbedding(3))


@pytest.mark.parametrize(
    ("model", "source", "words"),
    [
        (SlowSubspace(2), stream(), "it contains a StreamPCA, not a SlowSubspace"),
        (StreamPCA(3), stream(), "parameters: n_components=3, but it has 2"),
        (StreamPCA(2, solver="sketch"), stream(), "solver='sketch', but it has"),
        (StreamPCA(2), stream(rows=500), "data: rows= was slice"),
        (StreamPCA(2), LAGGED, "data: preprocessing was"),
        (StreamPCA(2), open_stream(ROWS * 2), "data: digest of the first rows"),
        (StreamPCA(2), open_stream(ROWS[1:]), "rows of source 0, the source, was 900"),
    ],
)
def test_what_differs_is_refused_by_name(model, source, words, tmp_path):
    path = stopped(tmp_path)
    before = path.read_bytes()
    model.n_features_in_ = "untouched"
    with pytest.raises(ModelError, match=r"is a checkpoint of other.*remove this one") as caught:
        model.fit(source, checkpoint=path, resume=True)
    assert words in str(caught.value)
    assert model.n_features_in_ == "untouched"
    assert path.read_bytes() == before


def test_files_that_are_not_overwritten(tmp_path):
    path = stopped(tmp_path)
    with pytest.raises(ModelError, match=r"an incomplete fit\. Continue it with resume=True"):
        StreamPCA(2).fit(stream(), checkpoint=path)
    StreamPCA(2).fit(stream(), checkpoint=path, resume=True)
    StreamPCA(3).fit(stream(), checkpoint=path)  # one that is over is overwritten
    assert load(path).n_components == 3
    eigenstream.save(StreamPCA(2).fit(ROWS), tmp_path / "model.eigs")
    (tmp_path / "damaged.eigs").write_bytes(path.read_bytes()[:-9])
    for name, words in [("model.eigs", "not a checkpoint"), ("damaged.eigs", "not a model file")]:
        before = (tmp_path / name).read_bytes()
        for resume in (False, True):
            with pytest.raises(ModelError, match=words):
                StreamPCA(2).fit(stream(), checkpoint=tmp_path / name, resume=resume)
        assert (tmp_path / name).read_bytes() == before


def test_one_pass_of_what_is_read_once_holds_no_rows(tmp_path, monkeypatch):
    """Chunks from an iterator are learned as they come, whatever they add up to."""
    alive = []

    def chunks():
        for part in np.array_split(ROWS, 30):
            part = part.copy()
            alive.append(weakref.ref(part))
            yield part

    stream = open_stream(chunks()).with_labels(np.arange(900) % 3)
    most = []

    class Counting(Checkpoint):
        def after(self, chunk, learned, turn=0, whole=False):
            super().after(chunk, learned, turn, whole)
            most.append(sum(one() is not None for one in alive))

    ClassSubspace(2).fit(stream, checkpoint=Counting(tmp_path / "fit.eigs"))
    assert max(most) <= 6  # those that are read ahead, and the one at hand


@pytest.mark.parametrize(
    ("model", "source", "how", "words"),
    [
        (Perceptron(), taught(Perceptron()), {}, "fit of Perceptron does not support checkpoints"),
        (ClassSubspace(solver=Kernel("rbf")), taught(ClassSubspace()), {}, "solver='kernel'"),
        (StreamPCA(2, solver="krylov"), stream(), {}, "is not supported by solver='krylov'"),
        (RBFNetwork(9), stream(), {}, "fit of RBFNetwork does not support checkpoints"),
        (OjaNeuron(), ROWS, {}, "requires a stream, and X is an array"),
        (StreamPCA(2), "rows.npy", {}, "X is a str, not rows"),
        (StreamPCA(2, solver=Flow(hook=print)), stream(), {}, "hook.*cannot be saved"),
        (StreamPCA(2), stream(), {"every": 0}, "every must be"),
        (StreamPCA(2), stream(), {"resume": "yes"}, "resume must be"),
        (StreamPCA(2), stream(), {"checkpoint": None, "every": 3}, "every= requires checkpoint="),
        (StreamPCA(2), stream(), {"checkpoint": None, "resume": True}, "resume= requires"),
        (StreamPCA(2), stream(), {"checkpoint": "no/fit.eigs"}, "cannot write"),
        (OjaNeuron(), open_stream(iter([ROWS])), {}, "with several passes needs"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_what_cannot_be_kept_is_refused_before_the_work(model, source, how, words, tmp_path):
    how = {"checkpoint": tmp_path / "fit.eigs"} | how
    with pytest.raises((ValueError, TypeError, OSError), match=words):
        model.fit(source, **how)
    assert vars(model).keys() == vars(clone(model)).keys()
    assert not list(tmp_path.iterdir())


def test_every_so_many_rows(tmp_path):
    written = []

    class Counting(Checkpoint):
        def _write(self, estimator, complete):
            super()._write(estimator, complete)
            written.append(self.rows)

    StreamPCA(1).fit(
        open_stream(ROWS, chunk_rows=100), checkpoint=Counting(tmp_path / "fit.eigs", every=250)
    )
    assert written == [300, 600, 900, 900]


def test_a_resumed_fit_removes_what_a_killed_one_left(tmp_path):
    path, part = tmp_path / "fit.eigs", tmp_path / ".fit.eigs.0a1b2c3d"
    part.write_text("an incomplete file")
    (tmp_path / ".fit.eigs.abcd1234").mkdir()
    (tmp_path / ".fit.eigs.abcd1234/model").write_text("another one")
    StreamPCA(1).fit(open_stream(ROWS, chunk_rows=100), checkpoint=path, resume=True)
    assert [left.name for left in tmp_path.iterdir()] == ["fit.eigs"]
