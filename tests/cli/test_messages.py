"""Errors of the commands: one line that names the place and the option, exit code 2, no file."""

import os
import re
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from bad_sources import CASES
from commands import answer, run

WATCH = "watch m.eigs later.npy --reference all.npy --window 20"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(0).standard_normal((300, 3)).cumsum(axis=0)
    np.save("all.npy", rows)
    np.save("later.npy", rows[:50])
    (tmp_path / "named.csv").write_text("x,y\n" + "1,2\n3,5\n" * 30)
    (tmp_path / "few.csv").write_text("x,y\n1,2\n3,5\n4,4\n")
    (tmp_path / "gap.csv").write_text("a,b\n1,2\n3,\n")
    (tmp_path / "head.csv").write_text("1,2\n3,4\n5,9\n")
    (tmp_path / "euro.csv").write_text("x;y\n1,5;2\n3,5;5\n7;1,25\n")
    (tmp_path / "pairs.csv").write_text("0,1,same\n1,2,different\n2,5,twin\n")
    answer("fit", "pca", "all.npy", "-d", 1, "-o", "m.eigs")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("demo --views 3", "views must be a whole number of at least 1000, got 3"),
        ("demo --views many", "--views"),
        ("demo --seed -1", "seed must be a whole number of at least 0"),
        ("demo --out no/such/folder/page.html", "cannot write no/such/folder/page.html"),
        ("demo --out .", ".: the name must end in .html"),
        ("dance", "dance"),
        ("dance", "--help"),
        ("demo --fast", "--fast"),
        ("fit pca gap.csv", "or pass --missing skip or --missing interpolate."),
        ("fit slow all.npy -d 9", "--n-components 9 exceeds"),
        ("fit pca all.npy --gap 3", "--gap requires times. Pass the column of times"),
        ("fit pca all.npy --exclude 0:3", "no column"),
        ("fit pca named.csv --columns q*", "has no column 'q*'"),
        ("fit pca euro.csv", "Pass --decimal , to read it."),
        ("fit pca all.npy -o all.npy", "all.npy: the name must end in .eigs"),
        ("merge m.eigs m.eigs -o m.eigs", "this would replace what is read"),
        ("fit pca all.npy --features rbg:3", "'rbg:3' is none of rbf"),
        ("fit som all.npy --grid 3xa", "is not HEIGHTxWIDTH"),
        ("fit pairs pairs.csv --items all.npy", "has 'twin' as a kind of pairs"),
        ("fit pairs pairs.csv --items few.csv", "Use row numbers, 0 to 2"),
        ("fit slow all.npy --dt 0", "dt must be"),
        ("plot m.eigs -o m.html --dt 0", "dt must be"),
        ("fit slow all.npy --blocks 10 --workers 2", "exclude each other"),
        ("fit slow all.npy --workers 2 --scheduler tcp://localhost:1", "exclude each other"),
        ("fit slow all.npy --workers 2 --checkpoint c", "exclude each other"),
        ("fit slow all.npy --scheduler nonsense://x", "nonsense"),
        ("evaluate m.eigs all.npy", "Pass --labels, or --pairs"),
        ("export m.eigs -o c.txt", "the name must end in .npy, .csv, .onnx"),
        ("lags later.npy --lag 1,50", "lag"),
        ("merge m.eigs -o n.eigs", "two models or more"),
        ("watch m.eigs later.npy", "Pass --reference"),
        (WATCH, "needs 99"),
        (f"{WATCH} --columns 0,1", "has 2 features"),
    ],
)
def test_an_error_is_one_line_and_leaves_nothing(arguments, words, files):
    before = sorted(os.listdir())
    result = run(*arguments.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr
    assert result.stderr.startswith("eigenstream: ")
    assert len(result.stderr.strip().splitlines()) == 1
    assert not re.search(r"\b(missing|n_components|gap|time|header)=", result.stderr)
    assert sorted(os.listdir()) == before


def test_warnings_are_one_line_with_options(files):
    np.save("short.npy", np.eye(3))
    result = run("fit", "slow", "short.npy", "all.npy", "--alpha", "bound")
    assert result.exit_code == 0, result.stderr
    other = run("fit", "pca", "head.csv").stderr
    assert "Pass --no-header if it is data, or --header to silence" in other
    lines = [*result.stderr.splitlines(), *other.splitlines()]
    assert len(lines) > 1
    assert all(line.startswith("eigenstream: warning: ") for line in lines)


@pytest.mark.parametrize("name", list(CASES)[::5])
def test_bad_files_are_one_line(name, tmp_path):
    make, _, packages, options = CASES[name]
    if not all(map(find_spec, packages)):
        pytest.skip(f"needs {packages}")
    given = [f"--{key}={value}" for key, value in options.items()]
    sources = make(tmp_path)
    sources = sources if isinstance(sources, list) else [sources]
    result = run("fit", "pca", *sources, *given)
    assert (result.exit_code, result.stdout) == (2, "")
    assert len(result.stderr.strip().splitlines()) == 1


def test_an_existing_report_survives_an_error(tmp_path):
    out = tmp_path / "report.html"
    out.write_text("precious")
    assert run("demo", "--views", "3", "--out", out).exit_code == 2
    assert out.read_text() == "precious"


def test_dask_is_needed(files, monkeypatch):
    for name in [one for one in sys.modules if one.startswith("eigenstream.distributed")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    result = run("fit", "slow", "all.npy", "--workers", 2)
    assert (result.exit_code, result.stderr) == (
        2,
        "eigenstream: Dask is not installed. Run pip install 'eigenstream[dask]'.\n",
    )
