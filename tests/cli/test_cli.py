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


def test_help_needs_no_library_of_learning():
    """Importing them takes ten times as long as the rest of the command line."""
    code = "import sys, eigenstream.cli; print({'sklearn', 'pyarrow', 'numba'} & {*sys.modules})"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout == "set()\n"


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


@pytest.fixture
def exported(tmp_path, monkeypatch):
    """Return a function that exports a model that another function loads, and the exit code."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    monkeypatch.setattr(
        sys, "argv", ["eigenstream", "export", "m.eigs", "-o", str(tmp_path / "x.npy")]
    )

    def run(load):
        monkeypatch.setattr("eigenstream.load", load)
        with pytest.raises(SystemExit) as end:
            cli.main()
        return end.value.code

    yield run
    for number, handler in handlers.items():
        signal.signal(number, handler)
    assert list(tmp_path.iterdir()) == []


def test_a_signal_that_a_compiler_turns_into_another_error_ends_a_command(exported, capsys):
    def interrupted(path):
        try:
            signal.raise_signal(signal.SIGTERM)
        except SystemExit:
            raise RuntimeError("no compiled object yet") from None

    assert exported(interrupted) == 128 + signal.SIGTERM
    assert capsys.readouterr() == ("", "")


def test_an_unexpected_error_is_one_line_and_exit_code_2(exported, capsys):
    """Exit code 1 is an alarm of ``watch``."""
    assert exported(lambda path: {}["x"]) == 2
    told = r"eigenstream: unexpected KeyError: 'x' \(test_cli.py, line \d+\)\. Please report it\.\n"
    assert re.fullmatch(told, capsys.readouterr().err)
