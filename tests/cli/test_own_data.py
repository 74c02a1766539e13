"""The commands for a user's own files: look, fit, transform, inspect, merge."""

import io
import json
import os
import pickle
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

import eigenstream
from eigenstream import SlowSubspace, StreamPCA
from eigenstream.cli import _data, app
from eigenstream.streams import Standardize, open_stream


def run(*arguments, given=None):
    return CliRunner().invoke(app, [str(one) for one in arguments], input=given)


def told(*arguments, **how):
    """What a command tells machines."""
    result = run(*arguments, "--json", **how)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def write_csv(path, rows, names="xyz"):
    np.savetxt(path, rows, delimiter=",", header=",".join(names), comments="", fmt="%.17g")


@pytest.fixture(scope="module")
def rows():
    t = np.arange(600.0)
    slow, fast = np.sin(t / 60), np.sin(1.7 * t)
    return np.column_stack([slow + 2 * fast, 2 * slow - fast, np.cos(t)])


def write_files(rows):
    np.save("all.npy", rows)
    write_csv("run1.csv", rows[:300])
    write_csv("run2.csv", rows[300:])


@pytest.fixture
def files(tmp_path, rows, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(rows)
    return tmp_path


# ---- what it does ------------------------------------------------------------------------------


def test_look_tells_what_the_reader_sees(files):
    found = told("look", "run*.csv")
    assert found["sources"] == ["run1.csv", "run2.csv"]
    assert (found["rows"], found["columns"], found["type"]) == (600, 3, "float64")
    assert found["names"] == ["x", "y", "z"]
    assert (found["sequences"], found["shortest"], found["longest"]) == (2, 300, 300)
    assert (found["rows_with_missing"], found["first_missing"]) == (0, None)
    shown = run("look", "run*.csv").stdout
    for words in ("2: run1.csv, run2.csv", "3: x, y, z", "2, of 300 rows", "rows a second"):
        assert words in shown


def test_look_finds_sequences_and_holes(files):
    (files / "days.csv").write_text("day,x,y\n1,1,2\n1,,3\n2,4,5\n2,6,7\n2,8,nan\n")
    found = told("look", "days.csv", "--sequence", "day")
    assert (found["sequences"], found["shortest"], found["longest"]) == (2, 2, 3)
    assert found["rows_with_missing"] == 2
    assert found["first_missing"] == {"source": "days.csv", "row": 1}
    assert "--missing skip" in run("look", "days.csv").stdout


def test_look_counts_labels_and_asks_for_them_where_text_is_in_the_way(files):
    (files / "iris.csv").write_text(
        "petal length (cm),kind\n1.5,setosa\n4,\n5,virginica\n6,setosa\n"
    )
    found = told("look", "iris.csv", "--labels", "kind")
    assert found["names"] == ["petal length (cm)"]
    assert found["labels"] == {"setosa": 2, "virginica": 1}
    assert "2: setosa (2), virginica (1)" in run("look", "iris.csv", "--labels", "kind").stdout
    refused = run("fit", "pca", "iris.csv")
    assert refused.exit_code == 2
    # As the command line has it, not as Python has.
    assert "--columns selects others" in refused.stderr


MIXED = 'day,"a, b",kind,y\n2024-01-01,1,x,2\n2024-01-02,3,z,\n2024-01-03,4,z,7\n'


def test_look_lists_the_columns_that_hold_no_numbers(files):
    (files / "mixed.csv").write_text(MIXED)
    found = told("look", "mixed.csv")
    assert (found["rows"], found["names"], found["rows_with_missing"]) == (3, ["a, b", "y"], 1)
    assert found["no_numbers"] == {
        "day": "dates ('2024-01-01' in row 0)",
        "kind": "text ('x' in row 0)",
    }
    shown = run("look", "mixed.csv").stdout
    for words in ("--time day", "--labels kind or --sequence kind", "--columns '\"a, b\",y'"):
        assert words in shown
    # What the remedies say, works.
    named = told("look", "mixed.csv", "--time", "day", "--labels", 2)
    assert (named["no_numbers"], named["labels"]) == ({}, {"z": 1, "x": 1})
    chosen = told("look", "mixed.csv", "--columns", '"a, b",y')
    assert (chosen["no_numbers"], chosen["names"]) == ({}, ["a, b", "y"])
    # Text that comes late, and numbers without names.
    (files / "late.csv").write_text("x,y\n" + "3,4\n" * 100 + "5,many\n")
    assert told("look", "late.csv")["no_numbers"] == {"y": "text ('many' in row 100)"}
    assert "only the others: --columns x" in run("look", "late.csv").stdout


def test_look_at_words_alone(files):
    (files / "words.csv").write_text("kind\nx\nz\n")
    found = told("look", "words.csv")
    assert (found["columns"], found["no_numbers"]) == (0, {"kind": "text ('x' in row 0)"})
    assert "--labels kind" in run("look", "words.csv").stdout


def test_look_at_types_of_arrow(files):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"k": list("ab"), "x": [1, 2], "l": [[1], [2]]})
    frame["t"], frame["c"] = pandas.to_datetime(["2024-01-01"] * 2), frame["k"].astype("category")
    frame.to_parquet("m.parquet")
    found = told("look", "m.parquet")
    assert found["names"] == ["x"]
    assert found["no_numbers"].pop("l").startswith("of type list")
    assert found["no_numbers"] == {"k": "text", "t": "dates", "c": "text"}


