"""Compiling: where nothing can be cached, and what is said when it takes long."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import eigenstream

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


def test_or_is_not_kept_at_all(read_only, tmp_path):
    (tmp_path / f"eigenstream-cache-{os.getuid()}").write_text("no folder")
    said = child(COMPILING.replace("assert mean_shares.stats", "#"), read_only, tmp_path)
    assert said.count("UserWarning") == 1
    assert "they are compiled in every process" in said
