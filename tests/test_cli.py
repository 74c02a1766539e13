"""The command line: what it writes, what it says, and how it refuses."""

import re

import pytest
from typer.testing import CliRunner

import eigenstream
from eigenstream.cli import app

TINY = ["demo", "--views", "1000"]


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo") / "page.html"
    return run(*TINY, "--seed", 3, "--out", out), out


def test_demo_prints_the_table_and_says_where_the_report_is(demo):
    result, out = demo
    assert result.exit_code == 0, result.output
    for name in ("raw pixels", "PCA", "slow subspace"):
        assert re.search(rf"{name} +\d+ +[01]\.\d\d\d +[01]\.\d\d\d", result.stdout)
    last = result.stdout.strip().splitlines()[-1]
    assert str(out) in last
    assert "demo --seed 4" in last


def test_demo_leaves_the_report_and_nothing_else(demo):
    _, out = demo
    assert [path.name for path in out.parent.iterdir()] == ["page.html"]
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_version_and_help():
    assert run("--version").stdout.strip() == f"eigenstream {eigenstream.__version__}"
    for arguments in ([], ["--help"]):
        result = run(*arguments)
        assert result.exit_code == 0
        assert "demo" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["demo", "--views", "3"], "views must be a whole number of at least 1000, got 3"),
        (["demo", "--views", "many"], "--views"),
        (["demo", "--seed", "-1"], "seed must be a whole number of at least 0"),
        (["demo", "--out", "no/such/folder/page.html"], "cannot write no/such/folder/page.html"),
        (["demo", "--out", "."], "'.' is a directory"),
        (["dance"], "dance"),
        (["demo", "--fast"], "--fast"),
    ],
)
def test_refusals_are_one_line_and_leave_nothing(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stderr.startswith("eigenstream: ")
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_an_existing_report_survives_a_refusal(tmp_path):
    out = tmp_path / "report.html"
    out.write_text("precious")
    assert run("demo", "--views", "3", "--out", out).exit_code == 2
    assert out.read_text() == "precious"
