"""Every command in a separate process: real pipes, real signals, exit codes, its reader."""

import errno
import json
import os
import signal
import time
from contextlib import suppress

import numpy as np
import pytest

from processes import Processes

fcntl = pytest.importorskip("fcntl")  # and with it fork and named pipes
termios = pytest.importorskip("termios")

ROWS = np.random.default_rng(0).standard_normal((3000, 3)).cumsum(axis=0).round(4)
ROWS_OF_TEXT = [",".join(map(str, row)) for row in ROWS.tolist()]
TEXT = "\n".join(["x,y,z", *ROWS_OF_TEXT, ""])


@pytest.fixture(scope="module")
def commands(tmp_path_factory):
    folder = tmp_path_factory.mktemp("signals")
    (folder / "rows.csv").write_text(TEXT)
    processes = Processes(folder)
    assert processes.run("fit", "pca", "rows.csv", "-d", 1, "-o", "m.eigs")[0] == 0
    yield processes
    processes.close()


QUIET = {
    "fit pca - -d 1 -o new.eigs": signal.SIGINT,
    "fit slow - -d 1 -o new.eigs": signal.SIGTERM,
    "watch m.eigs - --reference rows.csv --window 30 --rate 0.2": signal.SIGINT,
    "transform m.eigs - -o new.csv": signal.SIGTERM,
    "info -": signal.SIGHUP,
}


@pytest.mark.parametrize("words", QUIET)
def test_a_signal_ends_a_command_whose_pipe_is_quiet(words, commands):
    pipe = commands.pipe()
    process = commands.start(*words.split(), stdin=pipe)
    with open(pipe, "w") as writer:
        writer.write(TEXT[:20_000])
        writer.flush()
        emptied(writer)
        process.send(QUIET[words])
        assert process.code() == 128 + QUIET[words]
    assert "Traceback" not in process.errors
    assert not list(commands.folder.glob("*new*"))


#: Commands of a model and of standard input, and their exit codes.
ENDS = {
    "fit dynamic - -d 1": 0,
    "fit kmeans - --prototypes 2": 0,
    "fit som - --grid 2x2": 0,
    "fit classes - --labels kinds.csv -d 1": 0,
    "fit pca - -d 9": 2,
    "evaluate m.eigs - --labels kinds.csv": 0,
    "lags - --lag 1,2": 0,
    "transform m.eigs - --columns x,y": 2,
    "merge m.eigs m.eigs -o both.eigs": 0,
    "export m.eigs -o c.csv": 0,
    "info damaged.h5": 2,
    "watch m.eigs damaged.h5 --reference rows.csv --window 30 --rate 0.2": 2,
    "watch m.eigs moved.csv --reference rows.csv --window 30 --rate 0.2": 1,
}


@pytest.mark.parametrize("words", ENDS)
def test_a_command_ends_with_its_exit_code(words, commands):
    """Also with a file that is damaged: 1 is an alarm only."""
    folder = commands.folder
    (folder / "kinds.csv").write_text("\n".join(["kind", *["a", "b"] * 300]))
    (folder / "damaged.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(range(256)))
    (folder / "moved.csv").write_text("\n".join(["x,y,z", *["900,-900,1"] * 60, ""]))
    pipe = commands.pipe() if " - " in words else None
    process = commands.start(*words.split(), **({} if pipe is None else {"stdin": pipe}))
    if pipe is not None:
        with suppress(BrokenPipeError), open(pipe, "w") as writer:
            writer.write("\n".join(["x,y,z", *ROWS_OF_TEXT[:600], ""]))
    assert process.code() == ENDS[words], process.errors
    assert "Traceback" not in process.errors
    if ENDS[words] == 2:
        assert process.errors.count("\n") == 1


def emptied(writer):
    """Wait until the command has read all of a pipe, and waits for more."""
    left = bytearray(4)
    while fcntl.ioctl(writer, termios.FIONREAD, left) == 0 and any(left):
        time.sleep(0.05)
    time.sleep(0.3)


def test_a_reader_that_ends_ends_the_command_quietly(commands):
    pipe = commands.pipe()
    process = commands.start("transform", "m.eigs", *["rows.csv"] * 20, stdout=pipe)
    with open(pipe) as reader:
        assert reader.readline() == "streampca0\n"
    assert process.code() == 141
    assert process.errors == ""


@pytest.mark.parametrize(
    "words", ["--help", "fit --help", "info rows.csv", "transform m.eigs rows.csv"]
)
def test_output_that_cannot_be_written_ends_a_command_in_a_line_at_most(words, commands):
    pipe = commands.pipe()
    process = commands.start(*words.split(), stdout=pipe)
    open(pipe).close()
    assert (process.code(), process.errors) == (141, "")
    process = commands.start(*words.split(), stdout="/dev/full")
    assert process.code() == 2
    assert process.errors == f"eigenstream: {os.strerror(errno.ENOSPC)}\n"


def test_watch_counts_bad_cells_and_goes_on(commands):
    lines = [f"2024-05-01T{k // 60:02}:{k % 60:02},{row}" for k, row in enumerate(ROWS_OF_TEXT)]
    (commands.folder / "dated.csv").write_text("\n".join(["when,x,y,z", *lines[:1440], ""]))
    pipe = commands.pipe()
    options = "--reference dated.csv --window 30 --rate 0.2 --time when --columns x,y,z --json"
    process = commands.start("watch", "m.eigs", "-", *options.split(), stdin=pipe)
    lines[3] = lines[3].rpartition(",")[0] + ",ERR"
    lines[5:7] = ["2024-05-01T00:05,1", "noon,1,2,3"]
    lines[9] = lines[9].rpartition(",")[0] + ",inf"
    with open(pipe, "w") as writer:
        writer.write("\n".join(["when,x,y,z", *lines[:20], ""]))
        writer.flush()
        emptied(writer)
        writer.write("\n".join([*lines[20:62], ""]))
    assert process.code() in (0, 1), process.errors
    records = [json.loads(line) for line in process.out.splitlines()]
    assert [record["time"] for record in records] == ["2024-05-01T00:31", "2024-05-01T01:01"]
    assert process.errors.endswith("eigenstream: 4 cells or lines without numbers are missing.\n")


def test_names_of_columns_do_not_control_the_terminal(commands):
    (commands.folder / "names.csv").write_text("heat\x1b[2J,wind\n" + "1,2\n2,1\n" * 9)
    for words in ("info names.csv", "fit slow names.csv", "info names.csv --columns none"):
        _, out, errors = commands.run(*words.split())
        assert "\x1b" not in out + errors
        assert r"heat\x1b[2J" in out + errors
