"""The corpus of files that are no models: what writes each, and which place its refusal names."""

import json
import os
import pickle
import zipfile

import numpy as np

ROWS = np.random.default_rng(0).standard_normal((50, 4))


def taken_apart(path):
    """The header of safetensors, the model's own, and the data."""
    content = path.read_bytes()
    stop = 8 + int.from_bytes(content[:8], "little")
    outer = json.loads(content[8:stop])
    return outer, json.loads(outer["__metadata__"]["eigenstream"]), content[stop:]


def written(path, outer, inner, data):
    """Write a file with these headers, true to the format otherwise."""
    if inner is not None:
        text = inner if isinstance(inner, str) else json.dumps(inner)
        outer = outer | {"__metadata__": {"eigenstream": text}}
    header = json.dumps(outer).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + data)


class Trap:
    """What runs when a pickle is opened."""

    def __reduce__(self):
        return os.abort, ()


def zipped(path):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("data.pkl", b"x")


HUGE = (2**60).to_bytes(8, "little")

#: Contents that are no model at all, by how they are written, and what the error says.
NO_MODELS = {
    "empty": (lambda path: path.write_bytes(b""), "byte 0"),
    "short": (lambda path: path.write_bytes(b"abc"), "byte 0"),
    "eight zeros": (lambda path: path.write_bytes(bytes(8)), "the header"),
    "a header of 2^60 bytes": (lambda path: path.write_bytes(HUGE), f"a header of {2**60} bytes"),
    "the same with data": (lambda path: path.write_bytes(HUGE + bytes(1000)), "cut short"),
    "a header one byte too long": (
        lambda path: path.write_bytes((9).to_bytes(8, "little") + b"{}      "),
        "byte 0",
    ),
    "all ones": (lambda path: path.write_bytes(b"\xff" * 64), "byte 0"),
    "a pickle": (lambda path: path.write_bytes(pickle.dumps(Trap())), "a pickle"),
    "an old pickle": (lambda path: path.write_bytes(pickle.dumps(Trap(), protocol=0)), "byte 0"),
    "a zip": (zipped, "a zip"),
    "npy": (lambda path: np.save(open(path, "wb"), ROWS), ".npy"),  # noqa: SIM115
    "text": (lambda path: path.write_text("eigenstream " * 9), "byte 0"),
    "no JSON": (lambda path: written(path, {}, None, b"") or cut(path, 8, b"?!"), "the header"),
    "no text": (lambda path: path.write_bytes(b"\2" + bytes(7) + b"\xff\xfe"), "the header"),
    "a list": (lambda path: path.write_bytes(b"\2" + bytes(7) + b"[]"), "the header"),
    "deep": (
        lambda path: path.write_bytes((10**6).to_bytes(8, "little") + b"[" * 10**6),
        "the header",
    ),
    "a long number": (
        lambda path: path.write_bytes(
            (6007).to_bytes(8, "little") + b'{"a": ' + b"9" * 6000 + b"}"
        ),
        "the header",
    ),
    "a name twice": (
        lambda path: path.write_bytes((14).to_bytes(8, "little") + b'{"a":1, "a":2}'),
        "the header",
    ),
    "arrays of another program": (lambda path: written(path, {}, None, b""), "another program"),
    "a header of another": (lambda path: written(path, {}, "{", b""), "the model's header"),
    "NaN in JSON": (lambda path: written(path, {}, '{"a": NaN}', b""), "the model's header"),
    "no version": (lambda path: written(path, {}, {"format": "eigenstream"}, b""), "format_v"),
}


def cut(path, start, new):
    content = bytearray(path.read_bytes())
    content[start : start + len(new)] = new
    path.write_bytes(bytes(content))


MOMENT = "learned._learner.contrast.reward.moment"

#: Headers that lie about the arrays.
LIES = {
    "shape that does not fit": ({"shape": [5, 4]}, "takes 160 bytes"),
    "shape of 2^60": ({"shape": [2**60, 4]}, "takes"),
    "shape that overflows": ({"shape": [2**32, 2**32, 4, 4]}, "takes"),
    "a negative shape": ({"shape": [-4, -4]}, "no whole numbers"),
    "a shape of text": ({"shape": "44"}, "no whole numbers"),
    "a shape of truth": ({"shape": [True, 16]}, "no whole numbers"),
    "a long shape": ({"shape": [1] * 9}, "no whole numbers"),
    "huge and empty": ({"shape": [2**62, 0], "data_offsets": [0, 0]}, "beyond"),
    "another type": ({"dtype": "F32"}, "takes 64 bytes"),
    "no type": ({"dtype": "O"}, "type 'O'"),
    "a type of numbers": ({"dtype": "V99"}, "type"),
    "offsets beyond the file": ({"data_offsets": [2**40, 2**40 + 128]}, "begins at byte"),
    "offsets backwards": ({"data_offsets": [128, 0]}, "takes"),
    "offsets of one": ({"data_offsets": [128]}, "first byte"),
    "offsets that overlap": ({"data_offsets": [0, 128]}, "begins at byte"),
    "more than is due": ({"run": "me"}, "nothing else"),
}
