"""The page on the architecture: the calls of a fit, traced, and the floors, by syntax trees."""

import ast
import re
import sys
from functools import cache
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest

import eigenstream
from eigenstream import ClassSubspace, SlowSubspace, StreamPCA

ROOT = Path(eigenstream.__file__).parent
MODULES = sorted(path for path in ROOT.rglob("*.py"))

#: What lies directly in the package, by the floor from which it imports only downward.
FLOORS = {
    "core": 0,
    "kernels": 1,
    "rows": 1,
    "schedules": 1,
    "theory": 1,
    "evaluation": 2,
    "features": 2,
    "online": 2,
    "processes": 2,
    "prototypes": 2,
    "streams": 2,
    "neurons": 3,
    "subspace": 3,
    "distributed": 4,
    "monitor": 4,
    "persistence": 5,
    "plotting": 5,
    "demo": 6,
    "reports": 6,
    "cli": 7,
    "__main__": 8,
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
                floor = FLOORS[here[0]] + (target[-1] == "base")
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


ROWS = np.random.default_rng(0).standard_normal((3000, 20))
ROWS += 0.01 * ROWS.cumsum(axis=0)
LABELS = np.arange(3000) % 3
CALLS = {
    "SlowSubspace(2).fit(X)": lambda: SlowSubspace(2).fit(ROWS),
    "StreamPCA(2).fit(X)": lambda: StreamPCA(2).fit(ROWS),
    'ClassSubspace(2, criterion="difference", eta=1.0).fit(X, y)': lambda: ClassSubspace(
        2, criterion="difference", eta=1.0
    ).fit(ROWS, LABELS),
    "pca.partial_fit(X[:10])": lambda: pca().partial_fit(ROWS[:10]),
    "pca.transform(X[:10])": lambda: pca().transform(ROWS[:10]),
}


@cache
def pca():
    return StreamPCA(2).fit(ROWS)


def trace(call):
    """Return the files of the package that a call enters, the moves between them, and the calls.

    Every call of a function of the package counts.
    """
    files = []

    def note(frame, event, _):
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(str(ROOT)):
            files.append(path)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len(set(files)), len([*groupby(files)]), len(files)


def documented_traces():
    """Return the figures of the page by the call."""
    page = Path(__file__).parents[1] / "docs" / "development" / "architecture.md"
    table = re.findall(r"^\| `(.+)` \| (\d+) \| (\d+) \| (\d+) \|$", page.read_text("utf-8"), re.M)
    return {call: tuple(map(int, figures)) for call, *figures in table}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", CALLS)
def test_a_trace_stays_below_the_documented_figures(name):
    CALLS[name]()  # the first call imports
    found = trace(CALLS[name])
    # Figures may fall: write the new ones into the page.
    assert all(np.less_equal(found, documented_traces()[name])), found


def test_every_documented_trace_is_measured():
    assert documented_traces().keys() == CALLS.keys()
