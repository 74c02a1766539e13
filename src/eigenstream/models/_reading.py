"""From a file to the estimator: known classes only, each part checked before it is used."""

import inspect
import re
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream import __version__
from eigenstream.models._container import Container, refuse
from eigenstream.models._shapes import check_estimator, check_state
from eigenstream.models.base import (
    ESTIMATORS,
    FORMAT,
    PLAIN,
    VALUES,
    VERSION,
    ModelError,
    qualified,
)

#: What attributes that learning sets are called, and the nested parts of a state.
LEARNED = re.compile(r"[a-z]\w*_|_[a-z]\w*|(plan|learner)\.[a-z][\w.]*")

#: What restoring may raise where a state is not what the class has given.
WRONG = (
    *(ArithmeticError, AttributeError, LookupError, MemoryError),
    *(RecursionError, TypeError, ValueError),
)


#: What a checkpoint says about its stream, and as what.
CHECKPOINT = {
    "identity": dict,
    "settings": dict,
    "place": dict,
    "rows": int,
    "turn": int,
    "complete": bool,
}


def load(path: str | PathLike[str]) -> Any:
    """Return what ``save`` wrote: it goes on where that stood, to the last bit.

    Nothing in a file is run, no class outside the library's own is made, and every type, shape and
    size is checked before memory is taken: a file from elsewhere can be wrong, not dangerous.

    >>> import numpy as np, eigenstream
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> rows = np.random.default_rng(0).standard_normal((200, 5))
    >>> path = Path(mkdtemp()) / "pca.eigs"
    >>> eigenstream.save(eigenstream.StreamPCA(2).fit(rows), path)
    >>> eigenstream.load(path).transform(rows).shape
    (200, 2)
    """
    return read(path)[0]


def read(path: str | PathLike[str]) -> tuple[Any, dict[str, Any]]:
    """Return what a file holds: an estimator, and of a checkpoint where in its stream it stands."""
    file = opened(path)
    name = file.header.get("class")
    if not isinstance(name, str) or name not in ESTIMATORS | VALUES:
        refuse(file.path, "class", f"{name!r:.80} is no class of eigenstream that is saved.")
    model = file.header.get("model")
    if not isinstance(model, dict) or model.get("is") != name:
        refuse(file.path, "model", f"a {name} is announced, and is not there.")
    reader = Reader(file.path, file.read())
    made = reader.made(model, "")
    told = reader.checkpoint(file.header.get("checkpoint", {}))
    reader.check_all_used()
    return made, told


def describe(path: str | PathLike[str]) -> dict[str, Any]:
    """Return what a model file says about itself, without reading its arrays.

    Class and parameters, names of the columns, library versions, provenance (date, rows seen), the
    number of arrays and the bytes of all; of a checkpoint, how many rows of a pass it holds, how
    many passes before that, and whether the fit was over.

    >>> import numpy as np, eigenstream
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from eigenstream.models import describe
    >>> path = Path(mkdtemp()) / "pca.eigs"
    >>> eigenstream.save(eigenstream.StreamPCA(1).partial_fit(np.eye(3)), path, date="2026-01-01")
    >>> found = describe(path)
    >>> found["class"], found["provenance"]
    ('StreamPCA', {'date': '2026-01-01', 'rows_seen': 3})
    """
    file = opened(path)
    told = {
        name: value for name, value in file.header.items() if name not in ("model", "checkpoint")
    }
    model = file.header.get("model")
    told["parameters"] = model.get("parameters") if isinstance(model, dict) else None
    checkpoint = file.header.get("checkpoint")
    if isinstance(checkpoint, dict):
        named = {"rows": "rows", "passes": "turn", "complete": "complete"}
        told["checkpoint"] = {name: checkpoint.get(key) for name, key in named.items()}
    return told | {"n_arrays": len(file.arrays), "n_bytes": file.size}


def opened(path: str | PathLike[str]) -> Container:
    """Return the checked file, refusing newer formats."""
    file = Container(Path(path).expanduser())
    version = file.header.get("format_version")
    if file.header.get("format") != FORMAT or type(version) is not int or version < 1:
        refuse(file.path, "format_version", f"{version!r:.40} is no version of a model file.")
    if version > VERSION:
        refuse(
            file.path,
            "format_version",
            f"the file has format {version}, and eigenstream {__version__} reads up to {VERSION}: "
            "pip install --upgrade eigenstream.",
        )
    return file