def test_look_quick_reads_headers_only(files):
    # Text beyond what is looked at first, which only a pass finds, by its place.
    (files / "bad.csv").write_text("x,y\n1,2\n" + "3,4\n" * 30_000 + "5,many\n")
    found = told("look", "all.npy", "--quick")
    assert found["rows"] == 600
    assert "sequences" not in found
    assert run("look", "bad.csv", "--quick").exit_code == 0
    refused = run("look", "bad.csv")
    assert refused.exit_code == 2
    assert "Row #30003" in refused.stderr


@pytest.mark.parametrize("solver", ["auto", "dense", "krylov"])
def test_fit_slow_learns_what_python_learns(files, rows, solver):
    found = told("fit", "slow", "all.npy", "-d", 2, "--solver", solver, "-o", "m.eigs")
    expected = SlowSubspace(2, solver=solver, random_state=0).fit(open_stream("all.npy"))
    assert found["eigenvalues"] == expected.eigenvalues_.tolist()
    assert (found["rows"], found["columns"], found["model"]) == (600, 3, "m.eigs")
    model = eigenstream.load("m.eigs")
    assert np.array_equal(model.components_, expected.components_)


def test_options_reach_the_estimator(files, rows):
    told("fit", "slow", "run*.csv", "--alpha", 0.7, "--lag", 3, "--standardize", "-o", "m.eigs")
    model = eigenstream.load("m.eigs")
    assert (model.alpha, model.lag, model.scale) == (0.7, 3, True)
    # Files are sequences of their own: no velocity crosses.
    expected = SlowSubspace(2, alpha=0.7, lag=3, scale=True).fit([rows[:300], rows[300:]])
    assert np.allclose(model.eigenvalues_, expected.eigenvalues_, rtol=1e-10)
    assert told("fit", "pca", "all.npy", "-d", "all")["eigenvalues"].__len__() == 3
    share = told("fit", "pca", "all.npy", "-d", 0.5)
    assert len(share["eigenvalues"]) == StreamPCA(0.5).fit(rows).n_components_
    assert told("fit", "pca", "run1.csv", "--columns", "x,2")["columns"] == 2


def test_fit_says_what_it_has_found(files):
    result = run("fit", "slow", "run1.csv", "run2.csv", "-o", "m.eigs")
    for words in ("SlowSubspace", "2: run1.csv, run2.csv", "alpha", "█", "The model is in m.eigs"):
        assert words in result.stdout
    assert "Nothing was saved" in run("fit", "pca", "all.npy").stdout


def test_standard_input_is_data(files):
    text = (files / "run1.csv").read_text()
    assert told("fit", "pca", "-", given=text)["rows"] == 300


