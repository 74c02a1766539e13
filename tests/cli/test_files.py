"""The commands for a user's own files: info, transform, merge, lags, and their progress."""

import io
import shlex
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import eigenstream
from commands import answer, run
from eigenstream import SlowSubspace, StreamPCA
from eigenstream.cli import _output
from eigenstream.cli._output import Watched, waiting
from eigenstream.processes import Autoregressive
from eigenstream.streams import open_stream

T = np.arange(600.0)
SLOW, FAST = np.sin(T / 60), np.sin(1.7 * T)
ROWS = np.column_stack([SLOW + 2 * FAST, 2 * SLOW - FAST, np.cos(T)])


def write_csv(path, rows, names="xyz"):
    pd.DataFrame(rows, columns=list(names)).to_csv(path, index=False)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("all.npy", ROWS)
    write_csv("run1.csv", ROWS[:300])
    write_csv("run2.csv", ROWS[300:])
    return tmp_path


# ---- info --------------------------------------------------------------------------------------


def test_info_shows_sequences_columns_and_missing_values(files):
    found = answer("info", "run*.csv")
    assert found["sources"] == ["run1.csv", "run2.csv"]
    assert (found["rows"], found["columns"], found["type"]) == (600, 3, "float64")
    assert found["names"] == ["x", "y", "z"]
    assert (found["sequences"], found["shortest"], found["longest"]) == (2, 300, 300)
    assert (found["rows_with_missing"], found["first_missing"]) == (0, None)
    shown = run("info", "run*.csv").stdout
    for words in ("2: run1.csv, run2.csv", "3: x, y, z", "longest            300", "rows per"):
        assert words in shown
    (files / "days.csv").write_text("day,x,y\n1,1,2\n1,,3\n2,4,5\n2,6,7\n2,8,nan\n")
    found = answer("info", "days.csv", "--sequence", "day")
    assert (found["sequences"], found["shortest"], found["longest"]) == (2, 2, 3)
    assert found["rows_with_missing"] == 2
    assert found["first_missing"] == {"source": "days.csv", "row": 1}
    (files / "euro.csv").write_text("x;y\n1,5;2\n3,5;5\n7;1,25\n")
    assert answer("info", "euro.csv", "--decimal", ",")["rows"] == 3


def test_info_quick_reads_headers_only(files):
    # Text beyond the first rows, which only a pass finds.
    (files / "bad.csv").write_text("x,y\n1,2\n" + "3,4\n" * 30_000 + "5,many\n")
    found = answer("info", "all.npy", "--quick")
    assert found["rows"] == 600
    assert "sequences" not in found
    assert run("info", "bad.csv", "--quick").exit_code == 0
    refused = run("info", "bad.csv")
    assert refused.exit_code == 2
    assert "'many' in row 30001 (line 30003) of column 'y'" in refused.stderr


def test_json_of_a_model_has_numbers(files):
    answer("fit", "slow", "all.npy", "--alpha", 0.25, "--lag", 2, "-o", "m.eigs")
    found = answer("info", "m.eigs")["parameters"]
    assert (found["alpha"], found["lag"], found["n_components"]) == (0.25, 2, 2)
    assert (found["center"], found["solver"], found["features"]) == (True, "auto", None)


# ---- transform and merge -----------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".npy", ".csv", ".parquet"])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_transform_writes_what_python_gives(files, ending, kind):
    np.save("rows.npy", ROWS.astype(kind))
    answer("fit", "slow", "rows.npy", "-o", "m.eigs")
    # Two sources, and so two chunks.
    found = answer("transform", "m.eigs", "rows.npy", "rows.npy", "-o", f"f{ending}")
    assert (found["rows"], found["features"]) == (1200, 2)
    expected = eigenstream.load("m.eigs").transform(ROWS.astype(kind))
    read = np.concatenate([one.rows for one in open_stream(f"f{ending}", dtype=kind)])
    assert np.array_equal(read, np.concatenate([expected] * 2))
    if ending == ".npy":
        assert np.load("f.npy").dtype == kind


