"""The command line: what it writes, what it says, and how it refuses."""

import re
import signal
import subprocess
import sys
from importlib.util import find_spec

import pytest

import eigenstream
from bad_sources import CASES
from commands import COMMANDS, run

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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["demo", "--views", "3"], "views must be a whole number of at least 1000, got 3"),
        (["demo", "--views", "many"], "--views"),
        (["demo", "--seed", "-1"], "seed must be a whole number of at least 0"),
        (["demo", "--out", "no/such/folder/page.html"], "cannot write no/such/folder/page.html"),
        (["demo", "--out", "."], ".: the name must end in .html"),
        (["demo", "--out", "x.pdf"], "x.pdf: the name must end in .html"),
        (["dance"], "dance"),
        (["demo", "--fast"], "--fast"),
        (["dance"], "--help"),
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


def test_an_existing_report_survives_a_refusal(tmp_path):
    out = tmp_path / "report.html"
    out.write_text("precious")
    assert run("demo", "--views", "3", "--out", out).exit_code == 2
    assert out.read_text() == "precious"


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


@pytest.mark.parametrize("words", [[], ["fit", "slow"], ["research"]])
def test_flags_have_no_type(words):
    assert "<bool>" not in run(*words, "--help").stdout


def test_warmup_says_whether_it_compiled():
    first = run("warmup")
    assert first.exit_code == 0, first.stderr
    assert re.fullmatch(
        r"Compiled in \d+ s\.|All loops are compiled already\.", first.stdout.strip()
    )


@pytest.mark.slow
def test_an_error_of_our_own_exits_with_1():
    code = "from eigenstream import cli; cli.app.command('broken')(lambda: {}['x']); cli.main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "broken"], capture_output=True, text=True, timeout=100
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "KeyError: 'x'" in done.stderr
