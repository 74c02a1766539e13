"""The files of a release agree with each other."""

import json
import re
import tomllib
from pathlib import Path

import eigenstream

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
#: Packages with another name in conda.
CONDA_NAMES = {"matplotlib": "matplotlib-base"}


def test_the_conda_recipe_has_the_dependencies_of_the_wheel():
    recipe = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    run = recipe.partition("  run:\n")[2].partition("tests:")[0]
    packages = dict(re.findall(r"- (\S+) >=(\S+)", run))
    assert packages.pop("python") == PROJECT["requires-python"].removeprefix(">=")
    pairs = [requirement.split(">=") for requirement in PROJECT["dependencies"]]
    assert packages == {CONDA_NAMES.get(name, name): floor for name, floor in pairs}


def test_every_file_names_the_same_version():
    meta = json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))
    recipe = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    assert meta["version"] == eigenstream.__version__
    assert f'version: "{eigenstream.__version__}"' in recipe
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## (\S+)", changes, re.MULTILINE)[1] == eigenstream.__version__
