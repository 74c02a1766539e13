"""The page on the architecture: the way of a row, traced, and the floors, by syntax trees."""

import ast
import re
import sys
from inspect import CO_GENERATOR
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest

import eigenstream
from eigenstream import (
    CompetitiveLearning,
    ContrastSubspace,
    PairSubspace,
    Perceptron,
    SelfOrganizingMap,
    SlowSubspace,
    StreamPCA,
)
from eigenstream.rows.chunk import Chunk, Place
from eigenstream.rows.rows import Part, Rows
from eigenstream.subspace import Result
from eigenstream.subspace.sums.block import Block
from eigenstream.subspace.sums.operators import Eigenpairs, MatrixOperator

ROOT = Path(eigenstream.__file__).parent
MODULES = sorted(path for path in ROOT.rglob("*.py"))

#: What lies directly in the package, by the floor from which it imports only downward.
FLOORS = {
    "_checks": 0,
    "_constraints": 0,
    "_documented": 0,
    "_files": 0,
    "_history": 1,
    "_hooks": 0,
    "_linalg": 0,
    "_machine": 0,
    "_namespaces": -1,
    "_provenance": 0,
    "_refusals": 0,
    "_storable": 0,
    "_types": -2,
    "_prepared": 3,
    "_streams": 1,
    "kernels": 1,
    "rows": 2,
    "schedules": 1,
    "theory": 1,
    "evaluation": 3,
    "online": 2,
    "features": 5,
    "processes": 2,
    "subspace": 4,
    "neurons": 5,
    "prototypes": 5,
    "distributed": 5,
    "monitor": 5,
    "persistence": 6,
    "plotting": 6,
    "streams": 4,
    "reports": 7,
    "demo": 8,
    "cli": 9,
    "__main__": 10,
}

#: Folders that are planned; one that has come is taken off this list.
FUTURE: set[str] = set()

#: Libraries that only these places may import.
HOMES = {
    "numba": ("kernels",),
    "matplotlib": ("plotting",),
    "dask": ("distributed",),
    "jinja2": ("reports/base",),
    "typer": ("cli",),
    "pyarrow": ("streams",),
    "h5py": ("streams",),
    "zarr": ("streams",),
    "av": ("streams",),
    "soundfile": ("streams",),
    "fsspec": ("streams",),
    "xarray": ("streams",),
    "safetensors": ("persistence",),
    "skl2onnx": ("persistence",),
}


