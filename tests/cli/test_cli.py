"""The command line: the demo, help, warmup, signals and bugs."""

import re
import signal
import subprocess
import sys

import pytest

import eigenstream
from commands import COMMANDS, run
from eigenstream import cli

TINY = ["demo", "--views", "1000"]


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo") / "page.html"
    return run(*TINY, "--seed", 3, "--out", out), out


@pytest.mark.slow
def test_demo_prints_the_table_and_says_where_the_report_is(demo):
    result, out = demo
    assert result.exit_code == 0, result.output
    for name in ("raw pixels", "PCA", "slow subspace"):
        assert re.search(rf"{name} +\d+ +[01]\.\d\d\d +[01]\.\d\d\d", result.stdout)
    last = result.stdout.strip().splitlines()[-1]
    assert str(out) in last
    assert "demo --seed 4" in last


def test_version_and_help():
    assert run("--version").stdout.strip() == f"eigenstream {eigenstream.__version__}"
    for arguments in ([], ["--help"]):
        result = run(*arguments)
        assert result.exit_code == 0
        assert "demo" in result.stdout


#: A demo that is asked to end in the middle; a compiler makes the exception one of its own.
ENDS = """
import os, signal, sys, time
from eigenstream import cli
from eigenstream import demo

name, how = sys.argv[1:]
sys.argv = ["eigenstream", "demo", "--out", "page.html"]
# Under nohup, or in the background, it would start with the signal ignored.
signal.signal(getattr(signal, name), signal.SIG_DFL)

def run(*_):
    try:
        os.kill(os.getpid(), getattr(signal, name))
        time.sleep(60)
    except SystemExit:
        if how == "compiling":
            raise RuntimeError("no compiled object yet") from None
        raise

demo.run = run
cli.main()
"""


@pytest.mark.parametrize(("name", "how"), [("SIGTERM", "compiling")])
@pytest.mark.slow
def test_asked_to_end_it_leaves_nothing(name, how, tmp_path):
    if not hasattr(signal, name):
        pytest.skip("no such signal here")
    run = subprocess.run(
        [sys.executable, "-c", ENDS, name, how],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
    )
    number = getattr(signal, name)
    assert (run.returncode, run.stdout, run.stderr) == (128 + number, "", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", COMMANDS)
def test_help_of_every_command_has_an_example_of_options_that_it_has(words):
    command = COMMANDS[words]
    called, _, given = command.epilog.removeprefix("Example: ").partition(words)
    assert called == ""
    while hasattr(command, "commands"):
        word, _, given = given.strip().partition(" ")
        command = command.commands[word]
    asked = [one for one in given.split() if one.startswith("-")]
    known = {name for one in command.params for name in one.opts}
    assert set(asked) <= known
    assert "--json" in known
    assert "Example: " in run(*words.split()[1:], "--help").stdout


def test_warmup_says_whether_it_compiled():
    first = run("warmup")
    assert first.exit_code == 0, first.stderr
    assert re.fullmatch(
        r"Compiled in \d+ s\.|All loops are compiled already\.", first.stdout.strip()
    )


def test_an_unexpected_error_is_one_line_and_exit_code_2(tmp_path, monkeypatch, capsys):
    """Exit code 1 is an alarm of ``watch``."""
    monkeypatch.setattr(
        sys, "argv", ["eigenstream", "export", "m.eigs", "-o", str(tmp_path / "x.npy")]
    )
    monkeypatch.setattr("eigenstream.load", lambda path: {}["x"])
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 2
    told = r"eigenstream: unexpected KeyError: 'x' \(test_cli.py, line \d+\)\. Please report it\.\n"
    assert re.fullmatch(told, capsys.readouterr().err)
