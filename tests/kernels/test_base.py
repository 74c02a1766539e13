"""Compiling: where nothing can be cached, and what is said when it takes long."""

import logging
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import FunctionType

import numba
import pytest

import eigenstream
from eigenstream.kernels import base

#: In a container: nothing beside the package and no home to write to. Dense solvers must not care.
DENSE = """
import numpy as np
from eigenstream import PairSubspace, SlowSubspace, StreamPCA

rows = np.random.default_rng(0).standard_normal((50, 3))
StreamPCA(2).fit(rows).transform(rows)
SlowSubspace(2).fit(rows).transform(rows)
"""

COMPILING = """
import numpy as np
from eigenstream.kernels.centering import mean_shares

assert mean_shares(np.ones(3), 1.0, 1.0)[1].tolist() == [2.0, 3.0, 4.0]
assert mean_shares.stats.cache_misses
"""


@pytest.fixture(scope="module")
def read_only(tmp_path_factory):
    """A copy of the package whose caches cannot be made, not even by root: files bar the way."""
    site = tmp_path_factory.mktemp("site")
    source = Path(eigenstream.__file__).parent
    shutil.copytree(source, site / "eigenstream", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [path.parent for path in (site / "eigenstream").rglob("__init__.py")]:
        (folder / "__pycache__").write_text("no folder")
    return site


def child(code, site, scratch):
    """Run code in a process without a home."""
    hidden = ("HOME", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "IPYTHONDIR", "COVERAGE_PROCESS_START")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment |= {"PYTHONPATH": str(site), "HOME": "/dev/null", "TMPDIR": str(scratch)}
    run = subprocess.run(
        [sys.executable, "-B", "-c", code],
        env=environment,
        cwd=scratch,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    return run.stderr


def test_dense_solvers_need_no_cache(read_only, tmp_path):
    assert child(DENSE, read_only, tmp_path) == ""


def test_what_is_compiled_goes_to_a_temporary_folder_with_one_warning(read_only, tmp_path):
    said = child(COMPILING, read_only, tmp_path)
    assert said.count("UserWarning") == 1
    assert f"they are kept in {tmp_path}" in said
    assert "NUMBA_CACHE_DIR" in said
    assert said.startswith("<string>:5:"), "the warning names another line than the user's"
    assert [path.suffix for path in tmp_path.rglob("*.nbi")] == [".nbi"]
    # The next process finds it there, and has nothing to say.
    again = COMPILING.replace("cache_misses", "cache_hits")
    assert child(again, read_only, tmp_path) == ""


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("kind", ["cut off", "of a class that is no more", "empty"])
def test_a_cache_that_cannot_be_read_is_made_anew(read_only, tmp_path, suffix, kind):
    child(COMPILING, read_only, tmp_path)
    [path] = tmp_path.rglob(f"*{suffix}")
    whole = path.read_bytes()
    head = pickle.dumps(numba.__version__) if suffix == ".nbi" else b""
    path.write_bytes(
        {
            "cut off": whole[: len(whole) * 2 // 3],
            # A global that its module lacks, as after a renaming.
            "of a class that is no more": head + b"ceigenstream.terms\nNoSuchClass\n.",
            "empty": b"",
        }[kind]
    )
    assert "Traceback" not in child(COMPILING, read_only, tmp_path)
    assert child(COMPILING.replace("cache_misses", "cache_hits"), read_only, tmp_path) == ""


def test_or_is_not_kept_at_all(read_only, tmp_path):
    (tmp_path / f"eigenstream-cache-{os.getuid()}").write_text("no folder")
    said = child(COMPILING.replace("assert mean_shares.stats", "#"), read_only, tmp_path)
    assert said.count("UserWarning") == 1
    assert "they are compiled in every process" in said


@pytest.mark.parametrize("how", ["open to others", "a link", "missing"])
def test_code_is_read_from_a_private_folder_only(how, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    folder = tmp_path / "temporary" / f"eigenstream-cache-{os.getuid()}"
    if how == "missing":
        assert base._private_folder() is None
        return
    folder.parent.mkdir()
    assert base._private_folder() == str(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    if how == "a link":
        folder.rmdir()
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        folder.symlink_to(tmp_path / "elsewhere")
    else:
        folder.chmod(0o770)
    assert base._private_folder() is None


def loop(name, module="eigenstream.rules.engine"):
    """A small function that passes for one that takes long to compile."""
    function = FunctionType((lambda x: x + 1).__code__, globals(), name)
    function.__module__ = module
    return base.njit()(function)


def test_a_long_compilation_says_so_once(capsys, monkeypatch):
    monkeypatch.setattr(base._REPORT, "told", set())
    monkeypatch.setattr(logging.getLogger("eigenstream"), "hasHandlers", lambda: False)
    slow = loop("some_blocks")
    assert (slow(1), slow(2)) == (2, 3)
    said = capsys.readouterr().err
    assert said.startswith("eigenstream: compiling the online rule")
    assert "10 to 30 s" in said
    assert len(said.splitlines()) == 1
    slow(1.5)  # compiled once more, for other numbers
    assert len(capsys.readouterr().err.splitlines()) == 1
    loop("quick", "eigenstream.kernels.some")(1)
    loop("foreign_blocks", "somebody.else")(1)
    assert capsys.readouterr().err == ""
    loop("one", "eigenstream.kernels.sketch")(1)
    said = capsys.readouterr().err
    assert said.startswith("eigenstream: compiling the sketch for this machine: some seconds")


def test_it_is_logged_where_logging_is_set_up(capsys, caplog, monkeypatch):
    monkeypatch.setattr(base._REPORT, "told", set())
    with caplog.at_level(logging.INFO, "eigenstream"):
        loop("some_blocks")(1)
    assert [record.levelname for record in caplog.records] == ["INFO"]
    logging.getLogger("eigenstream").setLevel(logging.WARNING)
    try:
        loop("other_blocks")(1)
    finally:
        logging.getLogger("eigenstream").setLevel(logging.NOTSET)
    assert len(caplog.records) == 1
    assert capsys.readouterr().err == ""
