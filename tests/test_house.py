"""Figures of the source code that may only fall: lower a bound here when its figure has fallen."""

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter

import pytest

from test_architecture import FLOORS, MODULES, ROOT, found

#: The largest figure of each kind. Counts are for 1,000 lines of code.
BOUNDS = {
    "getattr and hasattr": 3.1,
    "private names of other objects": 2.8,
    "percent of annotations that are Any": 13.7,
    "modules": 187,
    "lines of the longest module": 600,
    "floors": 9,
}


@cache
def trees():
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in MODULES}


def n_lines(path, tree):
    """Return the number of lines without blank lines, comments and docstrings."""
    lines = path.read_text(encoding="utf-8").splitlines()
    text = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for line in range(node.lineno, node.end_lineno + 1)
        if isinstance(node.value.value, str)
    }
    code = (n for n, line in enumerate(lines, 1) if line.strip() and line.strip()[0] != "#")
    return sum(n not in text for n in code)


def asks(node):
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("getattr", "hasattr")
    )


def is_foreign(node):
    """Return whether a node reads a private attribute of another object than self and super."""
    if not isinstance(node, ast.Attribute) or not node.attr.startswith("_"):
        return False
    owner = node.value.func if isinstance(node.value, ast.Call) else node.value
    own = isinstance(owner, ast.Name) and owner.id in ("self", "cls", "super")
    return not node.attr.startswith("__") and not own


def annotations(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            arguments = node.args
            every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
            every += [one for one in (arguments.vararg, arguments.kwarg) if one]
            yield from (argument.annotation for argument in every if argument.annotation)
            yield from filter(None, [node.returns])
        elif isinstance(node, ast.AnnAssign):
            yield node.annotation


def aliases_of_any():
    tree = trees()[ROOT / "core" / "types.py"]
    assigned = (node for node in tree.body if isinstance(node, ast.AnnAssign))
    return {"Any", *(n.target.id for n in assigned if getattr(n.value, "id", "") == "Any")}


def figures():
    nodes = [node for tree in trees().values() for node in ast.walk(tree)]
    thousands = sum(n_lines(*item) for item in trees().items()) / 1000
    vague = aliases_of_any()
    kinds = [
        isinstance(kind, ast.Name) and kind.id in vague
        for tree in trees().values()
        for kind in annotations(tree)
    ]
    return {
        "getattr and hasattr": sum(map(asks, nodes)) / thousands,
        "private names of other objects": sum(map(is_foreign, nodes)) / thousands,
        "percent of annotations that are Any": 100 * sum(kinds) / len(kinds),
        "modules": len(MODULES),
        "lines of the longest module": max(
            path.read_text(encoding="utf-8").count("\n") for path in MODULES
        ),
        "floors": len(set(FLOORS.values())),
    }


@pytest.fixture(scope="module")
def measured():
    return figures()


@pytest.mark.parametrize("figure", BOUNDS)
def test_a_figure_of_the_house_does_not_rise(measured, figure):
    assert measured[figure] <= BOUNDS[figure]


def imported(tree):
    """Yield the modules that a module imports when it is imported; packages are left out."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("eigenstream."):
            parts = tuple(node.module.split(".")[1:])
            for alias in node.names:
                place = found((*parts, alias.name)) or found(parts)
                if not place.is_dir():
                    yield place.with_suffix(".py")


def test_no_module_imports_itself_through_others():
    graph = {path: set(imported(tree)) for path, tree in trees().items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(str(path.relative_to(ROOT)) for path in error.args[1]))
