"""Store the answers of today's code: ``python tests/golden/make.py [prefix of names ...]``."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from golden import test_golden
from golden.table import ANSWERS, CASES

assert test_golden.__doc__


def main(prefixes: tuple[str, ...]) -> None:
    """Make the answers of the named cases again, or all; drop those of cases that are gone."""
    stored = json.loads(ANSWERS.read_text()) if ANSWERS.exists() and prefixes else {}
    for name, case in CASES.items():
        if name.startswith(prefixes or ("",)):
            stored[name] = case.answer()
    lines = [f"{json.dumps(name)}: {json.dumps(stored[name])}" for name in CASES if name in stored]
    ANSWERS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(tuple(sys.argv[1:]))
