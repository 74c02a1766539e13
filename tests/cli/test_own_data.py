"""The commands for a user's own files: fit, transform, info, merge."""

import io
import os
import re
import shlex
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import eigenstream
from commands import answer as told
from commands import run
from eigenstream import SlowSubspace, StreamPCA
from eigenstream.cli import _output
from eigenstream.cli._output import Watched, progress_bar
from eigenstream.processes import Autoregressive
from eigenstream.streams import open_stream


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


def test_info_tells_what_the_reader_sees(files):
    found = told("info", "run*.csv")
    assert found["sources"] == ["run1.csv", "run2.csv"]
    assert (found["rows"], found["columns"], found["type"]) == (600, 3, "float64")
    assert found["names"] == ["x", "y", "z"]
    assert (found["sequences"], found["shortest"], found["longest"]) == (2, 300, 300)
    assert (found["rows_with_missing"], found["first_missing"]) == (0, None)
    shown = run("info", "run*.csv").stdout
    for words in (
        "2: run1.csv, run2.csv",
        "3: x, y, z",
        "sequences          2",
        "longest            300",
        "rows per second",
    ):
        assert words in shown


def test_info_finds_sequences_and_holes(files):
    (files / "days.csv").write_text("day,x,y\n1,1,2\n1,,3\n2,4,5\n2,6,7\n2,8,nan\n")
    found = told("info", "days.csv", "--sequence", "day")
    assert (found["sequences"], found["shortest"], found["longest"]) == (2, 2, 3)
    assert found["rows_with_missing"] == 2
    assert found["first_missing"] == {"source": "days.csv", "row": 1}
    assert "--missing skip" in run("info", "days.csv").stdout


def test_info_quick_reads_headers_only(files):
    # Text beyond what is looked at first, which only a pass finds, by its place.
    (files / "bad.csv").write_text("x,y\n1,2\n" + "3,4\n" * 30_000 + "5,many\n")
    found = told("info", "all.npy", "--quick")
    assert found["rows"] == 600
    assert "sequences" not in found
    assert run("info", "bad.csv", "--quick").exit_code == 0
    refused = run("info", "bad.csv")
    assert refused.exit_code == 2
    assert "'many' in row 30001 (line 30003) of column 'y'" in refused.stderr


@pytest.mark.parametrize("solver", ["auto", "dense"])
def test_fit_slow_learns_what_python_learns(files, rows, solver):
    found = told("fit", "slow", "all.npy", "-d", 2, "--solver", solver, "-o", "m.eigs")
    expected = SlowSubspace(2, solver=solver).fit(open_stream("all.npy"))
    assert found["eigenvalues"] == expected.eigenvalues_.tolist()
    assert (found["rows"], found["columns"], found["model"]) == (600, 3, "m.eigs")
    model = eigenstream.load("m.eigs")
    assert np.array_equal(model.components_, expected.components_)


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
    page = Path(__file__).parents[2] / "docs" / "how-to" / "command-line.md"
    lines = page.read_text(encoding="utf-8").replace("\\\n", "").splitlines()
    commands = [shlex.split(line, comments=True) for line in lines if line.startswith("$ ")]
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


# ---- help, progress, warnings ------------------------------------------------------------------


@pytest.mark.parametrize("quiet", [3600.0, 0.0])
def test_progress_shows_rows_and_rate_of_long_passes(quiet, files, monkeypatch):
    monkeypatch.setattr(_output, "QUIET_SECONDS", quiet)
    shown = io.StringIO()
    bar = progress_bar(_output.ROWS, Console(file=shown, force_terminal=True, width=100))
    with Watched(open_stream("all.npy", chunk_rows=100), progress=bar) as watched:
        assert sum(len(chunk) for chunk in watched.chunks()) == watched.rows == 600
    assert (" rows" in shown.getvalue()) == (quiet == 0)
    assert ("rows/s" in shown.getvalue()) == (quiet == 0)


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
from eigenstream.cli import _output

signal.signal(signal.SIGINT, signal.SIG_DFL)
sys.argv = ["eigenstream", *sys.argv[1:]]

def advance(self, rows):
    os.kill(os.getpid(), signal.SIGINT)

_output.Watched._advance = advance
cli.main()
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["transform", "m.eigs", "all.npy", "-o", "f.csv"],
    ],
)
def test_interrupted_it_leaves_nothing(arguments, files):
    told("fit", "slow", "all.npy", "-o", "m.eigs")
    before = sorted(os.listdir())
    done = subprocess.run(
        [sys.executable, "-c", ENDS, *arguments], capture_output=True, text=True, timeout=100
    )
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGINT, "", "")
    assert sorted(os.listdir()) == before


def test_text_with_decimal_commas(files):
    (files / "euro.csv").write_text("x;y\n1,5;2\n3,5;5\n7;1,25\n")
    assert "--decimal ," in run("info", "euro.csv").stdout
    refused = run("fit", "pca", "euro.csv")
    assert refused.exit_code == 2
    assert "euro.csv has '1,5' in row 0" in refused.stderr
    assert "pass --decimal ," in refused.stderr
    assert told("info", "euro.csv", "--decimal", ",")["rows"] == 3


# ---- what it refuses ---------------------------------------------------------------------------


# ---- columns, stored options, lags ---------------------------------------------------------------

TABLE = "t,s1,s2,raw,who\n" + "".join(f"{k},{k % 7},{k % 5},{k % 3},ann\n" for k in range(60))