def test_columns_are_found_by_name_and_left_out_rows_keep_their_place(files):
    answer("fit", "pca", "run1.csv", "-o", "m.eigs")
    turned = ROWS[:300].copy()
    turned[7, 2] = np.nan
    write_csv("turned.csv", np.column_stack([turned[:, ::-1], np.ones(300)]), "zyxw")
    result = run("transform", "m.eigs", "turned.csv", "--missing", "skip", "-o", "f.npy")
    assert (result.exit_code, result.stderr) == (0, "")
    features = np.load("f.npy")
    expected = StreamPCA(2).fit_transform(ROWS[:300])
    assert np.isnan(features[7]).all()
    assert np.allclose(np.delete(features, 7, 0), np.delete(expected, 7, 0))


def test_merge_is_one_pass_over_both(files):
    for k in (1, 2):
        answer("fit", "slow", f"run{k}.csv", "--alpha", 0.6, "-o", f"{k}.eigs")
    assert answer("merge", "1.eigs", "2.eigs", "-o", "both.eigs")["rows"] == 600
    apart = SlowSubspace(2, alpha=0.6).fit([ROWS[:300], ROWS[300:]])
    assert np.allclose(eigenstream.load("both.eigs").eigenvalues_, apart.eigenvalues_, rtol=1e-10)
    answer("merge", "1.eigs", "2.eigs", "--follows", "-o", "on.eigs")
    whole = SlowSubspace(2, alpha=0.6).fit(ROWS)
    assert np.allclose(eigenstream.load("on.eigs").eigenvalues_, whole.eigenvalues_, rtol=1e-10)


def test_a_hole_is_filled_on_the_line_between_its_ends(files):
    holed = ROWS[:300].copy()
    holed[6:9, 2] = [1.0, np.nan, 3.0]
    write_csv("holed.csv", holed)
    answer("fit", "pca", "holed.csv", "--missing", "interpolate", "-o", "m.eigs")
    holed[7, 2] = 2.0
    expected = StreamPCA(2).fit(holed).explained_variance_
    np.testing.assert_allclose(eigenstream.load("m.eigs").explained_variance_, expected)


TABLE = "t,s1,s2,raw,who\n" + "".join(f"{k},{k % 7},{k % 5},{k % 3},ann\n" for k in range(60))


def test_columns_by_pattern_and_range_and_columns_of_text(files):
    (files / "t.csv").write_text(TABLE)
    for given, names in {
        ("--columns", "s*,3:4"): ["s1", "s2", "raw"],
        ("--exclude", "t,r*"): ["s1", "s2"],
    }.items():
        answer("fit", "pca", "t.csv", *given, "-o", "m.eigs")
        assert eigenstream.load("m.eigs").feature_names_in_.tolist() == names
    result = run("fit", "pca", "t.csv", "--exclude", "t")
    assert (result.exit_code, len(result.stderr.splitlines())) == (0, 1)
    assert "who: text ('ann')" in result.stderr


def test_a_model_stores_how_its_data_were_read(files):
    (files / "t.csv").write_text(TABLE.replace("\n30,2,", "\n90,,"))
    given = ("--time", "t", "--gap", 5, "--missing", "skip", "--through", "differences")
    answer("fit", "slow", "t.csv", *given, "-o", "m.eigs")
    result = run("transform", "m.eigs", "t.csv", "-o", "f.npy")
    assert (result.exit_code, result.stderr) == (0, "")
    # Row 30 lacks a value and ends a sequence: times go back behind it.
    assert np.flatnonzero(np.isnan(np.load("f.npy")[:, 0])).tolist() == [0, 30, 31]
    assert "NaN" in run("transform", "m.eigs", "t.csv", "-o", "f.npy", "--missing", "raise").stderr
    untimed = [line.partition(",")[2] for line in TABLE.splitlines()]
    (files / "untimed.csv").write_text("\n".join(untimed))
    assert run("transform", "m.eigs", "untimed.csv", "-o", "f.npy").exit_code == 0


