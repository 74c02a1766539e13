"""Write the table of the estimators' abilities into its page: ``python docs/abilities.py``."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

import eigenstream

PAGE = Path(__file__).parent / "get-started" / "which-estimator.md"
START, END = "<!-- abilities -->\n", "<!-- end of abilities -->\n"

#: The estimators in the order of the table.
NAMES = (
    *("StreamPCA", "SlowSubspace", "DynamicSubspace", "ContrastSubspace", "ClassSubspace"),
    *("PairSubspace", "PairMetric", "CompetitiveLearning", "SelfOrganizingMap", "OjaNeuron"),
    *("SangerNetwork", "Perceptron", "Adaline", "AdalineRegressor", "MultilayerPerceptron"),
    *("MultilayerPerceptronRegressor", "RBFNetwork"),
)


def gaps(kind: Any) -> str:
    """Return the values of ``missing`` that use rows with missing values, or skip them."""
    options = getattr(kind, "_parameter_constraints", {}).get("missing", [])
    values = sorted(options[0].options - {"raise"}) if options else []
    return ", ".join(values)


#: The columns: whether a class has the ability.
COLUMNS: dict[str, Callable[[Any], bool]] = {
    "sparse rows": lambda kind: get_tags(kind()).input_tags.sparse,
    "weights": lambda kind: has_fit_parameter(kind, "sample_weight"),
    "resume": lambda kind: has_fit_parameter(kind, "checkpoint"),
    "`partial_fit`": lambda kind: hasattr(kind, "partial_fit"),
    "`merge`, Dask": lambda kind: hasattr(kind, "merge"),
    "device": lambda kind: getattr(kind, "_on_devices", False),
}


def table() -> str:
    """Return the table as Markdown."""
    lines = [["estimator", *COLUMNS, "missing"], ["---"] * (len(COLUMNS) + 2)]
    for name in NAMES:
        kind, link = getattr(eigenstream, name), f"{{py:class}}`~eigenstream.{name}`"
        marks = ["yes" if has(kind) else "" for has in COLUMNS.values()] + [gaps(kind)]
        if marks == lines[-1][1:]:  # estimators with equal abilities share a row
            lines[-1][0] += f" {link}"
        else:
            lines.append([link, *marks])
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def page() -> str:
    """Return the page with the present table."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(START)
    return before + START + table() + END + rest.split(END)[1]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