def inside(path):
    """The module's path below the package, e.g. ("solvers", "dense")."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def package_of(path):
    """The path of the folder that holds the module; of a package, its own."""
    return path.parent.relative_to(ROOT).parts


def found(parts):
    """The module or folder of such a path below the package, or None."""
    place = ROOT.joinpath(*parts)
    return place if place.is_dir() or place.with_suffix(".py").exists() else None


def imports(path):
    """Every import as (module below the package or None, name), at any depth of the tree."""
    here = ("eigenstream", *package_of(path))
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield tuple(alias.name.split(".")), None
        elif isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level + 1] if node.level else ()
            module = (*base, *((node.module or "").split(".") if node.module else ()))
            for alias in node.names:
                # "from package import name": the name may be a module of its own.
                if module[0] == "eigenstream" and found((*module[1:], alias.name)):
                    yield (*module, alias.name), None
                else:
                    yield module, alias.name
        elif isinstance(node, ast.Call) and "import_module" in ast.unparse(node.func):
            name = node.args[0].value if isinstance(node.args[0], ast.Constant) else ""
            yield tuple(name.split(".")), None


def test_imports_go_downward():
    for path in MODULES:
        here = inside(path)
        if not here:  # the package's __init__ gathers the public names of every floor
            continue
        for module, _ in imports(path):
            name, target = ".".join(module), module[1:]
            if module[0] in HOMES:
                homes = HOMES[module[0]]
                assert "/".join(here).startswith(homes), f"{path} imports {name}: only {homes} may"
            if module[0] == "eigenstream" and target and target[0] != here[0]:
                # Folders of one floor share their base.
                floor = FLOORS[here[0]] + (target[-1] in ("base", "_checks"))
                assert FLOORS[target[0]] < floor, f"{path} imports {name} of a floor above"


def private_of_others(path):
    """Every private name that a module imports from outside its packages, and who holds it."""
    here = package_of(path)
    for module, name in imports(path):
        if module[0] != "eigenstream":
            continue
        parts = module[1:] if name is None else (*module[1:], name)
        for at, part in enumerate(parts):
            if not part.startswith("_") or part.startswith("__"):
                continue
            holder = parts[:at]
            if not ROOT.joinpath(*holder).is_dir():  # a name of a module: its folder holds it
                holder = holder[:-1]
            if here[: len(holder)] != holder:
                yield ".".join(parts), holder


def test_private_names_stay_inside_their_package():
    found = [(str(path), *one) for path in MODULES for one in private_of_others(path)]
    assert not found, f"imported though private to another package: {found}"


def test_every_folder_has_a_floor():
    folders = {inside(path)[0] for path in MODULES if inside(path)}
    assert folders == set(FLOORS) - FUTURE


#: The forms that rows take on their way, and files that define them or look at them in passing.
FORMS = (Part, Rows, Place, Chunk, Block, MatrixOperator, Eigenpairs, Result)
OF_FORMS = (Chunk, Block)
BESIDE = {"base", "block", "sample", "guard", "time", "correlations"}
BESIDE |= {"values", "sequences", "peaks"}  # the watchers
ROWS = np.random.default_rng(0).standard_normal((40, 4)).cumsum(axis=0)
PAIRS = ROWS[np.random.default_rng(1).integers(40, size=(30, 2))]


def handlers(call):
    """Return the files of the functions that are given rows in any form, in the order of calls.

    Methods of chunks and blocks, and generators that resume, are no stops of their own.
    """
    found = []

    def watch(frame, event, _):
        code, path = frame.f_code, Path(frame.f_code.co_filename)
        if event != "call" or code.co_flags & CO_GENERATOR or not path.is_relative_to(ROOT):
            return
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        values = [frame.f_locals.get(name) for name in names]
        if values and isinstance(values[0], OF_FORMS):
            return
        values += [part for value in values if isinstance(value, list) for part in value]
        if any(isinstance(value, FORMS) for value in values) and path.stem not in BESIDE:
            found.append(path.stem)

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


def documented_stops():
    page = Path(__file__).parents[1] / "docs" / "development" / "architecture.md"
    stops = re.findall(r"^\d\. `[\w/]+/(\w+)\.py`", page.read_text("utf-8"), re.MULTILINE)
    assert len(stops) <= 8
    return stops


def test_the_way_of_a_row_is_the_documented_one_and_never_goes_back():
    way = handlers(lambda: StreamPCA(2).fit(ROWS).components_)
    assert [stop for stop, _ in groupby(way)] == documented_stops()


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    ("model", "given", "own"),
    [
        # Two halves of the rows take turns. After the fit, the features of the first rows show
        # whether the lag is too short.
        (SlowSubspace(2), {"X": ROWS}, {"slow_subspace", "mapping", "projection", "halves"}),
        (ContrastSubspace(2), {"X": ROWS, "background": ROWS[::2]}, {"label_terms"}),
        (
            PairSubspace(2, eta=1.0),
            {"pairs": PAIRS, "y": np.resize([1, -1], 30)},
            {"pair_input", "pairwise", "held_out", "label_terms", "hashes"},
        ),
    ],
    ids=lambda one: type(one).__name__,
)
def test_other_estimators_add_only_their_own_stops(model, given, own, method):
    way = dict.fromkeys(handlers(lambda: getattr(model, method)(**given).components_))
    assert set(way) - own <= set(documented_stops())


@pytest.mark.parametrize(
    ("model", "own"),
    [
        (CompetitiveLearning(3, method="batch", random_state=0), {"_sums"}),
        (SelfOrganizingMap((2, 2), random_state=0), {"_sums", "self_organizing_map"}),
        (Perceptron(random_state=0), {"_base"}),
    ],
    ids=lambda one: type(one).__name__,
)
def test_prototypes_and_neurons_take_the_first_stops(model, own):
    signs = (ROWS[:, 0] > 0).astype(int)
    way = dict.fromkeys(handlers(lambda: model.fit(ROWS, signs)))
    assert set(way) - own == set(documented_stops()[:3])
