"""Run the benchmarks named on the command line; by default the baseline.

``--store`` stores their tables in ``benchmarks/results``. ``pages`` fills docs/research with them.
``device`` takes more options, such as ``--namespace torch``.
"""

import sys
from importlib import import_module
from itertools import pairwise
from pathlib import Path

from benchmarks._tools import shown, store

NAMES = sorted(p.stem for p in Path(__file__).parent.glob("*.py") if not p.stem.startswith("_"))

#: Options with a value, which is not the name of a benchmark.
OPTIONS = ("--namespace", "--device", "--rows", "--columns")

if __name__ == "__main__":
    words = [word for before, word in pairwise(sys.argv) if before not in OPTIONS]
    chosen = [word for word in words if not word.startswith("--")] or ["baseline"]
    unknown = [name for name in chosen if name not in NAMES]
    if unknown:
        print(f"no benchmark named {', '.join(unknown)}; there are {', '.join(NAMES)}")
        sys.exit(2)
    for name in chosen:
        shown.clear()
        import_module(f"benchmarks.{name}").main()
        if "--store" in sys.argv and shown:
            store(name)
