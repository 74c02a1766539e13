"""Errors of the commands: one line that names the place and the option, exit code 2, no file."""

import contextlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from commands import READERS, answer, run

WATCH = "watch m.eigs later.npy --reference all.npy --window 20"


def contents():
    return {path.name: path.is_file() and path.read_bytes() for path in Path().iterdir()}


def error_of(*arguments):
    """Return the line of a command that fails and changes no file."""
    before = contents()
    result = run(*arguments)
    *notes, message = result.stderr.splitlines()
    assert (result.exit_code, result.stdout) == (2, ""), arguments
    assert message.startswith("eigenstream: ")
    assert all("are left out" in note for note in notes)
    assert not re.search(r"\b(missing|n_components|gap|time|header)=|unexpected|NoneType", message)
    assert contents() == before
    return message


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("files")
    with contextlib.chdir(tmp_path):
        write_files(tmp_path)
    return tmp_path


@pytest.fixture
def files(folder, monkeypatch):
    monkeypatch.chdir(folder)


def write_files(tmp_path):
    rows = np.random.default_rng(0).standard_normal((300, 3)).cumsum(axis=0)
    np.save("all.npy", rows)
    np.save("later.npy", rows[:50])
    (tmp_path / "named.csv").write_text("x,y\n" + "1,2\n3,5\n" * 30)
    (tmp_path / "few.csv").write_text("x,y\n1,2\n3,5\n4,4\n")
    (tmp_path / "gap.csv").write_text("a,b\n1,2\n3,\n")
    (tmp_path / "head.csv").write_text("1,2\n3,4\n5,9\n")
    (tmp_path / "euro.csv").write_text("x;y\n1,5;2\n3,5;5\n7;1,25\n")
    (tmp_path / "pairs.csv").write_text("0,1,same\n1,2,different\n2,5,twin\n")
    (tmp_path / "text.csv").write_text("x,y,z\n" + "a,b,c\n" * 20)
    (tmp_path / "empty.csv").touch()
    (tmp_path / "empty.npy").touch()
    (tmp_path / "cut.npy").write_bytes(Path("all.npy").read_bytes()[:900])
    (tmp_path / "precious.html").write_text("precious")
    (tmp_path / "folder").mkdir()
    np.save("few.npy", rows[:9])
    answer("fit", "pca", "all.npy", "-d", 1, "-o", "m.eigs")
    watched = ("--reference", "all.npy", "--window", 20, "--rate", 0.2, "-o", "mon.eigs")
    assert run("watch", "m.eigs", "all.npy", *watched).exit_code < 2
    (tmp_path / "good.csv").write_bytes((tmp_path / "named.csv").read_bytes())


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
        ("demo --views 3 --out precious.html", "views must be"),
        ("fit slow all.npy --rows ::0", "rows must be"),
        ("fit slow all.npy --through lag-embedding:0", "n_delays must be"),
        ("fit slow all.npy --workers 0", "workers must be"),
        ("lags all.npy --lag 1,x", "got 'x'"),
        ("lags all.npy --plot lags.txt", "lags.txt: the name must end in .png, .svg, .pdf"),
        ("evaluate m.eigs named.csv --labels x --max-rows -1", "--max-rows must be"),
        ("plot mon.eigs -o m.html", "eigenstream watch --report"),
        ("export mon.eigs -o m.npy", "Monitor has no components_"),
        ("watch mon.eigs few.npy", "fewer rows than the window of 20"),
    ],
)
def test_an_error_is_one_line_and_leaves_nothing(arguments, words, files):
    assert words in error_of(*arguments.split())


def test_warnings_are_one_line_with_options(files):
    np.save("short.npy", np.eye(3))
    result = run("fit", "slow", "short.npy", "all.npy", "--alpha", "bound")
    assert result.exit_code == 0, result.stderr
    other = run("fit", "pca", "head.csv").stderr
    assert "Pass --no-header if it is data, or --header to silence" in other
    lines = [*result.stderr.splitlines(), *other.splitlines()]
    assert len(lines) > 1
    assert all(line.startswith("eigenstream: warning: ") for line in lines)


#: Data that no command that learns or measures can read.
BAD_DATA = ("missing.csv", "empty.csv", "empty.npy", "text.csv", "gap.csv", "folder", "cut.npy")
BAD_DATA += ("m.eigs", "all.npy::x")


@pytest.mark.parametrize("words", READERS)
def test_bad_data_are_one_line_for_every_command(words, files):
    out = [] if {"evaluate", "info", "lags"} & {*words.split()} else ["-o", "x.eigs"]
    for data in BAD_DATA:
        call = [data if word == "-" else word for word in READERS[words].split()]
        if "transform" in words:
            call, out = call[:-2], ["-o", "x.npy"]
        if words == "eigenstream info" and data in ("text.csv", "gap.csv", "m.eigs"):
            continue  # it shows what they hold
        error_of(*words.split()[1:], *call, *out)


def test_tables_beside_the_rows_are_read_or_named(files):
    for data in {*BAD_DATA} - {"text.csv", "gap.csv"}:
        error_of("fit", "classes", "all.npy", "--labels", data)
        error_of("fit", "pairs", data, "--items", "all.npy")


def test_dask_is_needed(files, monkeypatch):
    for name in [one for one in sys.modules if one.startswith("eigenstream.distributed")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    result = run("fit", "slow", "all.npy", "--workers", 2)
    assert (result.exit_code, result.stderr) == (
        2,
        "eigenstream: Dask data require dask and distributed. Run pip install dask distributed.\n",
    )
