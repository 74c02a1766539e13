"""Whatever ends a process, or fills a disk, there is one whole file."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from eigenstream import StreamPCA
from eigenstream.persistence import load, save

ROWS = np.random.default_rng(0).standard_normal((600, 200))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the harness forks")
def test_killed_again_and_again(tmp_path):
    harness = Path(__file__).with_name("kills.py")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", harness, tmp_path],
        capture_output=True,
        text=True,
        timeout=280,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    kills = int(done.stdout.split()[0])
    assert kills >= 12
    assert "at 7 stages of writing" in done.stdout


FULL = """
import resource, sys
import numpy as np
from eigenstream import StreamPCA, open_stream
rows = np.load(sys.argv[1])
def fit(n, **how):
    return StreamPCA(2).fit(open_stream(rows[:, :n], chunk_rows=100), every=100, **how)
fit(4, checkpoint=sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    fit(200, checkpoint=sys.argv[2])
except OSError as problem:
    print(problem)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits are set as POSIX has them")
def test_a_full_disk_leaves_the_old_checkpoint(tmp_path):
    np.save(tmp_path / "rows.npy", ROWS)
    path = tmp_path / "fit.eigs"
    arguments = [sys.executable, "-c", FULL, tmp_path / "rows.npy", path]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"cannot write {path}: "), done.stdout
    assert load(path).n_features_in_ == 4
    assert sorted(one.name for one in tmp_path.iterdir()) == ["fit.eigs", "rows.npy"]


def test_two_that_write_one_file_leave_one_whole_file(tmp_path):
    path = tmp_path / "model.eigs"
    both = [StreamPCA(2).fit(ROWS), StreamPCA(3).fit(ROWS[:, :7])]
    expected = []
    for model in both:
        save(model, path, date="whenever")
        expected.append(path.read_bytes())
    code = (
        "import sys, eigenstream\n"
        "model = eigenstream.load(sys.argv[1])\n"
        "for _ in range(12): eigenstream.save(model, sys.argv[2], date='whenever')"
    )
    writers = []
    for k, model in enumerate(both):
        save(model, tmp_path / f"{k}.eigs")
        arguments = [sys.executable, "-c", code, tmp_path / f"{k}.eigs", path]
        writers.append(subprocess.Popen(arguments))
    until = time.monotonic() + 100
    while any(one.poll() is None for one in writers):
        assert time.monotonic() < until
        found = path.read_bytes()
        assert found in expected
        time.sleep(1e-3)
    assert [one.returncode for one in writers] == [0, 0]
    assert path.read_bytes() in expected
    assert len(list(tmp_path.iterdir())) == 3
