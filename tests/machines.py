"""Tests run again as on a processor that can do less than this one."""

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest


def runs_with(features: str, file: str, selected: str) -> None:
    """Run tests of a file as compiled for a processor with these features; none: the plainest."""
    wanted = features.split(",")[0][1:]
    if wanted and not numba.core.codegen.ll.get_host_cpu_features().get(wanted):
        pytest.skip("this processor has smaller registers only")
    machine = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": features}
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", file, "-k", selected],
        env={**os.environ, **machine},
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-2000:]