def test_columns_by_pattern_and_range_and_columns_of_text(files):
    (files / "t.csv").write_text(TABLE)
    for given, names in {
        ("--columns", "s*,3:4"): ["s1", "s2", "raw"],
        ("--exclude", "t,r*"): ["s1", "s2"],
    }.items():
        told("fit", "pca", "t.csv", *given, "-o", "m.eigs")
        assert eigenstream.load("m.eigs").feature_names_in_.tolist() == names
    result = run("fit", "pca", "t.csv", "--exclude", "t")
    assert (result.exit_code, len(result.stderr.splitlines())) == (0, 1)
    assert "who: text ('ann')" in result.stderr
    assert "has no column 'q*'" in run("fit", "pca", "t.csv", "--columns", "q*").stderr


def test_a_model_stores_how_its_data_were_read(files):
    (files / "t.csv").write_text(TABLE.replace("\n30,2,", "\n90,,"))
    given = ("--time", "t", "--gap", 5, "--missing", "skip", "--through", "differences")
    told("fit", "slow", "t.csv", *given, "-o", "m.eigs")
    result = run("transform", "m.eigs", "t.csv", "-o", "f.npy")
    assert (result.exit_code, result.stderr) == (0, "")
    # Row 30 lacks a value and ends a sequence: times go back behind it.
    assert np.flatnonzero(np.isnan(np.load("f.npy")[:, 0])).tolist() == [0, 30, 31]
    assert "NaN" in run("transform", "m.eigs", "t.csv", "-o", "f.npy", "--missing", "raise").stderr


def test_lags_are_those_of_python(files, rows):
    given = ("--lag", "1,4", "-d", 2, "--criterion", "ratio", "--dt", 0.5, "--unit", "ps")
    found = told("lags", "all.npy", *given, "--plot", "lags.png")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        path = eigenstream.lag_path(
            SlowSubspace(2, criterion="ratio"), rows, [1, 4], blocks=20, dt=0.5, unit="ps"
        )
    assert (found["lags"], found["unit"], found["criterion"]) == ([1, 4], "ps", "ratio")
    assert found["recommended_lag"] == path.recommended_lag
    shown = np.array(found["timescales"], float)
    finite = np.where(np.isinf(path.timescales), np.nan, path.timescales)
    assert np.allclose(shown, finite, equal_nan=True)
    if path.recommended_lag is not None:
        assert len(found["decays"]) == 2
    assert Path("lags.png").stat().st_size > 1000
    assert "ratio, 2 features" in run("lags", "all.npy", *given).stdout


def test_fit_and_lags_agree_and_name_columns(files):
    process = Autoregressive([0.98, 0.5], n_features=5, noise=0.2, random_state=0)
    table = "\n".join(",".join(f"{value:.4f}" for value in row) for row in process.take(4000))
    (files / "slow.csv").write_text("a,b,c,d,e\n" + table + "\n")
    for criterion in ("difference", "ratio"):
        given = ("slow.csv", "--criterion", criterion, "--reversible")
        fit = told("fit", "slow", *given, "--blocks", 10)
        found = told("lags", *given)
        assert fit["recommended_lag"] == found["recommended_lag"]
        assert (fit["alpha"] is None) == (criterion == "ratio")
        low, high = fit["features"][0]["interval"]
        assert low < fit["features"][0]["timescale"] < high
        assert set(fit["features"][0]["weights"]) < set("abcde")
    shown = run("fit", "slow", "slow.csv").stdout
    assert "eigenstream lags would choose lag" in shown
    assert run("fit", "slow", "slow.csv", "--blocks", 10, "--workers", 2).exit_code == 2


@pytest.mark.parametrize(
    ("shape", "lags"), [((2, 3), [1]), ((4, 3), [1, 2]), ((8, 3), [1, 2]), ((30, 2), [1, 2, 5, 10])]
)
def test_default_lags_fit_short_tables(files, shape, lags):
    np.save("short.npy", np.random.default_rng(0).standard_normal(shape))
    assert told("lags", "short.npy")["lags"] == lags
    assert run("lags", "short.npy", "--lag", "1,50").exit_code == 2


# ---- the words of the command line -------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fit", "pca", "gap.csv"], "or pass --missing skip or --missing interpolate."),
        (["fit", "slow", "all.npy", "-d", "9"], "--n-components 9 exceeds"),
        (["fit", "pca", "all.npy", "--gap", "3"], "--gap requires times. Pass the column of times"),
        (["fit", "pca", "head.csv"], "Pass --no-header if it is data, or --header to silence"),
        (["fit", "kmeans", "all.npy", "--learning-rate", "fast"], "--learning-rate"),
        (["fit", "pca", "all.npy", "--exclude", "0:3"], "no column"),
    ],
)
def test_messages_name_options(arguments, words, files):
    (files / "gap.csv").write_text("a,b\n1,2\n3,\n")
    (files / "head.csv").write_text("1,2\n3,4\n5,9\n")
    result = run(*arguments)
    assert words in result.stderr
    assert not re.search(r"\b(missing|n_components|gap|time|header|learning_rate)=", result.stderr)


def test_json_of_a_model_has_numbers(files):
    told("fit", "slow", "all.npy", "--alpha", 0.25, "--lag", 2, "-o", "m.eigs")
    found = told("info", "m.eigs")["parameters"]
    assert (found["alpha"], found["lag"], found["n_components"]) == (0.25, 2, 2)
    assert (found["center"], found["solver"], found["features"]) == (True, "auto", None)
