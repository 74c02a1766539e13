"""Damaged and hostile files: every one is a ModelError that names the file, and nothing runs."""

import json
import os
import pickle
import resource
from contextlib import suppress
from copy import deepcopy
from inspect import signature

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from typer.testing import CliRunner

from eigenstream import StreamPCA, open_stream
from eigenstream.cli import app
from eigenstream.core.storable import CLASSES
from eigenstream.persistence import ModelError, describe, load, save
from eigenstream.persistence.model_file import _checksum
from eigenstream.streams import LagEmbedding, Standardize
from members import MEMBERS

pytestmark = pytest.mark.filterwarnings("ignore")

FITTED = {repr(one.estimator): one for one in MEMBERS}


def taken_apart(path):
    with safe_open(path, framework="np") as file:
        header = json.loads(file.metadata()["eigenstream"])
        return header, {name: file.get_tensor(name) for name in list(file.keys())}


def forge(path, header, arrays):
    """Write a file with a right checksum."""
    header = {name: one for name, one in header.items() if name != "checksum"}
    header["checksum"] = _checksum(header, arrays)
    save_file(arrays, path, {"eigenstream": json.dumps(header)})


def loaded(path):
    """Return the model, or None after a ModelError in one line that names the file."""
    try:
        return load(path)
    except ModelError as error:
        message = str(error)
    assert message.startswith(str(path))
    assert "\n" not in message
    assert len(message) < 900
    return None


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The file of every member, and the rows that it takes."""
    folder = tmp_path_factory.mktemp("models")
    made = {}
    for k, member in enumerate(FITTED.values()):
        X, y = member.rows_and_labels
        save(deepcopy(member.estimator).fit(X, y), folder / f"{k}.eigs", without=["hook"])
        made[folder / f"{k}.eigs"] = X
    stream = open_stream(np.arange(60.0).reshape(20, 3) ** 1.5)
    stream = stream.through(Standardize(), LagEmbedding(2))
    save(StreamPCA(2).fit(stream), folder / "steps.eigs")
    made[folder / "steps.eigs"] = np.ones((4, 6))
    return made


def places(node):
    """Yield every dict or list of a tree with each of its keys."""
    for key, value in list(node.items() if isinstance(node, dict) else enumerate(node)):
        yield node, key
        if isinstance(value, dict | list):
            yield from places(value)


WRONG = (
    *(None, True, -1, 0, 7, 10**30, 0.5, "", "tanh", [], {}, [1, 2], {"is": "Popen", "of": {}}),
    *({"is": "float", "of": "nan"}, {"is": "dict", "of": [[[], 1]]}, {"is": "array", "at": "no"}),
    *({"is": "Generator", "of": {"bit_generator": "seed"}}, {"is": "dtype", "of": "O"}),
    *({"is": "Units", "of": {}}, {"is": "Solution", "of": {}}, {"is": "Constant", "of": {"c": -1}}),
)


#: The classes with compiled loops, which do not check where they read.
ROOMS = "eigenstream.neurons", "eigenstream.prototypes"
COMPILED = [name for name, cls in CLASSES.items() if cls.__module__.startswith(ROOMS)]
#: Numbers for parameters, and for all entries of an array.
NUMBERS = (0, 1, 2, 5, 100, 10**6, 10**15, None, 0.5, "pca", {"is": "tuple", "of": [9, 9]})
FILLS = (-1, 5, 10**9, np.nan, np.inf, 1e300)


def any_of(random, choices):
    return choices[random.integers(len(choices))]


def spoil(random, header, arrays):
    """Change one place of the tree, a parameter wherever it stands, or one array."""
    of, kind = header["model"]["of"], random.integers(8)
    node, key = any_of(random, list(places(header["model"])))
    if kind == 0 and arrays:
        name = random.choice(sorted(arrays))
        one = arrays[name]
        changes = [one.ravel()[:-1], one.ravel(), one[None], one.ravel()[:0]]
        changes += [one.astype(kind) for kind in ("f4", "i8", "u1", "?")]
        arrays[name] = np.ascontiguousarray(any_of(random, changes))
    elif kind == 1 and arrays:
        name = random.choice(sorted(arrays))
        fills = {"i": FILLS[:3], "u": FILLS[1:3]}.get(arrays[name].dtype.kind, FILLS)
        arrays[name] = np.full_like(arrays[name], any_of(random, fills))
    elif kind == 2 and len(arrays) > 1:
        left, right = random.choice(sorted(arrays), 2, replace=False)
        arrays[left], arrays[right] = arrays[right], arrays[left]
    elif kind == 3 and isinstance(node, dict):
        del node[key]
    elif kind == 4 and isinstance(node, dict):
        node[any_of(random, ["transform", "__class__", "more_", "of"])] = node.pop(key)
    elif kind == 5:
        other, name = any_of(random, list(places(header["model"])))
        node[key] = deepcopy(other[name])
    elif kind == 6 and header["class"] in COMPILED:
        name, value = random.choice(sorted(of)), any_of(random, NUMBERS)
        for pair in of["_begun"]["of"]:
            pair[1] = value if pair[0] == name else pair[1]
        of[name] = value
    else:
        numbers = header["class"] in COMPILED and type(node[key]) is int
        node[key] = any_of(random, NUMBERS[:7] if numbers else WRONG)


@pytest.mark.parametrize("seed", range(4))
def test_forged_files(files, seed, tmp_path):
    """Compiled loops do not check where they read: whatever can be loaded can be used."""
    random = np.random.default_rng(seed)
    parts = {path: taken_apart(path) for path in files}
    path, paths, refused = tmp_path / "forged.eigs", list(files), 0
    for _ in range(600):
        source = any_of(random, paths)
        header, arrays = deepcopy(parts[source])
        spoil(random, header, arrays)
        forge(path, header, arrays)
        model = loaded(path)
        refused += model is None
        if type(model).__name__ in CLASSES:
            use(model, files[source])
    assert refused > 250


def use(model, X):
    """A model that could be read answers, or raises an error about a value."""
    for name in ("transform", "predict", "partial_fit"):
        if hasattr(model, name):
            try:
                getattr(model, name)(X)
            except (ValueError, ArithmeticError, MemoryError):
                pass
            except TypeError as error:
                # A preprocessor may be forged, and some models learn from labels.
                if not any(words in str(error) for words in ("not rows", "argument: 'y'")):
                    raise


def test_every_flipped_bit_is_noticed(files, tmp_path):
    """In the arrays and in the header; only what both leave unused may change."""
    random = np.random.default_rng(0)
    path = tmp_path / "flipped.eigs"
    for source in list(files)[::4]:
        content, good = source.read_bytes(), taken_apart(source)
        for _ in range(60):
            spoiled = bytearray(content)
            spoiled[random.integers(len(content))] ^= 1 << random.integers(8)
            path.write_bytes(spoiled)
            if loaded(path) is not None:
                header, arrays = taken_apart(path)
                assert header == good[0]
                np.testing.assert_equal(arrays, good[1])


def test_truncated_extended_and_foreign_files(files, tmp_path):
    content = next(iter(files)).read_bytes()
    path = tmp_path / "bad.eigs"
    bad = [content[:n] for n in (0, 7, 8, 100, 1000, -100, -1)] + [content + b"more"]
    bad += [b"\xff" * 64, b"{}", pickle.dumps(Trap()), (2**60).to_bytes(8, "little") + bytes(99)]
    bad += [(10**6).to_bytes(8, "little") + b"[" * 10**6, b"\2" + bytes(7) + b"[]"]
    for one in bad:
        path.write_bytes(one)
        assert loaded(path) is None
    for header in ({}, {"eigenstream": "{"}, {"eigenstream": "[" * 10**5}):
        save_file({"a": np.ones(2)}, path, header)
        assert loaded(path) is None


#: The types of safetensors, and the bits of a number. NumPy has only some of them.
TYPES = {"F4": 4, "F6_E2M3": 6, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "BF16": 16, "C64": 64}
TYPES |= {"BOOL": 8, "I8": 8, "U16": 16, "F16": 16, "F32": 32, "I64": 64, "F64": 64}


def written_raw(path, header, tensors, data):
    """Write a safetensors file by hand."""
    text = json.dumps({"__metadata__": {"eigenstream": header}} | tensors).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def opened_by_all(path):
    """Neither reader raises another error than ModelError; the command prints one line."""
    found = loaded(path)
    with suppress(ModelError):
        describe(path)
    done = CliRunner().invoke(app, ["info", str(path)])
    assert done.exit_code == (2 if found is None else 0)
    assert found is not None or len(done.stderr.strip().splitlines()) == 1
    return found


@pytest.mark.parametrize("name", TYPES)
def test_every_type_of_numbers(name, files, tmp_path):
    source = next(iter(files))
    header, arrays = taken_apart(source)
    first = min(arrays)
    data = b"".join(arrays[one].tobytes() for one in sorted(arrays))
    tensors, at = {}, 0
    for one in sorted(arrays):
        kind = {"f": "F64", "i": "I64", "b": "BOOL", "u": "U8"}[arrays[one].dtype.kind]
        end, shape = at + arrays[one].nbytes, list(arrays[one].shape)
        if one == first:
            kind, shape = name, [8 * arrays[one].nbytes // TYPES[name]]
        tensors[one] = {"dtype": kind, "shape": shape, "data_offsets": [at, end]}
        at = end
    path = tmp_path / "type.eigs"
    written_raw(path, json.dumps(header), tensors, data)
    assert (opened_by_all(path) is None) == (name != "F64")


@pytest.mark.parametrize("value", ["NaN", "1e999", "-Infinity", 150, 450, 990])
def test_headers_that_json_cannot_write(value, files, tmp_path):
    """Numbers, and lists of many levels, with a checksum that is right where there is one."""
    path, content = tmp_path / "value.eigs", next(iter(files))
    value = value if isinstance(value, str) else "[" * value + "]" * value
    for place in ("provenance", "parameters", "model", "place", "format_version", "more"):
        header, arrays = taken_apart(content)
        node, key = (header[place], "more") if place in header else (header, place)
        if place in ("model", "format_version"):
            node, key = (node["of"], "n_components") if place == "model" else (header, place)
        node[key] = "HERE"
        del header["checksum"]
        with suppress(RecursionError, ValueError):
            forged = json.loads(json.dumps(header).replace('"HERE"', value))
            header["checksum"] = _checksum(forged, arrays)
        save_file(arrays, path, {"eigenstream": json.dumps(header).replace('"HERE"', value)})
        opened_by_all(path)


class Trap:
    def __reduce__(self):
        return os.abort, ()


@pytest.mark.parametrize("solver", ["flow", "dense"])
def test_a_forged_rate_of_forgetting(solver, tmp_path):
    path, rows = tmp_path / "forged.eigs", np.random.default_rng(0).standard_normal((90, 4))
    save(StreamPCA(2, solver=solver).fit(rows), path)
    header, arrays = taken_apart(path)
    learner = header["model"]["of"]["_learner"]["of"]
    assert learner["forgetting"] == 0.0
    for learner["forgetting"], sound in ((0.01, solver == "dense"), (1.5, False), (-1.0, False)):
        forge(path, header, arrays)
        assert (loaded(path) is not None) == sound


def test_headers_with_a_right_checksum(files, tmp_path):
    path, good = tmp_path / "forged.eigs", next(iter(files))
    header, arrays = taken_apart(good)
    for more in ({"format_version": 2}, {"format_version": None}, {"class": 3}, {"model": []}):
        forge(path, header | more, arrays)
        assert loaded(path) is None
    forge(path, header, arrays | {f"a{k}": np.zeros(0) for k in range(20_000)})
    for read in (load, describe):
        with pytest.raises(ModelError, match="arrays that are not part"):
            read(path)


def test_a_file_that_is_older_than_parameters_has_their_defaults(files, tmp_path):
    path = tmp_path / "older.eigs"
    for good in files:
        model, (header, arrays) = load(good), taken_apart(good)
        nodes = header["model"]["of"]
        begun = nodes.get("_begun", {})
        begun = begun if begun.get("is") == "dict" else {}
        for name, parameter in signature(type(model)).parameters.items():
            value, default = getattr(model, name), parameter.default
            if name in nodes and type(value) is type(default) and value == default:
                del nodes[name]
                begun["of"] = [pair for pair in begun.get("of", ()) if pair[0] != name]
        forge(path, header, arrays)
        assert repr(load(path)) == repr(model)


def test_no_memory_is_taken(tmp_path):
    path = tmp_path / "huge.eigs"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with path.open("wb") as file:  # a sparse file of 8 GiB whose header says the same
        header = json.dumps({"a": {"dtype": "U8", "shape": [2**33], "data_offsets": [0, 2**33]}})
        file.write(len(header).to_bytes(8, "little") + header.encode())
        file.truncate(8 + len(header) + 2**33)
    assert loaded(path) is None
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


def test_places_that_hold_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for place in ("absent.eigs", ".", "pipe"):
        with pytest.raises(OSError, match="cannot read"):
            load(tmp_path / place)
    with pytest.raises(OSError, match="cannot write"):
        save(StreamPCA(), tmp_path / "absent" / "model.eigs")
