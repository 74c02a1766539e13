"""Draw the packages of eigenstream on their floors, from the imports of the modules."""

import ast
from collections import defaultdict
from pathlib import Path

from matplotlib import pyplot

import eigenstream
from eigenstream.plotting import axes, save

PACKAGE = Path(eigenstream.__file__).parent


def lines_and_imports() -> tuple[dict[str, int], dict[str, set[str]]]:
    """Return the lines of each package, and the packages that it imports when it is loaded."""
    lines: dict[str, int] = defaultdict(int)
    below: dict[str, set[str]] = defaultdict(set)
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if not room.startswith("__"):
            text = path.read_text(encoding="utf-8")
            lines[room] += len(text.splitlines())
            for node in ast.parse(text).body:
                if isinstance(node, ast.ImportFrom) and (node.module or "").count("."):
                    module = str(node.module).split(".")
                    below[room] |= {module[1]} if module[0] == "eigenstream" else set()
            below[room].discard(room)
    return lines, below


def draw(path: Path) -> None:
    """Save the picture: a box for each package, as wide as the root of its lines of text."""
    lines, below = lines_and_imports()
    floors: dict[str, int] = {}
    for _ in lines:  # a circle of imports would never end
        for room in lines:
            if below[room] <= set(floors):
                floors.setdefault(room, 1 + max((floors[one] for one in below[room]), default=-1))
    ax = axes(9.0, 0.62 * (max(floors.values()) + 1))
    for floor in range(max(floors.values()) + 1):
        rooms = sorted(room for room in lines if floors[room] == floor)
        widths = [1.2 + (lines[room] / 800) ** 0.5 for room in rooms]
        left = -sum(widths) / 2
        for room, width in zip(rooms, widths, strict=True):
            ax.barh(floor, width - 0.15, 0.72, left=left, color="#0072b2")
            text = f"{room}\n{lines[room]:,}"
            middle = left + width / 2 - 0.075
            ax.text(middle, floor, text, color="white", ha="center", va="center", fontsize=8)
            left += width
    ax.set(xticks=[], yticks=range(max(floors.values()) + 1), ylabel="floor")
    ax.grid(False)
    ax.spines[:].set_visible(False)
    save(ax, path)
    pyplot.close(ax.figure)  # the first script of the gallery would show it
