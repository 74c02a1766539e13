"""What was learned in formats of other programs: components as numbers, the projection as ONNX."""

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from eigenstream._files import replacing

__all__ = ["ENDINGS", "export"]

#: What can be written, by the ending of the file.
ENDINGS = (".npy", ".csv", ".onnx")


def export(estimator: Any, path: str | PathLike[str]) -> None:
    """Write components as numbers, or the projection as an ONNX graph, by the file's ending.

    ``.npy`` and ``.csv`` get ``components_``, one a row; the first line of a CSV names the columns.
    ``.onnx`` gets what maps a row to its features, steps of preprocessing included, in float64: for
    ``StreamPCA`` and ``SlowSubspace`` without a feature map. It takes ``pip install skl2onnx``.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> from eigenstream import StreamPCA
    >>> path = mkdtemp() + "/components.csv"
    >>> export(StreamPCA(1).fit(np.array([[0.0, 2.0], [0.0, -2.0]])), path)
    >>> open(path).read().split()
    ['x0,x1', '0,1']
    """
    target = Path(path).expanduser()
    ending = target.suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(f"{path}: components are written to {', '.join(ENDINGS)}.")
    if ending == ".onnx":
        graph = _onnx(estimator)
        with replacing(target) as file:
            file.buffer.write(graph)
        return
    components = _components(estimator)
    with replacing(target) as file:
        if ending == ".npy":
            np.save(file.buffer, components)
            return
        names = getattr(estimator, "feature_names_in_", None)
        if names is None or len(names) != components.shape[1]:
            names = [f"x{k}" for k in range(components.shape[1])]
        file.write(",".join(_quoted(str(name)) for name in names) + "\n")
        np.savetxt(file, components, fmt="%.17g", delimiter=",")


def _components(estimator: Any) -> Any:
    """Return the components as rows of numbers."""
    if not hasattr(estimator, "components_"):
        raise ValueError(f"a {type(estimator).__name__} has no components to write.")
    return np.ascontiguousarray(estimator.components_)


def _quoted(name: str) -> str:
    special = any(mark in name for mark in ',"\n\r')
    return '"' + name.replace('"', '""') + '"' if special else name


def _onnx(estimator: Any) -> bytes:
    """Return the graph of the projection."""
    if not hasattr(estimator, "to_sklearn"):
        raise ValueError(
            f"a {type(estimator).__name__} is not written as ONNX: StreamPCA and SlowSubspace are."
        )
    plain = estimator.to_sklearn(preprocessing=True)
    if estimator._map is not None:
        raise ValueError(
            f"features={estimator.features!r} has no form in ONNX. Export a model without a "
            "feature map, or use to_sklearn(), which keeps it."
        )
    try:
        import skl2onnx
        from skl2onnx.common.data_types import DoubleTensorType
    except ModuleNotFoundError as absent:
        raise ModuleNotFoundError(
            "to write ONNX takes skl2onnx: pip install skl2onnx, or pip install "
            "'eigenstream[onnx]'."
        ) from absent
    width = int(plain.n_features_in_)
    graph = skl2onnx.to_onnx(plain, initial_types=[("rows", DoubleTensorType([None, width]))])
    found: bytes = graph.SerializeToString()
    return found
