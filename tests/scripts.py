"""Scripts of the repository that are no modules of the package, loaded from their files."""

import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def loaded(path):
    """Return the module that a file holds, given by its path below the repository."""
    if str(ROOT) not in sys.path:  # a script's own package: pytest adds no folder of its own
        sys.path.append(str(ROOT))
    spec = importlib.util.spec_from_file_location(f"script_{Path(path).stem}", ROOT / path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module
