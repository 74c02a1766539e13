"""Export of components as numbers, and of the projection as ONNX."""

import csv
from os import PathLike
from pathlib import Path

import numpy as np

from eigenstream.core.checks import required
from eigenstream.core.files import replacing
from eigenstream.core.types import Estimator
from eigenstream.rows.prepared import names_of_features
from eigenstream.subspace import (
    ClassSubspace,
    PairSubspace,
    SlowSubspace,
    StreamPCA,
    to_sklearn,
)
from eigenstream.subspace.estimators.results import answered

#: The supported file extensions.
ENDINGS = (".npy", ".csv", ".onnx")


def export(estimator: Estimator, path: str | PathLike[str]) -> None:
    """Write components as numbers, or the projection as an ONNX graph.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator with ``components_``. ONNX supports StreamPCA, SlowSubspace,
        ClassSubspace and PairSubspace without a feature map.
    path : str or path
        A file ending in ``.npy``, ``.csv`` or ``.onnx``. The first two contain one component in
        each row. A CSV file begins with the column names. An ONNX graph maps rows to features in
        float64 and includes the preprocessing steps. It requires ``pip install skl2onnx``.

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
        raise ValueError(f"Components cannot be written to {path}. Use {', '.join(ENDINGS)}.")
    if ending == ".onnx":
        graph = _onnx(estimator)
        with replacing(target) as file:
            file.buffer.write(graph)
        return
    if not hasattr(estimator, "components_"):
        raise ValueError(f"{type(estimator).__name__} has no components_. Pass a fitted subspace.")
    components = np.ascontiguousarray(estimator.components_)
    with replacing(target) as file:
        if ending == ".npy":
            np.save(file.buffer, components)
            return
        names = names_of_features(estimator)
        if names is None:
            names = [f"x{k}" for k in range(components.shape[1])]
        csv.writer(file, lineterminator="\n").writerow(names)
        np.savetxt(file, components, fmt="%.17g", delimiter=",")


def _onnx(estimator: Estimator) -> bytes:
    """Return the graph of the projection."""
    if not isinstance(estimator, StreamPCA | SlowSubspace | ClassSubspace | PairSubspace):
        kind = type(estimator).__name__
        raise ValueError(f"{kind} cannot be written as ONNX. Use .npy or .csv.")
    plain = to_sklearn(estimator)
    if answered(estimator).features is not None:
        raise ValueError(f"features={estimator.features!r} cannot be written as ONNX. Omit them.")
    try:
        import skl2onnx
        from skl2onnx.common.data_types import DoubleTensorType
    except ModuleNotFoundError as absent:
        raise ModuleNotFoundError(required("skl2onnx", "ONNX files")) from absent
    width = int(plain.n_features_in_)
    graph = skl2onnx.to_onnx(plain, initial_types=[("rows", DoubleTensorType([None, width]))])
    return bytes(graph.SerializeToString())