# ---- lags --------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_lags_are_those_of_python(files):
    given = ("--lag", "1,4", "-d", 2, "--criterion", "ratio", "--dt", 0.5, "--unit", "ps")
    rows = Autoregressive([0.9, 0.5], random_state=0).take(3000)
    rows[::50, 1] = np.nan
    np.save("rows.npy", rows)
    given = ("rows.npy", *given, "--missing", "available")
    found = answer("lags", *given, "--plot", "lags.png")
    model = SlowSubspace(2, criterion="ratio", missing="available")
    path = eigenstream.lag_path(model, rows, [1, 4], blocks=20, dt=0.5, unit="ps")
    assert (found["lags"], found["unit"], found["criterion"]) == ([1, 4], "ps", "ratio")
    assert found["recommended_lag"] == path.recommended_lag
    others = path.on_other_rows
    due = {"timescales": path.timescales, "timescales_on_other_rows": others}
    due |= {"errors": [e.timescales.error for e in path.errors]}
    for name, values in due.items():
        np.testing.assert_allclose(np.array(found[name], float), values)
    assert len(found["decays"]) == 2
    assert run("lags", "rows.npy", "--missing", "available").exit_code == 0  # without --dt
    assert Path("lags.png").stat().st_size > 1000
    shown = run("lags", *given).stdout
    assert "ratio, 2 features" in shown
    assert "±" in shown
    assert repr(path) in shown


def test_fit_and_lags_agree_and_name_columns(files):
    process = Autoregressive([0.98, 0.5], n_features=5, noise=0.2, random_state=0)
    write_csv("slow.csv", process.take(2000), "abcde")
    for criterion in ("difference", "ratio"):
        given = ("slow.csv", "--criterion", criterion, "--reversible")
        fit = answer("fit", "slow", *given, "--blocks", 10)
        assert fit["recommended_lag"] == answer("lags", *given)["recommended_lag"]
        assert (fit["alpha"] is None) == (criterion == "ratio")
        low, high = fit["features"][0]["interval"]
        assert low < fit["features"][0]["timescale"] < high
        assert set(fit["features"][0]["weights"]) < set("abcde")
    assert "eigenstream lags would choose lag" in run("fit", "slow", "slow.csv").stdout


def test_lags_of_an_oscillation_recommend_none_but_do_not_call_it_chance(files):
    phases = np.cumsum(2 * np.pi / 9 + 0.3 * np.random.default_rng(0).standard_normal(2000))
    np.save("turning.npy", np.column_stack([np.cos(phases), np.sin(phases)]))
    shown = run("lags", "turning.npy", "--lag", "1,2").stdout
    assert "No lag is recommended" in shown
    assert "chance" not in shown


@pytest.mark.parametrize(
    ("shape", "lags"), [((2, 3), [1]), ((4, 3), [1, 2]), ((8, 3), [1, 2]), ((30, 2), [1, 2, 5, 10])]
)
def test_default_lags_fit_short_tables(files, shape, lags):
    np.save("short.npy", np.random.default_rng(0).standard_normal(shape))
    assert answer("lags", "short.npy")["lags"] == lags


# ---- the guide, and progress -------------------------------------------------------------------


def test_the_page_of_the_documentation_runs(files):
    (files / "runs").mkdir()
    for name in ("run1.csv", "run2.csv"):
        (files / name).rename(f"runs/{name}")
    (files / "all.npy").rename("rows.npy")
    write_csv("new.csv", ROWS)
    write_csv("table.csv", np.column_stack([ROWS[:4], [1, 1, 2, 2]]), ["x", "y", "z", "day"])
    iris = pd.DataFrame(ROWS[:60, :2], columns=["length", "width"])
    iris["species"] = np.where(ROWS[:60, 0] > 0, "setosa", "virginica")
    iris.to_csv("iris.csv", index=False)
    same = iris.species[:30].to_numpy() == iris.species[30:].to_numpy()
    pairs = pd.DataFrame({"one": range(30), "two": range(30, 60)})
    pairs["kind"] = np.where(same, "same", "different")
    pairs.to_csv("pairs.csv", index=False)
    page = Path(__file__).parents[2] / "docs" / "how-to" / "command-line.md"
    lines = page.read_text(encoding="utf-8").replace("\\\n", "").splitlines()
    commands = [shlex.split(line, comments=True) for line in lines if line.startswith("$ ")]
    assert len(commands) > 12
    for _, name, *arguments in commands:
        assert name == "eigenstream"
        result = run(*arguments)
        assert result.exit_code == 0, (arguments, result.stderr)


