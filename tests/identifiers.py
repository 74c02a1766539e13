"""Check the names of values and parameters: ``python tests/identifiers.py``.

A name says what the value is. The words of ``BANNED`` say how it came about, or nothing.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: Names that hide what their value is.
BANNED = {
    *("ahead", "away", "both", "due", "found", "further", "given", "goes_on", "heavy", "held"),
    *("home", "how", "known", "made", "mine", "more", "one", "settled", "some", "told", "whole"),
}


def names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the names that are bound in a module, with their lines."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name
            case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name


def faults(path: Path) -> Iterator[str]:
    """Yield a line for each banned name of a module."""
    for line, name in names(ast.parse(path.read_text(encoding="utf-8"))):
        word = name.strip("_")
        if word in BANNED or word.startswith("refuse"):
            yield f"{path.relative_to(ROOT)}:{line}: rename {name} after what it is"


def main() -> int:
    """Print the faults of the package and the papers; return whether there are any."""
    files = [*ROOT.glob("src/**/*.py"), *ROOT.glob("papers/*.py")]
    lines = [line for file in sorted(files) for line in faults(file)]
    print("\n".join(lines) if lines else "ok")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
