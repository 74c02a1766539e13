"""Files that are no models: each a one-line error that names file and place, and nothing runs."""

import json
import os
import resource
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bad_models import LIES, MOMENT, NO_MODELS, ROWS, taken_apart, written
from eigenstream import (
    Adaline,
    ClassSubspace,
    MultilayerPerceptron,
    OjaNeuron,
    PairSubspace,
    Perceptron,
    RBFNetwork,
    SlowSubspace,
    StreamPCA,
)
from eigenstream.models import ModelError, describe, load, save

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture
def path(tmp_path):
    save(SlowSubspace(2).partial_fit(ROWS), tmp_path / "good.eigs", date="2026-01-01")
    return tmp_path / "good.eigs"


def refused(path, place=""):
    with pytest.raises(ModelError) as caught:
        load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: at "), message
    assert place in message, message
    assert "\n" not in message, message
    assert len(message) < 900, message
    return message


@pytest.mark.parametrize("name", NO_MODELS)
def test_no_models(name, tmp_path):
    make, place = NO_MODELS[name]
    make(tmp_path / "bad.eigs")
    refused(tmp_path / "bad.eigs", place)


@pytest.mark.parametrize("name", LIES)
def test_headers_that_lie(path, name):
    lie, place = LIES[name]
    outer, inner, data = taken_apart(path)
    outer[f"{MOMENT}.total"] |= lie
    written(path, outer, inner, data)
    refused(path, place)


@pytest.mark.parametrize("left", [0, 7, 8, 100, 1000, -100, -1])
def test_truncated(path, left):
    content = path.read_bytes()
    path.write_bytes(content[:left])
    refused(path)


def test_added_to(path):
    path.write_bytes(path.read_bytes() + b"more")
    refused(path, "was added to")


def changed(node, keys, value):
    """Set one place of a tree."""
    for key in keys[:-1]:
        node = node[key]
    node[keys[-1]] = value


LEARNED = ("model", "learned")
STATE = (*LEARNED, "_learner", "of")

