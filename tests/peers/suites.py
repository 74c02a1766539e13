"""Suites of tests inside installed packages."""

from types import ModuleType
from typing import Any

import pytest


def suite(name: str, **replaced: Any) -> dict[str, Any]:
    """Return the tests of an installed module, with some of its names replaced."""
    module: ModuleType = pytest.importorskip(name, reason=f"{name} is not installed")
    for key, value in replaced.items():
        assert hasattr(module, key), key
        setattr(module, key, value)
    return {key: value for key, value in vars(module).items() if key.startswith("test_")}
