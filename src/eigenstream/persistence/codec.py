"""Conversion of values to a JSON tree with separate arrays, and back."""

from dataclasses import is_dataclass
from inspect import Parameter, signature
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator

import eigenstream.features
import eigenstream.monitor
import eigenstream.neurons
import eigenstream.prototypes
import eigenstream.streams
import eigenstream.subspace  # noqa: F401  the classes of these packages register themselves
from eigenstream.core.device import DeviceArray
from eigenstream.core.documented import Documented
from eigenstream.core.storable import CLASSES, check_form, layout_of
from eigenstream.core.types import Array, Facts
from eigenstream.rows.guard import snapshot

CLASSES["FrozenEstimator"] = FrozenEstimator

Arrays = dict[str, NDArray[Any]]

#: Prefixes of attributes that scikit-learn sets and that are not saved.
PASSING = ("_skl_", "_callback")

#: The attribute of ``set_output``, which unfitted estimators may have as well.
OUTPUT = "_sklearn_output_config"

SPARSE: dict[str, Any] = {"csr_array": csr_array, "csr_matrix": csr_matrix}


def can_be_saved(value: object) -> bool:
    """Return whether the class of a value can be saved."""
    return CLASSES.get(type(value).__name__) is type(value)


def encode(value: Any, arrays: Arrays, place: str = "model") -> Any:
    """Return the tree of a value, and add its arrays to ``arrays`` by their places.

    >>> arrays = {}
    >>> encode({"rows": np.zeros(2), "n": 2}, arrays)
    {'is': 'dict', 'of': [['rows', {'is': 'array', 'at': 'model.rows'}], ['n', 2]]}
    >>> decode(_, arrays)
    {'rows': array([0., 0.]), 'n': 2}
    """
    if isinstance(value, np.generic) and value.dtype.kind in "biufU":
        value = value.item()
    if value is None or type(value) in (bool, int, str):
        return value
    kind = type(value).__name__
    of: Any
    if type(value) is float:
        return value if np.isfinite(value) else {"is": kind, "of": str(value)}
    if isinstance(value, DeviceArray):
        value = value.toarray()
    if isinstance(value, np.ndarray):
        return _encode_array(value, arrays, place)
    if type(value) in (list, tuple):
        of = [encode(item, arrays, f"{place}.{k}") for k, item in enumerate(value)]
        return of if kind == "list" else {"is": kind, "of": of}
    if type(value) is dict:
        keys = [encode(key, arrays, f"{place}.key{k}") for k, key in enumerate(value)]
        parts = [encode(item, arrays, f"{place}.{key}") for key, item in value.items()]
        return {"is": kind, "of": [list(pair) for pair in zip(keys, parts, strict=True)]}
    if isinstance(value, np.dtype):
        return {"is": "dtype", "of": value.name}
    if SPARSE.get(kind) is type(value):
        parts = [value.data, value.indices, value.indptr, list(value.shape)]
        return {"is": kind, "of": encode(parts, arrays, place)}
    if CLASSES.get(kind) is type(value):
        attributes = _attributes(snapshot(value))
        of = {name: encode(item, arrays, f"{place}.{name}") for name, item in attributes.items()}
        return {"is": kind, "of": of}
    raise TypeError(
        f"{place}={value!r:.200} is a {kind}, which cannot be saved. Use numbers, text, arrays and "
        "objects of eigenstream, or omit some parameters with save(..., without=)."
    )


def _attributes(value: object) -> Facts:
    """Return the attributes to save."""
    if isinstance(value, tuple):
        fields: Any = value
        return cast(Facts, fields._asdict())
    layout, parameters = layout_of(type(value)), _parameters(type(value))
    attributes = {}
    for name, attribute in vars(value).items():
        if name.startswith(PASSING) or layout.get(name) == "-":
            continue
        if name not in parameters and name not in layout:
            kind = type(value).__name__
            raise TypeError(f"{name} is not an attribute that a {kind} can save. Delete it.")
        attributes[name] = attribute
    return attributes


def _parameters(cls: Any) -> Facts:
    """Return the parameters of a class, which may have none, with their defaults."""
    names = cls._get_param_names() if issubclass(cls, BaseEstimator) else []
    return {name: signature(cls).parameters[name].default for name in names}


