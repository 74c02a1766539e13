"""Every registered class is found in a new process, which has imported only the public ``load``."""

import json
import subprocess
import sys

import numpy as np

import eigenstream
from eigenstream import Monitor, StreamPCA, save
from eigenstream.streams import Standardize, open_stream


def answer_of(code, *arguments):
    """Return the JSON that a new process prints."""
    command = [sys.executable, "-W", "ignore", "-c", code, *map(str, arguments)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


def test_loading_knows_every_class_of_the_package():
    code = """
import json, pkgutil
from importlib import import_module
import eigenstream
eigenstream.load
from eigenstream.core.storable import CLASSES
known = set(CLASSES)
for module in pkgutil.walk_packages(eigenstream.__path__, "eigenstream."):
    if not module.name.endswith("__main__"):
        import_module(module.name)
print(json.dumps([len(known), sorted(set(CLASSES) - known)]))
"""
    n_known, unknown = answer_of(code)
    assert unknown == []
    assert n_known > 90


def test_a_monitor_is_loaded(tmp_path):
    rows = np.random.default_rng(0).standard_normal((400, 3)) @ np.diag([3.0, 2.0, 1.0])
    stream = open_stream(rows).through(Standardize())
    model = StreamPCA(2, solver="flow").fit(stream)
    monitor = Monitor(model, window=10, rate=0.05).fit(rows[:300])
    paths = []
    for k, without in enumerate([[], ["random_state"], ["hook", "preprocessor"]]):
        paths.append(tmp_path / f"monitor{k}.eigs")
        save(monitor, paths[-1], without=without)
    np.save(tmp_path / "rows.npy", rows[300:])
    code = """
import json, sys
import numpy as np
import eigenstream
monitors = [eigenstream.load(path) for path in sys.argv[2:]]
rows = np.load(sys.argv[1])
print(json.dumps([[record.score for record in each.update(rows)] for each in monitors]))
"""
    expected = [record.score for record in monitor.watch(rows[300:])]
    for scores in answer_of(code, tmp_path / "rows.npy", *paths):
        np.testing.assert_allclose(scores, expected)


def test_every_name_of_the_package_exists():
    for name in dir(eigenstream):
        value = eigenstream
        for part in name.split("."):
            value = getattr(value, part)
