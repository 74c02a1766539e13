"""Checkpoints of a fit: going on is never having stopped, and nothing else is gone on with."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone

import eigenstream
from eigenstream import (
    ClassSubspace,
    CompetitiveLearning,
    OjaNeuron,
    Perceptron,
    RBFNetwork,
    SelfOrganizingMap,
    SlowSubspace,
    StreamPCA,
    ThresholdClassifier,
    open_stream,
)
from eigenstream.models import Checkpoint, Interrupted, ModelError, describe, load
from eigenstream.models._writing import Writer
from eigenstream.streams import LagEmbedding, Standardize

ROWS = np.random.default_rng(0).standard_normal((900, 6)) * np.linspace(3, 1, 6)


UNTAUGHT = OjaNeuron, CompetitiveLearning, SelfOrganizingMap


class Stopping(Checkpoint):
    """Ends the fit after so many chunks."""

    def __init__(self, path, chunks, **how):
        super().__init__(path, **how)
        self.left = chunks

    def after(self, chunk, learned, turn=0):
        self.left -= 1
        if self.left == 0:
            self.stop()
        super().after(chunk, learned, turn)


def stream(**options):
    given = {"chunk_rows": 70} | options
    return open_stream(ROWS, **given).through(Standardize(), LagEmbedding(2))


def assert_same(left, right):
    writers = Writer(), Writer()
    trees = [writer.written(one, "") for writer, one in zip(writers, (left, right), strict=True)]
    assert trees[0] == trees[1]
    for name, values in writers[0].arrays.items():
        assert values.tobytes() == writers[1].arrays[name].tobytes(), name


@pytest.mark.parametrize(
    ("model", "passes"),
    [
        (StreamPCA(2), 1),
        (StreamPCA(0.9, scale=True), 1),
        (SlowSubspace(2, lag=3), 1),
        (SlowSubspace(2, criterion="ratio"), 1),
        (SlowSubspace(2, features=RBFNetwork(60, gamma="median", random_state=0)), 1),
        (SlowSubspace(2, alpha=0.5, solver="sketch"), 1),
        (StreamPCA(2, solver="sketch"), 3),
        (SlowSubspace(2, alpha=0.5, solver="flow", random_state=0), 1),
    ],
    ids=repr,
)
def test_stopped_and_gone_on_again_and_again(model, passes, tmp_path):
    path = tmp_path / "fit.eigs"
    whole = clone(model).fit(stream(), passes=passes)
    kept = clone(model).fit(stream(), passes=passes, checkpoint=tmp_path / "other.eigs", every=1)
    assert_same(kept, whole)
    stops = 0
    while True:
        try:
            again = clone(model).fit(
                stream(), passes=passes, checkpoint=Stopping(path, 5, resume=True)
            )
            break
        except Interrupted as stop:
            said = str(stop)
        stops += 1
        assert f"holds the first {describe(path)['checkpoint']['rows']} rows" in said
    # 13 chunks a pass, and one more where the last part of a pass ended with a stop.
    assert stops == 13 * passes // 5
    assert_same(again, whole)
    assert_same(clone(model).fit(stream(), passes=passes, checkpoint=path, resume=True), whole)
    assert load(path).components_.tobytes() == whole.components_.tobytes()


def test_rows_that_are_skipped_are_counted_once(tmp_path):
    rows = ROWS.copy()
    rows[::7, 2] = np.nan
    path = tmp_path / "fit.eigs"

    def made():
        return open_stream(rows, chunk_rows=70, missing="skip")

    with pytest.warns(UserWarning, match="left out 129 of 900"):
        whole = StreamPCA(2).fit(made())
    with pytest.raises(Interrupted):
        StreamPCA(2).fit(made(), checkpoint=Stopping(path, 5))
    with pytest.warns(UserWarning, match="left out 129 of 900"):
        again = StreamPCA(2).fit(made(), checkpoint=path, resume=True)
    assert again.n_samples_skipped_ == 129
    assert_same(again, whole)


@pytest.mark.parametrize("chunks", [1, 3])
def test_a_stream_that_is_read_once(chunks, tmp_path):
    def made():
        return open_stream(iter(np.array_split(ROWS, 13)), chunk_rows=70)

    model = SlowSubspace(2, features=RBFNetwork(80, gamma="median", random_state=0))
    whole, path = clone(model).fit(made()), tmp_path / "fit.eigs"
    with pytest.raises(Interrupted):
        clone(model).fit(made(), checkpoint=Stopping(path, chunks))
    assert_same(clone(model).fit(made(), checkpoint=path, resume=True), whole)


def test_a_feature_map_is_learned_once(tmp_path):
    path = tmp_path / "fit.eigs"

    def made():
        return SlowSubspace(2, features=RBFNetwork(60, gamma="median", random_state=0))

    class Dead(Checkpoint):
        def after(self, chunk, learned, turn=0):
            raise RuntimeError("killed at the first chunk")

    with pytest.raises(RuntimeError, match="killed"):
        made().fit(stream(), checkpoint=Dead(path))
    assert describe(path)["checkpoint"] == {"rows": 0, "complete": False}
    kept = load(path).features_
    again = made().fit(stream(), checkpoint=path, resume=True)
    assert_same(again, made().fit(stream()))
    assert again.features_.prototypes_.tobytes() == kept.prototypes_.tobytes()


def test_a_checkpoint_is_a_model(tmp_path):
    path = tmp_path / "fit.eigs"
    with pytest.raises(Interrupted):
        StreamPCA(2).fit(open_stream(ROWS, chunk_rows=70), checkpoint=Stopping(path, 5))
    found = load(path)
    assert found.n_samples_seen_ == 350
    assert_same(found.partial_fit(ROWS[350:420]), found)
    told = describe(path)
    assert told["checkpoint"] == {"rows": 350, "complete": False}
    assert told["provenance"]["rows_seen"] == 350


def stopped(tmp_path, model=None, **options):
    """A checkpoint of a fit that is not over."""
    path = tmp_path / "fit.eigs"
    with pytest.raises(Interrupted):
        (model or StreamPCA(2)).fit(stream(**options), checkpoint=Stopping(path, 5))
    return path


def test_what_differs_is_refused_by_name(tmp_path):
    path = stopped(tmp_path)
    before = path.read_bytes()
    lagged = stream().through(LagEmbedding(3))
    for model, source, how, words in [
        (SlowSubspace(2), stream(), {}, "a StreamPCA learns there, and a SlowSubspace here"),
        (StreamPCA(3), stream(), {}, "parameters: n_components=3 is asked for, 2 was there"),
        (StreamPCA(2, center=False), stream(), {}, "center=False is asked for, True was there"),
        (StreamPCA(2, solver="sketch"), stream(), {}, "solver='sketch' is asked for"),
        (StreamPCA(2), stream(chunk_rows=80), {}, "data: chunk_rows=80, and chunk_rows=70 there"),
        (StreamPCA(2), stream(rows=500), {}, "data: rows=slice"),
        (StreamPCA(2), lagged, {}, "data: the steps of preprocessing are Standardize"),
        (StreamPCA(2), open_stream(ROWS * 2), {}, "data: the source has other content"),
        (StreamPCA(2), open_stream(ROWS[1:]), {}, "has 899 rows, and has 900 rows there"),
        (StreamPCA(2, solver="sketch"), stream(), {"passes": 2}, "solver='sketch' is asked for"),
    ]:
        model.n_features_in_ = "untouched"
        with pytest.raises(ModelError, match="is a checkpoint of other") as caught:
            model.fit(source, checkpoint=path, resume=True, **how)
        assert words in str(caught.value)
        assert "Begin anew with another file, or remove this one." in str(caught.value)
        assert model.n_features_in_ == "untouched"
    assert path.read_bytes() == before


def test_a_fit_that_is_not_over_is_not_overwritten(tmp_path):
    path = stopped(tmp_path)
    with pytest.raises(ModelError, match=r"holds a fit that is not over\. Go on with resume=True"):
        StreamPCA(2).fit(stream(), checkpoint=path)
    StreamPCA(2).fit(stream(), checkpoint=path, resume=True)
    # One that is over is.
    StreamPCA(3).fit(stream(), checkpoint=path)
    assert load(path).n_components == 3


def test_what_is_no_checkpoint_is_not_overwritten(tmp_path):
    eigenstream.save(StreamPCA(2).fit(ROWS), tmp_path / "model.eigs")
    np.save(tmp_path / "rows.npy", ROWS)
    for name, words in [("model.eigs", "a model, no checkpoint"), ("rows.npy", "an array, .npy")]:
        before = (tmp_path / name).read_bytes()
        for resume in (False, True):
            with pytest.raises(ModelError, match=words):
                StreamPCA(2).fit(stream(), checkpoint=tmp_path / name, resume=resume)
        assert (tmp_path / name).read_bytes() == before


@pytest.mark.parametrize(
    ("model", "first"),
    [
        (ClassSubspace(2), {}),
        (ClassSubspace(2, eta=2.0, solver="flow", random_state=0), {}),
        (Perceptron(), {"classes": [0, 1, 2]}),
        (OjaNeuron(random_state=0), {}),
        # Their first rows wait: there is a checkpoint before these are complete, or not.
        (CompetitiveLearning(20, random_state=0, init_size=500), {}),
        (SelfOrganizingMap((4, 5), random_state=0, init_size=100, n_steps=900), {}),
    ],
    ids=repr,
)
def test_whatever_goes_on_by_chunks(model, first, tmp_path):
    def made():
        found = open_stream(ROWS, chunk_rows=70).through(Standardize())
        return found if isinstance(model, UNTAUGHT) else found.with_labels(np.arange(900) % 3)

    whole = Checkpoint(tmp_path / "whole.eigs").learn(model, made(), **first)
    assert not hasattr(model, "n_features_in_")
    path, stops = tmp_path / "fit.eigs", 0
    while True:
        try:
            again = Stopping(path, 5, resume=True).learn(model, made(), **first)
            break
        except Interrupted:
            stops += 1
    assert stops == 2
    assert_same(again, whole)
    assert_same(Checkpoint(path, resume=True).learn(model, made(), **first), whole)
    assert repr(again.preprocessing_) == "Preprocessing([Standardize(running=False)])"
    if isinstance(model, ClassSubspace):
        fitted = clone(model).fit(made())
        np.testing.assert_array_equal(again.components_, fitted.components_)


def test_what_does_not_go_on_by_chunks_is_refused(tmp_path):
    keeper = Checkpoint(tmp_path / "fit.eigs")
    with pytest.raises(TypeError, match="keeps checkpoints itself: fit"):
        keeper.learn(StreamPCA(2), stream())
    with pytest.raises(TypeError, match="has no partial_fit"):
        keeper.learn(ThresholdClassifier(1.0), stream())
    labels = np.arange(900) % 2
    beside = [open_stream(ROWS).with_labels(some) for some in (labels, 1 - labels)]
    keeper.learn(Perceptron(), beside[0], classes=[0, 1])
    again = Checkpoint(tmp_path / "fit.eigs", resume=True)
    with pytest.raises(ModelError, match="labels beside the rows"):
        again.learn(Perceptron(), beside[1], classes=[0, 1])


def test_what_cannot_be_kept_is_refused_before_the_work(tmp_path):
    path = tmp_path / "fit.eigs"
    for model, source, how, words in [
        (StreamPCA(2, solver="krylov"), stream(), {}, "is not for solver='krylov'"),
        (StreamPCA(2), ROWS, {}, "checkpoints are for streams, and X is in memory"),
        (StreamPCA(2), "rows.npy", {}, "X is the name of a file"),
        (StreamPCA(2, solver="flow", hook=print), stream(), {}, "Leave the hook out"),
        (
            StreamPCA(2, solver="flow", random_state=np.random.RandomState(0)),
            stream(),
            {},
            "Give a whole number",
        ),
        (StreamPCA(2), stream(), {"every": 0}, "every must be"),
        (StreamPCA(2), stream(), {"resume": "yes"}, "resume must be"),
    ]:
        with pytest.raises((ValueError, TypeError), match=words):
            model.fit(source, checkpoint=path, **how)
        assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="every= is about checkpoints"):
        StreamPCA(2).fit(stream(), every=3)
    with pytest.raises(ValueError, match="resume= is about checkpoints"):
        StreamPCA(2).fit(stream(), resume=True)
    with pytest.raises(OSError, match="cannot write"):
        StreamPCA(2).fit(stream(), checkpoint=tmp_path / "no" / "fit.eigs")


def test_auto_reads_a_stream_once_where_matrices_fit(tmp_path):
    """Far fewer rows than columns: products are cheaper, but a file would be read 200 times."""
    rows = np.random.default_rng(0).standard_normal((8, 120))
    source = open_stream(rows, chunk_rows=3)
    assert StreamPCA(2).fit(rows).solver_ == "krylov"
    assert StreamPCA(2).fit(source).solver_ == "dense"
    kept = StreamPCA(2).fit(source, checkpoint=tmp_path / "fit.eigs")
    assert kept.solver_ == "dense"


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


def test_temporary_files_of_the_killed_are_removed(tmp_path):
    path = tmp_path / "fit.eigs"
    code = (
        "import os, sys; from pathlib import Path; from eigenstream._files import replacing\n"
        "with replacing(Path(sys.argv[1])) as file: os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, path])
    assert len(list(tmp_path.iterdir())) == 1
    other = tmp_path / ".fit.eigs.another-machine-1.x"
    other.touch()
    StreamPCA(2).fit(stream(), checkpoint=path)
    assert sorted(one.name for one in tmp_path.iterdir()) == [other.name, "fit.eigs"]


@pytest.mark.parametrize("damage", ["cut", "place", "identity", "extra"])
def test_a_damaged_checkpoint_is_refused(damage, tmp_path):
    path = stopped(tmp_path)
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = raw[8 : 8 + length]
    if damage == "cut":
        path.write_bytes(raw[:-9])
    else:
        old, new = {
            "place": (b'\\"place\\": {\\"is\\": \\"dict', b'\\"plaze\\": {\\"is\\": \\"dict'),
            "identity": (b'[\\"learned\\", ', b'[\\"learmed\\", '),
            "extra": (b'\\"turn\\": 0', b'\\"turn\\": \\"0\\"'),
        }[damage]
        assert header.count(old) == 1
        header = header.replace(old, new)
        path.write_bytes(len(header).to_bytes(8, "little") + header + raw[8 + length :])
    with pytest.raises(ModelError, match="eigs: at "):
        StreamPCA(2).fit(stream(), checkpoint=path, resume=True)