class Reader:
    """Puts values together again from their tree and their arrays."""

    def __init__(self, path: Path, arrays: dict[str, NDArray[Any]]) -> None:
        self._path = path
        self._arrays = arrays

    def made(self, node: Any, place: str) -> Any:
        """Return the value of a tree."""
        if node is None or isinstance(node, bool | int | float | str):
            return node
        if isinstance(node, list):
            return [self.made(one, qualified(place, k)) for k, one in enumerate(node)]
        kind = node.get("is")
        if not isinstance(kind, str):
            refuse(self._path, place, "a value does not say what it is.")
        try:
            if kind in ESTIMATORS:
                return self.estimator(node, kind, place)
            if kind in VALUES:
                state = self.mapping(node["of"], place)
                check_state(state)
                return VALUES[kind].restored(state)
            if kind in PLAIN:
                return PLAIN[kind](**self.mapping(node["of"], place))
            if kind == "array":
                return self.array(node)
            if kind == "number":
                return self.array(node["of"])[()]
            if kind == "float" and node["of"] in ("nan", "inf", "-inf"):
                return float(node["of"])
            if kind == "tuple":
                return tuple(self.made(node["of"], place))
            if kind == "dict":
                return {self.made(key, place): self.made(one, place) for key, one in node["of"]}
        except ModelError:
            raise
        except WRONG as wrong:
            told = f"{type(wrong).__name__}: {wrong}"
            refuse(self._path, place or kind, f"this makes no {kind} ({told:.200}).")
        return refuse(self._path, place, f"{kind!r:.80} is nothing that a model is made of.")

    def mapping(self, nodes: Any, place: str) -> dict[str, Any]:
        """Return the value of each tree by its name."""
        if not isinstance(nodes, dict):
            raise TypeError("names are due")
        return {name: self.made(one, qualified(place, name)) for name, one in nodes.items()}

    def checkpoint(self, nodes: Any) -> dict[str, Any]:
        """Return what a checkpoint says about its stream; nothing, of other files."""
        try:
            told = self.mapping(nodes, "checkpoint")
            for name, kind in CHECKPOINT.items() if told else ():
                if type(told[name]) is not kind:
                    raise TypeError(f"{name} is no {kind.__name__}")
        except WRONG as wrong:
            refuse(self._path, "checkpoint", f"this says nothing of a stream ({wrong!s:.200}).")
        return told

    def array(self, node: dict[str, Any]) -> NDArray[Any]:
        """Return an array, its axes in memory as they were."""
        values = self._arrays.pop(node["at"])
        if "axes" in node:
            if sorted(node["axes"]) != list(range(values.ndim)):
                raise ValueError(f"axes={node['axes']!r:.40} are not those of {values.shape}")
            values = values.transpose(np.argsort(node["axes"]))
        if "text" in node:
            width = values.shape[-1]
            if values.dtype != np.uint32 or width < 1 or (values > 0x10FFFF).any():
                raise ValueError("this is no text")
            flat = np.ascontiguousarray(values)
            values = np.frombuffer(flat.tobytes(), f"U{width}").reshape(values.shape[:-1])
            values = values.astype(object) if node["text"] == "object" else values.copy()
        return values

    def check_all_used(self) -> None:
        """Refuse arrays that belong to nothing; none can belong to two, which would add up."""
        for name in self._arrays:
            refuse(self._path, f"array {name!r:.80}", "it belongs to no part of the model.")

    def estimator(self, node: dict[str, Any], kind: str, place: str) -> Any:
        """Return an estimator from its parameters and what it has learned."""
        cls = ESTIMATORS[kind]
        given = self.mapping(node["parameters"], qualified(place, "parameters"))
        learned = self.mapping(node["learned"], qualified(place, "learned"))
        if set(given) != set(cls._get_param_names()):
            raise ValueError(f"the parameters {sorted(given)} are not those of the class")
        for name in learned:
            static = inspect.getattr_static(cls, name, None)
            shadows = callable(static) or isinstance(static, property | classmethod | staticmethod)
            if shadows or name in given or not LEARNED.fullmatch(name):
                raise ValueError(f"{name!r} is nothing that this class learns")
        estimator = cls.restored(given, learned)
        check_estimator(estimator)
        return estimator