def _encode_array(values: Array, arrays: Arrays, place: str) -> Any:
    if values.dtype.kind in "OU":
        if values.dtype.kind == "O" and not all(_is_plain(item) for item in values.flat):
            raise TypeError(f"{place} cannot be saved, since it has objects. Use numbers or text.")
        return {"is": "text", "of": values.tolist(), "type": "OU"[values.dtype.kind == "U"]}
    if values.dtype.kind == "M":
        return {"is": "dates", "of": values.astype(np.int64).tolist(), "type": str(values.dtype)}
    if values.dtype.kind not in "biuf" or values.dtype.itemsize > 8:
        raise TypeError(f"{place} has the type {values.dtype}, which cannot be saved. Use float64.")
    node = {"is": "array", "at": place}
    if values.flags.f_contiguous and not values.flags.c_contiguous:  # compiled loops need the order
        node, values = node | {"order": "F"}, values.T
    stored = np.ascontiguousarray(values).reshape(values.shape)
    arrays[place] = stored.astype(stored.dtype.newbyteorder("="), copy=False)
    return node


def _is_plain(value: object) -> bool:
    return type(value) in (str, int, bool) or (type(value) is float and np.isfinite(value))


def decode(
    node: Any, arrays: Arrays, place: str = "model", sizes: dict[str, int] | None = None
) -> Any:
    """Return the value of a tree, and remove its arrays from ``arrays``.

    ``sizes`` are the sizes set by the enclosing objects. An invalid tree may raise any exception.
    """
    if node is None or isinstance(node, bool | int | float | str):
        return node
    if isinstance(node, list):
        return [decode(item, arrays, f"{place}.{k}", sizes) for k, item in enumerate(node)]
    kind, of = node["is"], node.get("of")
    if kind == "array":
        values = arrays.pop(node["at"])
        return values.T if node.get("order") == "F" else values
    if kind == "text":
        return np.array(of, object if node["type"] == "O" else np.str_)
    if kind == "dates" and np.dtype(node["type"]).kind == "M":
        return np.array(of, np.int64).astype(node["type"])
    if kind == "float":
        return float(of)
    if kind == "dtype" and np.dtype(of).kind in "biuf":
        return np.dtype(of)
    if kind == "tuple":
        return tuple(decode(of, arrays, place, sizes))
    if kind == "dict":
        return {
            decode(key, arrays, place): decode(item, arrays, f"{place}.{key}", sizes)
            for key, item in of
        }
    if kind in SPARSE:
        *parts, shape = decode(of, arrays, place)
        matrix = SPARSE[kind](tuple(parts), shape=tuple(shape))
        matrix.check_format(full_check=True)
        return matrix
    if kind in CLASSES:
        return _object(CLASSES[kind], of, arrays, place, sizes or {})
    raise ValueError(f"{place} is of the unknown class {kind!r:.60}.")


def _object(cls: Any, nodes: Any, arrays: Arrays, place: str, around: dict[str, int]) -> Any:
    """Return an object of a class after checking the form of each attribute."""
    parameters = _parameters(cls)
    forms = {name: form for name, form in layout_of(cls).items() if form != "-"}
    learned = nodes.keys() - set(parameters)
    needed = {name for name, form in forms.items() if not form.endswith("?")}
    if parameters and learned <= {OUTPUT}:  # an unfitted estimator
        needed = set()
    # A file may be older than a parameter, which then has its default.
    values = {k: v for k, v in parameters.items() if k not in nodes and v is not Parameter.empty}
    absent, unknown = needed | parameters.keys(), learned - forms.keys()
    absent -= nodes.keys() | values.keys()
    if absent or unknown:
        raise ValueError(
            f"{place}: a {cls.__name__} lacks {sorted(absent)} or does not have {sorted(unknown)}."
        )
    sizes = {} if parameters else {name: size for name, size in around.items() if name.isupper()}
    defaults = dict(values)
    for name in [*parameters, *forms]:
        if name in nodes:
            here = f"{place}.{name}"
            values[name] = decode(nodes[name], arrays, here, sizes)
            check_form(forms.get(name, "any"), values[name], sizes, here)
    begun = values.get("_begun")
    if isinstance(begun, dict):
        if not begun.keys() <= parameters.keys():
            raise ValueError(f"{place} has parameters that a {cls.__name__} does not have.")
        values["_begun"] = begun and defaults | begun
    if not issubclass(cls, Documented) and (issubclass(cls, tuple) or is_dataclass(cls)):
        restored = cls(**values)
    else:
        restored = object.__new__(cls)
        vars(restored).update(values)
    if isinstance(restored, Documented):
        restored._validate_params()
    if hasattr(restored, "_loaded"):
        restored._loaded()
    return restored
