"""The command that watches windows of data."""

import json
from pathlib import Path

import numpy as np
import pytest

from commands import run
from eigenstream import Monitor, StreamPCA

CUT, WINDOW = 10_000, 100
ROWS = np.random.default_rng(0).standard_normal((11_000, 3)) @ np.diag([3.0, 2.0, 1.0])
ROWS[:, 2] += ROWS[:, 0]


def write(name, rows):
    np.savetxt(name, rows, delimiter=",", header="inlet,outlet,flow", comments="")


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("good.csv", ROWS[:CUT])
    write("later.csv", ROWS[CUT:])
    moved = ROWS[CUT:].copy()
    moved[500:, 2] += 3.0
    write("moved.csv", moved)
    assert run("fit", "pca", "good.csv", "-d", 1, "-o", "m.eigs").exit_code == 0
    return tmp_path


OPTIONS = ("--reference", "good.csv", "--window", WINDOW)


def test_watch_prints_the_records_of_python(files):
    monitor = Monitor(StreamPCA(1).fit(ROWS[:CUT]), window=WINDOW).fit(ROWS[:CUT])
    records = monitor.update(ROWS[CUT:])
    watched = run("watch", "m.eigs", "later.csv", *OPTIONS, "--json")
    assert watched.exit_code == 0
    lines = [json.loads(line) for line in watched.stdout.splitlines()]
    assert [list(line) for line in lines] == [
        ["rows", "time", "p", "group", "column", "offset", "alarm"]
    ] * len(records)
    for line, record in zip(lines, records, strict=True):
        assert (line["rows"], line["alarm"]) == (record.rows, record.alarm)
        assert line["p"] == pytest.approx(record.p)


def test_an_alarm_names_the_column_and_sets_the_exit_code(files):
    watched = run("watch", "m.eigs", "moved.csv", *OPTIONS, "-o", "monitor.eigs")
    assert watched.exit_code == 1
    header, *lines, summary = watched.stdout.splitlines()
    assert header.split() == ["rows", "time", "p"]
    assert ["alarm, residual: flow mean" in line for line in lines] == [False] * 5 + [True] * 5
    assert summary == "5 alarms in 10 windows of 100 rows."
    # The saved monitor needs no reference, and reads standard input.
    again = run("watch", "monitor.eigs", "-", given=Path("moved.csv").read_text())
    assert again.stdout == watched.stdout
    page = run("watch", "monitor.eigs", "moved.csv", "--report", "page.html")
    assert page.exit_code == 1
    assert "flow mean" in Path("page.html").read_text()


def test_a_bad_cell_and_a_dead_sensor_are_no_errors(files):
    rows = ROWS[CUT:].copy()
    rows[150, 1], rows[500:, 0] = np.nan, np.nan
    write("gaps.csv", rows)
    watched = run("watch", "m.eigs", "gaps.csv", *OPTIONS)
    assert watched.exit_code == 1
    assert "health: inlet missing in 100% of the rows" in watched.stdout
