"""The floors of docs/architecture.md, kept by walking the syntax trees (deferred imports count)."""

import ast
from pathlib import Path

import pytest

import eigenstream

ROOT = Path(eigenstream.__file__).parent
MODULES = sorted(path for path in ROOT.rglob("*.py"))

FLOORS = {
    "_linalg": 0,
    "_state": 0,
    "_checks": 0,
    "kernels": 1,
    "scatters": 1,
    "theory": 1,
    "processes": 2,
    "constraints": 1,
    "schedules": 1,
    "contrast": 2,
    "features": 2,
    "solvers": 2,
    "rules": 1,
    "evaluation": 2,
    "estimators": 3,
    "prototypes": 3,
    "neurons": 3,
    "streams": 4,
    "models": 4,
    "plotting": 4,
    "testing": 4,
    "experiments": 5,
    "cli": 6,
    "__main__": 7,
}

#: Libraries that only one place may import.
HOMES = {
    "numba": ("kernels",),
    "matplotlib": ("plotting",),
    "dask": ("distributed",),
    "jinja2": ("experiments",),
    "typer": ("cli",),
}


def inside(path):
    """The module's path below the package, e.g. ("solvers", "dense")."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def imports(path):
    """Every imported module name, absolute or relative, at any depth of the tree."""
    package = ("eigenstream", *inside(path))
    if path.name != "__init__.py":
        package = package[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*base, *((node.module or "").split(".") if node.module else ())))
            if (ROOT.parent / Path(*module.split("."))).is_dir():
                # "from package import name": the name may be a module of its own.
                for alias in node.names:
                    child = ROOT.parent / Path(*module.split("."), alias.name)
                    is_module = child.is_dir() or child.with_suffix(".py").exists()
                    yield f"{module}.{alias.name}" if is_module else module
            else:
                yield module


@pytest.mark.parametrize("path", MODULES, ids=lambda path: ".".join(inside(path)) or "eigenstream")
def test_imports_go_downward(path):
    here = inside(path)
    if not here:
        pytest.skip("the package's own __init__ gathers the public names from every floor")
    floor = FLOORS[here[0]]
    for name in imports(path):
        head, *rest = name.split(".")
        if head in HOMES:
            assert here[0] in HOMES[head], f"{name} is imported outside {HOMES[head]}"
        if head != "eigenstream":
            continue
        if not rest:  # "from eigenstream import __version__"
            continue
        target = FLOORS[rest[0]]
        if rest[0] == here[0]:
            # Shared are the bases of a module's own folder and of those that it lies in.
            folder = here if path.name == "__init__.py" else here[:-1]
            depth = sum(a == b for a, b in zip(rest, folder, strict=False))
            shared = depth == len(rest) or rest[depth].startswith(("base", "_"))
            assert path.name == "__init__.py" or shared, (
                f"{'.'.join(here)} imports its sibling {name}; inside a floor only base is shared"
            )
        else:
            # What floor 0 shares is _checks; what a package shares is its base.
            shared_base = target == floor and rest[-1] in ("base", "_checks")
            assert target < floor or shared_base, (
                f"{'.'.join(here)} (floor {floor}) imports {name} ({target})"
            )


@pytest.mark.parametrize("path", MODULES, ids=lambda path: ".".join(inside(path)) or "eigenstream")
def test_no_module_is_long(path):
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= 400, f"{path.name} has {lines} lines"
