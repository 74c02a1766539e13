"""Each script of the gallery runs, draws a picture, and finds what its page states."""

import re
from pathlib import Path
from runpy import run_path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot

from eigenstream import plotting

FOLDER = Path(__file__).parents[1] / "examples" / "gallery"

#: A statement about the variables of each script.
TRUE = {
    "alpha": lambda of: (of["above"], of["below"]) == (3, 2),
    "bounds": lambda of: list(of["values"].values()) == sorted(of["values"].values()),
    "chunks": lambda of: of["largest"] < 1e-12 and min(of["angles"]["separate sequences"]) > 1e-5,
    "components": lambda of: of["model"].explained_variance_ratio_.sum() > 0.5,
    "cross_validation": lambda of: (
        of["scores"].best(lag=1) == {"lag": 1, "n_components": 3, "alpha": 0.5}
    ),
    "distance_to_the_optimum": lambda of: (
        of["final"]["dense"] < 0.01
        and of["final"]["sketch"] < 1.1 * of["final"]["dense"]
        and of["final"]["flow"] < 3 * of["final"]["dense"]
    ),
    "error_bars": lambda of: (
        of["inside"] >= 4 and of["found"].angles[1] > 0.2 > 0.05 > of["found"].subspace_angles[2]
    ),
    "map_of_digits": lambda of: of["classes"].purity > 0.95,
    "map_unfolding": lambda of: of["errors"][0] > 0.9 and of["errors"][-1] < 0.01,
    "metric_learning": lambda of: of["areas"]["ClassSubspace"] > of["areas"]["PCA"] + 0.04,
    "molecule": lambda of: (
        of["correlation"] > 0.98 and np.allclose(of["path"].timescales[-1], of["exact"], rtol=0.15)
    ),
    "monitor": lambda of: 10_000 < of["first"].rows <= 11_500 and of["records"][-1].alarm,
    "neural_gas": lambda of: (
        max(of["inertia"]["neural gas"]) < 0.52 < min(of["inertia"]["k-means"])
        and of["models"]["k-means"][of["worst"]].counts_.max() > 500
    ),
    "neurons": lambda of: (
        of["cosine"] > 0.99
        and of["perceptron"].score(of["X"], of["y"]) == 1.0
        and of["network"].score(of["corners"], of["answers"]) == 1.0
    ),
    "oscillation": lambda of: of["period"].low[0] < 20 < of["period"].high[0],
    "plateau": lambda of: of["gap"] < 0.1 and of["end"] > 2 * of["start"],
    "turning_letters": lambda of: of["area"] > 0.99 > 0.7 > of["area_of_pca"],
    "two_sines": lambda of: of["correlation"] > 0.99 and of["correlation_of_pca"] < 0.1,
}


def test_every_script_has_a_statement():
    assert {path.stem.removeprefix("plot_") for path in FOLDER.rglob("plot_*.py")} == set(TRUE)


def test_every_drawing_function_is_in_the_gallery():
    """Reference pages of drawing functions link the scripts that use them."""
    scripts = "".join(path.read_text("utf-8") for path in FOLDER.rglob("plot_*.py"))
    not_drawn = run_path(str(FOLDER.parents[1] / "docs" / "samples.py"))["NO_DRAWINGS"]
    drawn = set(plotting.__all__) - not_drawn
    assert {name for name in drawn if not re.search(rf"\b{name}\(", scripts)} == set()


@pytest.mark.parametrize("name", TRUE)
def test_a_script_finds_what_its_page_states(name, monkeypatch):
    (script,) = FOLDER.rglob(f"plot_{name}.py")
    monkeypatch.chdir(script.parent)
    with mpl.rc_context({"backend": "Agg"}):
        found = run_path(str(script))
        assert pyplot.get_fignums()
    assert TRUE[name](found)