#: Headers whose model is none that this library has learned.
MODELS = {
    "a newer format": (("format_version",), 2, "pip install --upgrade eigenstream"),
    "a version of text": (("format_version",), "1", "format_version"),
    "another program": (("format",), "other", "format_version"),
    "a class from elsewhere": (("class",), "os.system", "class"),
    "another class": (("class",), "StreamPCA", "is announced"),
    "a model of nothing": (("model",), None, "model"),
    "unknown parameter": (("model", "parameters", "run"), "me", "parameters"),
    "no parameters": (("model", "parameters"), [], "makes no SlowSubspace"),
    "a method replaced": ((*LEARNED, "transform"), 1, "'transform'"),
    "a property replaced": ((*LEARNED, "components_"), 1, "'components_'"),
    "a private method": ((*LEARNED, "_solved"), 1, "'_solved'"),
    "a special name": ((*LEARNED, "__class__"), 1, "'__class__'"),
    "a learner of another kind": ((*LEARNED, "_learner"), 3, "learns with"),
    "an unknown learner": ((*LEARNED, "_learner"), {"is": "Popen", "of": {}}, "'Popen'"),
    "a learner that says nothing": ((*LEARNED, "_learner"), {"of": 3}, "what it is"),
    "an empty learner": ((*STATE,), {}, "makes no"),
    "an unknown scatter": ((*STATE, "contrast.reward.kind"), "skew", "makes no"),
    "another width": ((*STATE, "n_features"), 5, "is due with D=5"),
    "a width of 10^15": ((*STATE, "contrast.reward.n_features"), 10**15, ""),
    "a negative width": ((*STATE, "n_features"), -1, "no number"),
    "a width of text": ((*STATE, "n_features"), "four", "makes no"),
    "width of rows": ((*LEARNED, "n_features_in_"), 7, "7"),
    "an array elsewhere": (
        (*STATE, "contrast.reward.moment.mean"),
        {"is": "array", "at": f"{MOMENT}.total"},
        "makes no array",
    ),
    "an array that is not there": (
        (*STATE, "contrast.reward.moment.mean"),
        {"is": "array", "at": "nowhere"},
        "nowhere",
    ),
    "axes that are none": (
        (*STATE, "contrast.reward.moment.total", "axes"),
        [0, 7],
        "makes no array",
    ),
    "a missing part": ((*STATE, "contrast.reward.moment.pending"), 3, "makes no"),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_that_are_none(path, name):
    keys, value, place = MODELS[name]
    outer, inner, data = taken_apart(path)
    changed(inner, keys, value)
    written(path, outer, inner, data)
    if name == "a width of 10^15":  # where no memory is taken, going on says that it does not fit
        with pytest.raises(ValueError, match="feature"):
            load(path).partial_fit(ROWS)
        return
    refused(path, place)


@pytest.mark.parametrize(
    ("model", "keys", "value"),
    [
        (Perceptron(), ("_units", "of", "weights"), "marks"),
        (Perceptron(), ("_units", "of", "mistakes"), "seen"),
        (MultilayerPerceptron(3, random_state=0), ("_net", "of", "weights"), "sizes"),
        (RBFNetwork(5), ("whitening_",), "prototypes_"),
        (OjaNeuron(random_state=0), ("learner.vectors",), "learner.mean"),
        (StreamPCA(2, solver="flow"), ("_learner", "of", "solver.learned.mixing"), "kept"),
        (StreamPCA(2, solver="sketch"), ("_learner", "of", "sketch.stream.kept"), "mean"),
    ],
    ids=repr,
)
def test_parts_that_do_not_fit(tmp_path, model, keys, value):
    """An array in the place of another never reaches a compiled loop."""
    path = tmp_path / "model.eigs"
    save(model.fit(ROWS, np.arange(50) % 3), path)
    outer, inner, data = taken_apart(path)
    node = inner["model"]["learned"]
    for key in keys[:-1]:
        node = node[key]
    mine = node[keys[-1]]
    other = next(one for key, one in node.items() if is_array(one) and value in key)
    mine["at"], other["at"] = other["at"], mine["at"]
    written(path, outer, inner, data)
    refused(path)


def is_array(node):
    return isinstance(node, dict) and node.get("is") == "array"


def test_indices_beyond_the_rows(tmp_path):
    path = tmp_path / "flow.eigs"
    save(StreamPCA(2, solver="flow", random_state=0).fit(ROWS), path)
    outer, inner, data = taken_apart(path)
    told = outer["learned._learner.solver.learned.pending"]
    first, stop = told["data_offsets"]
    far = np.full((stop - first) // 8, 10**9).tobytes()
    written(path, outer, inner, data[:first] + far + data[stop:])
    refused(path, "points beyond")


def test_a_generator_is_one_of_numpys(tmp_path):
    """The name of one is looked up in NumPy: no other function is called by that."""
    path = tmp_path / "flow.eigs"
    save(ClassSubspace(2, eta=1.0, solver="flow").partial_fit(ROWS, np.arange(50) % 2), path)
    outer, inner, data = taken_apart(path)
    state = inner["model"]["learned"]["_learner"]["of"]
    names = [name for name in state if name.endswith("bit_generator")]
    assert names
    state[names[0]] = "default_rng"
    written(path, outer, inner, data)
    refused(path, "no generator")


def test_no_memory_is_taken(tmp_path):
    path = tmp_path / "huge.eigs"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with path.open("wb") as file:  # a sparse file of 8 GiB whose header says the same
        header = json.dumps({"a": {"dtype": "U8", "shape": [2**33], "data_offsets": [0, 2**33]}})
        file.write(len(header).to_bytes(8, "little") + header.encode())
        file.truncate(8 + len(header) + 2**33)
    refused(path, "another program")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


def loaded_or_refused(path):
    """Load it, or be refused in one line; no other error."""
    said = f"{path}: at place: nothing"
    try:
        load(path)
    except ModelError as error:
        said = str(error)
    assert said.startswith(f"{path}: at ")
    assert "\n" not in said


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_bytes_of_the_header_changed(path, data):
    """A changed header is refused in one line, or it says the same in other words."""
    content = path.read_bytes()
    stop = 8 + int.from_bytes(content[:8], "little")
    spoiled = bytearray(content)
    for _ in range(data.draw(st.integers(1, 4))):
        spoiled[data.draw(st.integers(0, stop - 1))] = data.draw(st.integers(0, 255))
    bad = path.with_name("spoiled.eigs")
    bad.write_bytes(bytes(spoiled))
    loaded_or_refused(bad)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["array"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["is", "of", "at", "axes", "text"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_part_of_the_model_replaced(path, data):
    outer, inner, content = taken_apart(path)
    node, depth = inner["model"], data.draw(st.integers(0, 4))
    key = data.draw(st.sampled_from(sorted(node)))
    for _ in range(depth):
        if not isinstance(node[key], dict) or not node[key]:
            break
        node = node[key]
        key = data.draw(st.sampled_from(sorted(node)))
    node[key] = data.draw(JSON)
    bad = path.with_name("replaced.eigs")
    written(bad, outer, inner, content)
    loaded_or_refused(bad)


# ---- saving ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "name", "remedy"),
    [
        (StreamPCA(2, solver="flow", schedule=lambda t: 1 / (t + 9.0)), "schedule", "Power"),
        (StreamPCA(2, solver="flow", hook=print), "hook", "without=['hook']"),
        (StreamPCA(2, features=StandardScaler()), "features", "RBFNetwork"),
        (StreamPCA(2, solver="flow", random_state=np.random.RandomState(0)), "random_state", "wit"),
        (PairSubspace(2, preprocessor=[print]), "preprocessor", "without=['preprocessor']"),
        (Adaline(schedule=lambda t: 0.1), "schedule", "Power"),
    ],
    ids=["schedule", "hook", "features", "random state", "preprocessor", "a neuron's schedule"],
)
def test_what_cannot_be_written_is_named(model, name, remedy, tmp_path):
    with pytest.raises(TypeError, match=name) as caught:
        save(model, tmp_path / "model.eigs")
    assert remedy in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_hook_is_left_out(tmp_path):
    def hook(progress):
        return None

    model = StreamPCA(2, solver="flow", hook=hook, random_state=0).partial_fit(ROWS[:30])
    with pytest.raises(TypeError, match="hook"):
        save(model, tmp_path / "model.eigs")
    save(model, tmp_path / "model.eigs", without=["hook"])
    again = load(tmp_path / "model.eigs").partial_fit(ROWS[30:])
    np.testing.assert_array_equal(again.components_, model.partial_fit(ROWS[30:]).components_)


@pytest.mark.parametrize("thing", [PCA(2), print, {"a": 1}, type("StreamPCA", (), {})()])
def test_others_are_not_saved(thing, tmp_path):
    with pytest.raises(TypeError, match="cannot be saved"):
        save(thing, tmp_path / "model.eigs")
    with pytest.raises(ValueError, match="without"):
        save(StreamPCA(), tmp_path / "model.eigs", without=["schedule"])


def test_the_old_file_stays(path, monkeypatch):
    before = path.read_bytes()

    def full(*_):
        from safetensors import SafetensorError

        raise SafetensorError("No space left on device")

    monkeypatch.setattr("eigenstream.models._writing.save_file", full)
    with pytest.raises(OSError, match="No space left"):
        save(StreamPCA(2).fit(ROWS), path)
    assert path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_files_that_cannot_be_read(tmp_path):
    for place in (tmp_path / "absent.eigs", tmp_path):
        with pytest.raises(OSError, match="cannot read"):
            load(place)
    with pytest.raises(OSError, match="cannot write"):
        save(StreamPCA(), tmp_path / "absent" / "model.eigs")


def test_a_full_disk(path):
    """Where no more bytes go into a file, the old one stays, and nothing beside it."""
    before = path.read_bytes()
    code = """
import resource, signal, sys, numpy as np, eigenstream
model = eigenstream.StreamPCA(2).fit(np.random.default_rng(0).standard_normal((50, 99)))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    eigenstream.save(model, sys.argv[1])
except OSError as error:
    assert str(error).startswith("cannot write " + sys.argv[1]), error
else:
    raise AssertionError("it was written")
"""
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)
    assert path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("again", [True, False], ids=["used twice", "used by nothing"])
def test_every_array_has_one_use(path, again):
    outer, inner, data = taken_apart(path)
    learned = inner["model"]["learned"]
    if again:
        learned["more_"] = learned["_learner"]["of"]["contrast.reward.moment.total"]
    else:
        outer["more"] = {"dtype": "U8", "shape": [4], "data_offsets": [len(data), len(data) + 4]}
        data += b"more"
    written(path, outer, inner, data)
    refused(path, "moment.total" if again else "no part of the model")


def test_a_pipe_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="a pipe"):
        load(tmp_path / "pipe")


def test_describe(path):
    told = describe(path)
    assert told["parameters"]["n_components"] == 2
    assert told["feature_names"] is None
    assert told["provenance"] == {"date": "2026-01-01", "rows_seen": 50}
    assert set(told["versions"]) == {"eigenstream", "numpy", "scipy", "scikit-learn"}
    assert told["class"] == "SlowSubspace"
    assert told["n_bytes"] == path.stat().st_size


def test_what_comes_instead_of_an_estimator(tmp_path):
    pipeline = make_pipeline(StandardScaler(), SlowSubspace(2)).fit(ROWS)
    for thing, words in (
        (pipeline, r"last step, save\(pipeline\[-1\], path\)"),
        (SlowSubspace, "the class SlowSubspace cannot be saved"),
        ("slow.eigs", "the first argument of save is the estimator"),
        (StandardScaler().fit(ROWS), "a StandardScaler cannot be saved"),
    ):
        with pytest.raises(TypeError, match=words):
            save(thing, tmp_path / "x.eigs")
    assert not list(tmp_path.iterdir())
    save(pipeline[-1], tmp_path / "x.eigs")
    again = make_pipeline(pipeline[0], load(tmp_path / "x.eigs"))
    np.testing.assert_array_equal(again.transform(ROWS), pipeline.transform(ROWS))


def test_paths_as_people_write_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    model = SlowSubspace(2).fit(ROWS)
    for name in ("C:\\models\\slow.eigs", "größe.eigs", "no_ending", "~/home.eigs"):
        save(model, name)
        np.testing.assert_array_equal(load(name).components_, model.components_)
        assert describe(name)["class"] == "SlowSubspace"
    assert (tmp_path / "home.eigs").is_file()
    assert not (tmp_path / "~").exists()
