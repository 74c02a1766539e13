"""Suites of tests of other libraries."""

import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

Before = Callable[[dict[str, Any]], dict[str, Any]]


def suite(
    name: str,
    source: str | None = None,
    before: dict[str, Before] | None = None,
    **replaced: Any,
) -> dict[str, Any]:
    """Return what a module of tests defines, with some of its names replaced.

    ``before`` has functions that make new values of modules that the module imports.

    The module is one of an installed package. Tests that no package contains come from a copy of
    the library's repository, the folder ``source`` below the folder in ``EIGENSTREAM_PEERS``.
    """
    module = import_module(name) if source is None else _copied(name, source, before or {})
    for key, value in replaced.items():
        assert hasattr(module, key), key
        setattr(module, key, value)
    return {key: value for key, value in vars(module).items() if not key.startswith("__")}


def _copied(name: str, source: str, before: dict[str, Before]) -> ModuleType:
    """Import a module of a repository, whose folder of tests may have the name of ours."""
    folder = Path(os.environ.get("EIGENSTREAM_PEERS", "/nowhere")) / source
    if not folder.is_dir():
        pytest.skip(
            f"the tests of {source} are in no package: set EIGENSTREAM_PEERS to a folder with a "
            "copy of its repository",
            allow_module_level=True,
        )
    top = name.split(".")[0]
    ours = {key: sys.modules.pop(key) for key in list(sys.modules) if key.split(".")[0] == top}
    sys.path.insert(0, str(folder))
    try:
        for other, values in before.items():
            used = import_module(other)
            vars(used).update(values(vars(used)))
        return import_module(name)
    except ModuleNotFoundError as error:
        pytest.skip(f"the tests of {source} need {error.name}", allow_module_level=True)
    finally:
        sys.path.remove(str(folder))
        for key in [key for key in sys.modules if key.split(".")[0] == top]:
            del sys.modules[key]
        sys.modules.update(ours)