@pytest.mark.parametrize("ending", [".npy", ".csv", ".parquet"])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_transform_writes_what_python_gives(files, rows, ending, kind):
    np.save("rows.npy", rows.astype(kind))
    told("fit", "slow", "rows.npy", "-o", "m.eigs")
    found = told("transform", "m.eigs", "rows.npy", "-o", f"f{ending}")
    assert (found["rows"], found["features"]) == (600, 2)
    expected = eigenstream.load("m.eigs").transform(rows.astype(kind))
    read = np.concatenate([one.rows for one in open_stream(f"f{ending}", dtype=kind)])
    assert np.array_equal(read, expected)
    if ending == ".npy":
        assert np.load("f.npy").dtype == kind


def test_transform_writes_chunk_by_chunk(files, rows):
    told("fit", "pca", "all.npy", "-o", "m.eigs")
    for ending in (".npy", ".csv", ".parquet"):
        # Two sequences, and so two chunks.
        found = told("transform", "m.eigs", "run1.csv", "run2.csv", "-o", f"f{ending}")
        assert found["rows"] == 600
        read = np.concatenate([one.rows for one in open_stream(f"f{ending}")])
        assert np.allclose(read, StreamPCA(2).fit_transform(rows))


def test_columns_are_found_by_name_and_left_out_rows_keep_their_place(files, rows):
    told("fit", "pca", "run1.csv", "-o", "m.eigs")
    turned = rows[:300].copy()
    turned[7, 2] = np.nan
    write_csv("turned.csv", np.column_stack([turned[:, ::-1], np.ones(300)]), "zyxw")
    result = run("transform", "m.eigs", "turned.csv", "--missing", "skip", "-o", "f.npy")
    assert (result.exit_code, result.stderr) == (0, "")
    features = np.load("f.npy")
    expected = StreamPCA(2).fit_transform(rows[:300])
    assert np.isnan(features[7]).all()
    assert np.allclose(np.delete(features, 7, 0), np.delete(expected, 7, 0))


def test_inspect_tells_what_a_model_is(files):
    told("fit", "slow", "run1.csv", "--alpha", 0.6, "-o", "m.eigs")
    found = told("inspect", "m.eigs")
    assert found["class"] == "SlowSubspace"
    assert found["provenance"]["rows_seen"] == 300
    assert found["parameters"]["alpha"] == "0.6"
    assert found["names"] == ["x", "y", "z"]
    assert found["eigenvalues"] == eigenstream.load("m.eigs").eigenvalues_.tolist()
    assert found["n_bytes"] == (files / "m.eigs").stat().st_size
    shown = run("inspect", "m.eigs").stdout
    for words in ("SlowSubspace", "alpha=0.6", "█", "300", "MB in the file"):
        assert words in shown


def test_merge_is_one_pass_over_both(files, rows):
    for k in (1, 2):
        told("fit", "slow", f"run{k}.csv", "--alpha", 0.6, "-o", f"{k}.eigs")
    assert told("merge", "1.eigs", "2.eigs", "-o", "both.eigs")["rows"] == 600
    apart = SlowSubspace(2, alpha=0.6).fit([rows[:300], rows[300:]])
    assert np.allclose(eigenstream.load("both.eigs").eigenvalues_, apart.eigenvalues_, rtol=1e-10)
    told("merge", "1.eigs", "2.eigs", "--follows", "-o", "on.eigs")
    whole = SlowSubspace(2, alpha=0.6).fit(rows)
    assert np.allclose(eigenstream.load("on.eigs").eigenvalues_, whole.eigenvalues_, rtol=1e-10)


def test_the_page_of_the_documentation_runs(files, rows):
    (files / "runs").mkdir()
    for name in ("run1.csv", "run2.csv"):
        (files / name).rename(f"runs/{name}")
    (files / "all.npy").rename("rows.npy")
    write_csv("new.csv", rows)
    write_csv("table.csv", np.column_stack([rows[:4], [1, 1, 2, 2]]), ["x", "y", "z", "day"])
    species = ["setosa" if one > 0 else "virginica" for one in rows[:, 0]]
    (files / "species.csv").write_text("\n".join(["species", *species]))
    write_iris(files, rows[:60], species)
    page = Path(__file__).parents[2] / "docs" / "command-line.md"
    lines = page.read_text(encoding="utf-8").splitlines()
    commands = [shlex.split(line, comments=True) for line in lines if line.startswith("    $ ")]
    assert len(commands) > 12
    for _, name, *arguments in commands:
        assert name == "eigenstream"
        result = run(*arguments)
        assert result.exit_code == 0, (arguments, result.stderr)


