"""Every command that reads data ends on a signal while its pipe is quiet, and with its reader."""

import signal
import time

import numpy as np
import pytest

from processes import Processes

fcntl = pytest.importorskip("fcntl")  # and with it fork and named pipes
termios = pytest.importorskip("termios")

ROWS = np.random.default_rng(0).standard_normal((3000, 3)).cumsum(axis=0).round(4)
TEXT = "x,y,z\n" + "".join(",".join(map(str, row)) + "\n" for row in ROWS.tolist())


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
