"""No test replaces a constant of the package: what tests want otherwise is an argument.

A patched constant hides that a function cannot be told what a test tells it, and a test that
patches one goes on passing when the code no longer reads it. What the world does may be replaced:
the clock, the environment, the machine's memory, files and libraries that are not there; and a
function may be watched, or a registry of what can be run replaced by one of small things.
"""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PATCHES = ("setattr", "setitem", "delattr", "delitem", "object", "dict")


def patched(tree):
    """Yield (line, name) of whatever a test replaces: an attribute, or an item of a table."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        holder = ast.unparse(node.func.value)
        if node.func.attr not in PATCHES or "patch" not in holder:
            continue
        target = node.args[0]
        if isinstance(target, ast.Constant):  # "package.module.NAME"
            yield node.lineno, target.value.rpartition(".")[2]
        elif node.func.attr in ("setitem", "delitem", "dict"):  # module.TABLE
            yield node.lineno, ast.unparse(target).rpartition(".")[2]
        elif isinstance(node.args[1], ast.Constant):
            yield node.lineno, node.args[1].value


@pytest.mark.parametrize(
    "path", sorted(TESTS.rglob("*.py")), ids=lambda path: str(path.relative_to(TESTS))
)
def test_no_test_replaces_a_constant(path):
    for line, name in patched(ast.parse(path.read_text(encoding="utf-8"))):
        assert not name.lstrip("_").isupper(), (
            f"{path.name}, line {line}, replaces {name}: make it an argument of what reads it, or "
            "choose data that need no other value"
        )


def test_constants_are_found():
    tree = ast.parse(
        "patch.setattr(module, 'SIZE', 3)\n"
        "monkeypatch.setattr('package.module._MOST', 3)\n"
        "monkeypatch.setitem(module.TABLE, 'quick', 3)\n"
        "monkeypatch.setattr(os, 'access', None)\n"
        "monkeypatch.setitem(sys.modules, 'h5py', None)\n"
    )
    names = [name for _, name in patched(tree)]
    assert names == ["SIZE", "_MOST", "TABLE", "access", "modules"]
    assert [name.lstrip("_").isupper() for name in names] == [True, True, True, False, False]