def write_iris(files, rows, species):
    """Named items with labels, and pairs of them by number and by name."""
    table = ["length,width,species,id"]
    table += [f"{x},{y},{species[k]},i{k}" for k, (x, y, _) in enumerate(rows)]
    (files / "iris.csv").write_text("\n".join(table))
    words = ["same" if species[k] == species[k + 30] else "different" for k in range(30)]
    pairs = [f"{k},{k + 30},{word}" for k, word in enumerate(words)]
    (files / "pairs.csv").write_text("\n".join(pairs))
    named = [f"i{k},i{k + 30},{word}" for k, word in enumerate(words)]
    (files / "named.csv").write_text("\n".join(["one,two,kind", *named]))


def test_a_terminal_without_blocks_gets_other_bars(files):
    code = "from eigenstream.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "fit", "pca", "all.npy"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 0, done.stderr
    assert "####" in done.stdout


# ---- help, progress, warnings ------------------------------------------------------------------


def test_progress_shows_rows_and_rate(files):
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=100)
    with _data.Watched(open_stream("all.npy", chunk_rows=100), console) as watched:
        assert sum(len(chunk) for chunk in watched.chunks()) == 600
        assert shown.getvalue() == ""  # over within a second
    with _data.Watched(open_stream("all.npy", chunk_rows=100), console, quiet=0.0) as watched:
        blocks = sum(len(rows) - 1 for rows, _ in watched.lagged_blocks(1))
    assert blocks == watched.rows == 599
    assert " rows" in shown.getvalue()
    assert "rows/s" in shown.getvalue()


def test_progress_shows_the_time_left_where_nobody_has_counted_rows(files):
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=100)
    stream = open_stream("run1.csv", chunk_rows=10).through(Standardize())
    assert stream.n_rows is None
    with _data.Watched(stream, console, quiet=0.0) as watched:
        assert sum(len(chunk) for chunk in watched.chunks()) == 300
    # Hours, minutes, seconds; of a pass of no known length it would be dashes.
    assert re.search(r"0:00:0\d", shown.getvalue())


def test_passes_before_are_shown_too(files):
    told = []
    stream = open_stream("all.npy", chunk_rows=100).through(Standardize())
    stream.learn_steps(told.append)
    assert sum(told) == 600
    stream.learn_steps(told.append)  # has been made
    assert sum(told) == 600


def test_warnings_are_one_line(files):
    np.save("short.npy", np.eye(3))
    result = run("fit", "slow", "short.npy", "all.npy", "--alpha", "bound")
    assert result.exit_code == 0, result.stderr
    lines = result.stderr.splitlines()
    assert lines
    assert all(line.startswith("eigenstream: warning: ") for line in lines)


#: A command that is asked to end in the middle of a pass.
ENDS = """
import os, signal, sys
from eigenstream import cli
from eigenstream.cli import _data

signal.signal(signal.SIGINT, signal.SIG_DFL)
sys.argv = ["eigenstream", *sys.argv[1:]]

def advance(self, rows):
    os.kill(os.getpid(), signal.SIGINT)

_data.Watched._advance = advance
cli.main()
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["fit", "slow", "all.npy", "-o", "new.eigs"],
        ["transform", "m.eigs", "all.npy", "-o", "f.csv"],
    ],
)
def test_interrupted_it_leaves_nothing(arguments, files):
    told("fit", "slow", "all.npy", "-o", "m.eigs")
    before = sorted(os.listdir())
    done = subprocess.run(
        [sys.executable, "-c", ENDS, *arguments], capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGINT, "", "")
    assert sorted(os.listdir()) == before


#: A command on a disk that has room for so many bytes a file.
FULL = """
import resource, sys
from eigenstream.cli import main

resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
sys.argv = ["eigenstream", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize("ending", [".npy", ".csv", ".parquet"])
def test_a_full_disk_leaves_the_old_file(ending, files):
    pytest.importorskip("resource")
    told("fit", "slow", "all.npy", "-o", "m.eigs")
    out = files / f"f{ending}"
    out.write_text("precious")
    before = sorted(os.listdir())
    command = [sys.executable, "-c", FULL, "transform", "m.eigs", "all.npy", "-o", out.name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 2
    assert done.stderr.startswith(f"eigenstream: cannot write {out.name}: ")
    assert len(done.stderr.splitlines()) == 1
    assert out.read_text() == "precious"
    assert sorted(os.listdir()) == before


def test_text_with_decimal_commas(files):
    (files / "euro.csv").write_text("x;y\n1,5;2\n3,5;5\n7;1,25\n")
    assert "to read them  --decimal ," in run("look", "euro.csv").stdout
    refused = run("fit", "pca", "euro.csv")
    assert refused.exit_code == 2
    assert refused.stderr.strip().endswith("written with commas, pass --decimal ,.")
    assert told("look", "euro.csv", "--decimal", ",")["rows"] == 3


@pytest.mark.parametrize("command", ["fit slow all.npy --report", "plot m.eigs -o"])
def test_a_page_on_a_full_disk_leaves_the_old_one(command, files):
    pytest.importorskip("resource")
    told("fit", "slow", "all.npy", "-o", "m.eigs")
    (files / "r.html").write_text("precious")
    before = sorted(os.listdir())
    done = subprocess.run(
        [sys.executable, "-c", FULL, *command.split(), "r.html"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("eigenstream: cannot write r.html: ")
    assert len(done.stderr.splitlines()) == 1
    assert (files / "r.html").read_text() == "precious"
    assert sorted(os.listdir()) == before


# ---- what it refuses ---------------------------------------------------------------------------


def write_bad_files(files, rows):
    told("fit", "pca", "run1.csv", "-o", "pca.eigs")
    told("fit", "slow", "run1.csv", "-o", "slow.eigs")
    np.save("narrow.npy", rows[:, :2])
    told("fit", "pca", "narrow.npy", "-o", "narrow.eigs")
    write_csv("named.csv", rows, "xyw")
    told("fit", "pca", "named.csv", "-o", "named.eigs")
    eigenstream.save(StreamPCA(2), "empty.eigs")
    whole = (files / "all.npy").read_bytes()
    (files / "cut.npy").write_bytes(whole[:-100])
    (files / "void.npy").write_bytes(b"")
    (files / "pickle.npy").write_bytes(pickle.dumps(rows))
    (files / "pickle.eigs").write_bytes(pickle.dumps(rows))
    (files / "cut.eigs").write_bytes((files / "pca.eigs").read_bytes()[:-9])
    (files / "text.csv").write_text("x,y,z\n1,2,3\n4,five,6\n")
    (files / "ragged.csv").write_text("x,y,z\n1,2,3\n4,5\n")
    (files / "odd.xyz").write_text("what is this")
    holes = rows.copy()
    holes[5, 1] = np.nan
    np.save("holes.npy", holes)
    np.save("one.npy", rows[:1])
    (files / "folder").mkdir()


@pytest.fixture(scope="module")
def made_bad(tmp_path_factory, rows):
    """A folder of good files and of many with something wrong."""
    files = tmp_path_factory.mktemp("bad")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(files)
        write_files(rows)
        write_bad_files(files, rows)
    return files


@pytest.fixture
def bad(made_bad, tmp_path, monkeypatch):
    """A copy of these files to work in."""
    shutil.copytree(made_bad, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")


BAD = {
    "no file": (["look", "none.npy"], "none.npy"),
    "no match": (["look", "none*.csv"], "none*.csv"),
    "cut short": (["fit", "pca", "cut.npy", "-o", "new.eigs"], "cut.npy"),
    "empty": (["look", "void.npy"], "void.npy"),
    "pickle as array": (["fit", "slow", "pickle.npy"], "pickle.npy"),
    "text in a column": (["fit", "pca", "text.csv"], "text.csv"),
    "ragged": (["fit", "pca", "ragged.csv"], "ragged.csv"),
    "unknown kind": (["look", "odd.xyz"], "odd.xyz"),
    "empty folder": (["look", "folder"], "folder"),
    "NaN": (
        ["fit", "slow", "holes.npy", "-o", "new.eigs"],
        "holes.npy has NaN (or nothing) at row 5",
    ),
    "width in file 2": (["fit", "pca", "all.npy", "narrow.npy"], "narrow.npy has 2 columns"),
    "no such column": (["look", "run1.csv", "--columns", "x,q"], "no column 'q'"),
    "no column": (["look", "run1.csv", "--columns", "x,,y"], "--columns"),
    "one row": (["fit", "slow", "one.npy"], "none has a past 1 row(s) back"),
    "too many": (["fit", "slow", "all.npy", "-d", "9"], "-d 9 is more"),
    "no number": (["fit", "slow", "all.npy", "-d", "few"], "-d must be"),
    "a share of slowness": (["fit", "slow", "all.npy", "-d", "0.5"], "-d must be"),
    "alpha in words": (["fit", "slow", "all.npy", "--alpha", "low"], "--alpha must be"),
    "alpha too large": (["fit", "slow", "all.npy", "--alpha", "2"], "alpha"),
    "lag": (["fit", "slow", "all.npy", "--lag", "0"], "lag"),
    "solver": (["fit", "slow", "all.npy", "--solver", "magic"], "solver"),
    "policy": (["fit", "slow", "all.npy", "--missing", "guess"], "missing"),
    "gap alone": (["look", "run1.csv", "--gap", "2"], "gap"),
    "two inputs, one a pipe": (["look", "-", "run1.csv"], "goes alone"),
    "no data": (["fit", "slow"], "DATA"),
    "model's ending": (["fit", "pca", "all.npy", "-o", "new.pkl"], "-o new.pkl"),
    "no folder": (["fit", "pca", "all.npy", "-o", "no/new.eigs"], "cannot write no/new.eigs"),
    "features' ending": (["transform", "pca.eigs", "run1.csv", "-o", "f.doc"], "-o f.doc"),
    "onto itself": (["transform", "pca.eigs", "run1.csv", "-o", "run1.csv"], "would replace"),
    "no model": (["transform", "none.eigs", "run1.csv", "-o", "f.npy"], "none.eigs"),
    "pickle as model": (["inspect", "pickle.eigs"], "pickle.eigs"),
    "data as model": (["inspect", "all.npy"], "all.npy"),
    "cut model": (["transform", "cut.eigs", "run1.csv", "-o", "f.npy"], "cut.eigs"),
    "other width": (["transform", "pca.eigs", "narrow.npy", "-o", "f.npy"], "narrow.npy gives 2"),
    "other names": (["transform", "pca.eigs", "named.csv", "-o", "f.npy"], "'z'"),
    "bad row": (
        ["transform", "narrow.eigs", "text.csv", "--columns", "x,y", "-o", "f.npy"],
        "text.csv",
    ),
    "nothing learned": (["transform", "empty.eigs", "run1.csv", "-o", "f.npy"], "empty.eigs"),
    "one to merge": (["merge", "pca.eigs", "-o", "new.eigs"], "two models"),
    "other kinds": (["merge", "pca.eigs", "slow.eigs", "-o", "new.eigs"], "do not merge"),
    "other widths": (["merge", "pca.eigs", "narrow.eigs", "-o", "new.eigs"], "narrow.eigs"),
    "other columns": (["merge", "pca.eigs", "named.eigs", "-o", "new.eigs"], "column 2 is 'z'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_one_line(case, bad):
    arguments, words = BAD[case]
    before = {name: os.stat(name).st_mtime_ns for name in os.listdir()}
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert words in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stderr.startswith("eigenstream: ")
    assert result.stdout == ""
    assert {name: os.stat(name).st_mtime_ns for name in os.listdir()} == before
