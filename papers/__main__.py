"""``python -m papers``: list the reproductions, or make their pages."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from eigenstream.demo import Clock
from eigenstream.reports.base import as_json
from papers import known
from papers.base import Effort


class Lines(Clock):
    """A clock that prints each stage as it begins."""

    def begin(self, stage: str, total: int) -> None:
        """Print the stage."""
        print(f"  {stage} ({total})", file=sys.stderr)


def main(arguments: list[str] | None = None) -> None:
    """Read the command line and make the pages."""
    papers = known()
    parser = argparse.ArgumentParser(prog="python -m papers", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="papers to run, or all")
    parser.add_argument("--out", type=Path, default=Path("reports"), help="folder of the pages")
    parser.add_argument("--seeds", type=int, default=3, help="number of repetitions")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="a tenth of the observations")
    size.add_argument("--full", action="store_true", help="as many observations as the paper")
    given = parser.parse_args(arguments)
    if not given.names:
        for name, paper in papers.items():
            print(f"{name:20} {paper.summary}")
        return
    unknown = set(given.names) - {*papers, "all"}
    if unknown:
        parser.error(f"no paper is called {min(unknown)}. Use one of {', '.join(papers)}, or all.")
    if given.seeds < 1:
        parser.error(f"--seeds {given.seeds} is not positive. Use 1 or more.")
    effort: Effort = "quick" if given.quick else "full" if given.full else "default"
    names = list(papers) if "all" in given.names else list(dict.fromkeys(given.names))
    given.out.mkdir(parents=True, exist_ok=True)
    for name in names:
        if (missing := papers[name].missing()) is not None:
            if "all" not in given.names:
                parser.error(f"{name}: {missing}")
            print(f"{name} is skipped: {missing}", file=sys.stderr)
            continue
        print(name, file=sys.stderr)
        outcome = papers[name].run(effort, given.seeds, Lines())
        page = given.out / f"{name}.html"
        flag = "" if effort == "default" else f" --{effort}"
        command = f"python -m papers {name}{flag} --seeds {given.seeds}"
        report = replace(outcome.report, command=command)
        page.write_text(report.html(), encoding="utf-8")
        page.with_suffix(".json").write_text(as_json(outcome.numbers), encoding="utf-8")
        for row in (outcome.table.header, *outcome.table.rows):
            print(" | ".join(row))
        print(f"{page} and {page.with_suffix('.json')} are written.")


if __name__ == "__main__":
    main()
