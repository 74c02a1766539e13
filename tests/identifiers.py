"""Check the names of values and parameters: ``python tests/identifiers.py``.

A name says what the value is. The words of ``BANNED`` say how it came about, or nothing.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

SRC = Path(__file__).parents[1] / "src" / "eigenstream"
BANNED = {"due", "found", "given", "goes_on", "held", "made", "mine", "one", "some", "told"}
#: Folders and modules without banned names; a new one is added when it is clean.
CLEAN = (
    *("distributed", "evaluation", "features", "kernels", "monitor", "neurons", "processes"),
    *(
        "online",
        "prototypes",
        "rows",
        "theory",
        "_checks.py",
        "_constraints.py",
        "_history.py",
        "_hooks.py",
    ),
    *("_prepared.py", "_refusals.py", "_streams.py"),
    *("_documented.py", "_files.py", "_machine.py", "_provenance.py", "_storable.py"),
    *("demo.py", "pair_sampling.py", "streams/outliers.py"),
    *(f"subspace/inference/{name}.py" for name in ("decays", "timescales")),
    *(f"subspace/sums/{name}.py" for name in ("columns", "peaks", "row_moments")),
    *(f"persistence/{name}.py" for name in ("checkpoints", "exports", "model_file")),
)


def names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the names that are bound in a module, with their lines."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name
            case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name


#: Further folders without banned names.
ROOMS = ("cli", "persistence", "plotting", "reports", "streams")


def faults(path: Path) -> Iterator[str]:
    """Yield a line for each banned name of a module."""
    for line, name in names(ast.parse(path.read_text(encoding="utf-8"))):
        word = name.strip("_")
        if word in BANNED or word.startswith("refuse"):
            yield f"{path.relative_to(SRC.parent)}:{line}: rename {name} after what it is"


def main(places: list[str]) -> int:
    """Print the faults of some places, or of all clean ones; return whether there are any."""
    paths = [SRC / place for place in places or (*CLEAN, *ROOMS)]
    files = [file for path in paths for file in ([path] if path.is_file() else path.rglob("*.py"))]
    lines = [line for file in sorted(files) for line in faults(file)]
    print("\n".join(lines) if lines else "ok")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