@pytest.mark.parametrize("quiet", [3600.0, 0.0])
def test_progress_shows_rows_and_rate_of_long_passes(quiet, files, monkeypatch):
    monkeypatch.setattr(_output, "QUIET_SECONDS", quiet)
    shown = io.StringIO()
    terminal = Console(file=shown, force_terminal=True, width=100)
    monkeypatch.setattr(_output, "terminal", lambda: terminal)
    with Watched(open_stream("all.npy", chunk_rows=100)) as watched:
        assert sum(len(chunk) for chunk in watched.chunks()) == watched.rows == 600
    assert (" rows" in shown.getvalue()) == (quiet == 0)
    assert ("rows/s" in shown.getvalue()) == (quiet == 0)


def test_waiting_is_shown_on_a_terminal_and_leaves_no_trace(monkeypatch):
    shown = io.StringIO()
    terminal = Console(file=shown, force_terminal=True, width=60)
    monkeypatch.setattr(_output, "terminal", lambda: terminal)
    with waiting("merging"):
        end = time.monotonic() + 60
        while "merging" not in shown.getvalue() and time.monotonic() < end:
            time.sleep(0.01)
    assert "merging" in shown.getvalue()
    assert shown.getvalue().endswith("\x1b[2K")  # the line is gone


def test_pipes_get_a_line_from_time_to_time(capfd, monkeypatch):
    with waiting("merging"):
        pass
    monkeypatch.setattr(_output, "LINE_SECONDS", 0.0)
    with Watched(open_stream(np.zeros((6, 2)), chunk_rows=3)) as watched:
        list(watched.chunks())
    lines = capfd.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines] == ["eigenstream: 3 rows", "eigenstream: 6 rows"]


def test_irregular_steps_in_time_are_warned_of_with_a_time_step(files):
    rows = np.random.default_rng(0).standard_normal((160, 2))
    for power, warned in ((1.0, False), (1.5, True)):
        table = np.column_stack([60 * np.arange(160.0) ** power, rows])
        np.savetxt("timed.csv", table, delimiter=",", header="time,a,b", comments="")
        result = run("fit", "dynamic", "timed.csv", "--time", "time", "--dt", "60")
        assert ("steps in time vary from" in result.stderr) == warned
        assert "so --dt holds for some rows only" in result.stderr or not warned


def test_the_unit_of_time_scales_holds_for_the_dates_of_the_rows(files):
    """Rows are half an hour apart, but for one: a time scale in hours is half of that in rows."""
    rows = Autoregressive([0.97], n_features=3, noise=0.1, random_state=0).take(4000)
    dates = pd.date_range("2024-01-01", periods=len(rows), freq="30min").to_numpy(copy=True)
    dates[500] += np.timedelta64(5, "m")
    table = pd.DataFrame(rows, columns=list("abc")).assign(time=dates)
    table.to_csv("dated.csv", index=False)
    timed = "dated.csv", "--time", "time"
    in_rows = answer("fit", "slow", *timed, "-d", "1")["features"][0]
    found = answer("fit", "slow", *timed, "-d", "1", "--unit", "h", "--report", "h.html")
    in_hours = found["features"][0]
    assert in_hours["timescale"] == pytest.approx(in_rows["timescale"] / 2)
    assert f"a time scale of {in_hours['timescale']:.3g} h at lag 1" in Path("h.html").read_text()
    lags = [answer("lags", *timed, *unit) for unit in ((), ("--unit", "h"))]
    np.testing.assert_allclose(
        np.array(lags[1]["timescales"], float), np.array(lags[0]["timescales"], float) / 2
    )
