"""``python -m papers``: list the reproductions, or make their pages."""

import argparse
import json
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from eigenstream.demo import Clock
from papers import PAPERS, data

EFFORTS = {
    "tiny": "the least that makes a page, for tests",
    "quick": "a first look",
    "full": "as much as the paper",
}


@contextmanager
def one_line_warnings() -> Iterator[None]:
    """Print each warning as one line, and those that differ in numbers only once."""
    shown: set[str] = set()

    def show(message: Warning | str, *place: object) -> None:
        kind = re.sub(r"[\d.]+", "", str(message))
        if kind not in shown:
            print(f"  warning: {message}", file=sys.stderr)
        shown.add(kind)

    with warnings.catch_warnings(action="always"):
        warnings.showwarning = show  # type: ignore[assignment]
        yield


class Lines(Clock):
    """A clock that prints each stage as it begins."""

    def begin(self, stage: str, total: int) -> None:
        """Print the stage."""
        print(f"  {stage} ({total})", file=sys.stderr)


def main(arguments: list[str] | None = None) -> None:
    """Read the command line and make the pages."""
    parser = argparse.ArgumentParser(prog="python -m papers", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="papers to run, or all")
    parser.add_argument("--out", type=Path, default=Path("reports"), help="folder of the pages")
    parser.add_argument("--seeds", type=int, default=3, help="number of repetitions")
    size = parser.add_mutually_exclusive_group()
    for effort, what in EFFORTS.items():
        size.add_argument(
            f"--{effort}", dest="effort", action="store_const", const=effort, help=what
        )
    parser.set_defaults(effort="default")
    options = parser.parse_args(arguments)
    if not options.names:
        for name, paper in PAPERS.items():
            print(f"{name:20} {paper.summary}")
        return
    unknown = set(options.names) - {*PAPERS, "all"}
    if unknown:
        parser.error(f"no paper is called {min(unknown)}. Use one of {', '.join(PAPERS)}, or all.")
    if options.seeds < 1:
        parser.error(f"--seeds {options.seeds} is not positive. Use 1 or more.")
    names = list(PAPERS) if "all" in options.names else list(dict.fromkeys(options.names))
    options.out.mkdir(parents=True, exist_ok=True)
    for name in names:
        if (missing := data.missing(*PAPERS[name].files)) is not None:
            if "all" not in options.names:
                parser.error(f"{name}: {missing}")
            print(f"{name} is skipped: {missing}", file=sys.stderr)
            continue
        print(name, file=sys.stderr)
        start = perf_counter()
        with one_line_warnings():
            outcome = PAPERS[name].run(options.effort, options.seeds, Lines())
        page = options.out / f"{name}.html"
        flag = "" if options.effort == "default" else f" --{options.effort}"
        command = f"python -m papers {name}{flag} --seeds {options.seeds}"
        report = replace(outcome.report, command=command)
        page.write_text(report.html(), encoding="utf-8")
        page.with_suffix(".json").write_text(
            json.dumps(outcome.numbers, indent=2, allow_nan=False) + "\n", encoding="utf-8"
        )
        for row in (outcome.table.header, *outcome.table.rows):
            print(" | ".join(row))
        seconds = perf_counter() - start
        print(f"{page} and {page.with_suffix('.json')} are written after {seconds:.0f} s.")


if __name__ == "__main__":
    main()
