"""``eigenstream watch``: alarms when windows of data differ from those of a reference."""

import shlex
import sys
from math import inf
from pathlib import Path
from typing import Annotated, Any

import typer

import eigenstream as es
from eigenstream.cli._options import Data, Json, ModelFile, ReadingOptions
from eigenstream.cli._output import Watched, check_output, print_json, printable

#: The keys of a line of --json.
KEYS = "rows", "time", "p", "group", "column", "offset", "alarm"


def watch(
    model: ModelFile,
    data: Data,
    *,
    reference: Annotated[
        str | None, "Data without faults, in time order. A saved monitor needs none."
    ] = None,
    window: Annotated[int, "Rows of a window."] = 500,
    rate: Annotated[float, "The share of windows with a false alarm."] = 0.01,
    reading: ReadingOptions,
    out: Annotated[Path | None, "Save the monitor (.eigs), for later data."] = None,
    report: Annotated[Path | None, "A page about the windows (.html)."] = None,
    json: Json = False,
) -> None:
    """Compare each window of data with the windows of a reference.

    The model is one of pca, slow or dynamic, or a monitor that -o has saved. A line a window shows
    its probability without a change, and for an alarm the group of features and the column that
    changed. The exit code is 1 after an alarm, 0 without one, and 2 after an error. --json prints
    one object a line. Cells of text that are no numbers are reported and count as missing. Lines
    that lack cells or a time are reported and left out.
    """
    monitor = es.load(model)
    is_monitor = isinstance(monitor, es.Monitor)
    if is_monitor == (reference is not None):
        kind = "model. Pass --reference" if reference is None else "monitor. Leave out --reference"
        raise ValueError(f"{model} holds a {kind}.")
    if not is_monitor:
        monitor = es.Monitor(monitor, window=window, rate=rate)
    infinite = [*(reading.na_values or ()), inf, -inf]
    new = reading.matching(monitor.estimator, data, "raise", na_values=infinite)
    bad_cells = BadCells()
    for table in new.tables:
        table.report = bad_cells.report
    inputs = [model, *data, *new.sources]
    check_output(out, inputs, (".eigs",))
    check_output(report, inputs, (".html",))
    if reference is not None:
        with Watched(reading.matching(monitor.estimator, [reference], "raise")) as watched:
            monitor.fit(watched)
    if out is not None:
        es.save(monitor, out)
    records: list[Any] = []
    with Watched(new) as watched, bad_cells:
        for record in monitor.watch(watched):
            if not (records or json):
                print(f"{'rows':>12} {'time':>22} {'p':>8}")
            records.append(record)
            if json:
                print_json({key: getattr(record, key) for key in KEYS})
            else:
                print(line(record))
            sys.stdout.flush()
    if not records:
        few = f"The data have fewer rows than the window of {monitor.window}"
        raise ValueError(f"{few}. Use a shorter --window.")
    if report is not None:
        es.report(monitor, report, records, command=shlex.join(["eigenstream", *sys.argv[1:]]))
    n_alarms = sum(record.alarm for record in records)
    if not json:
        print(f"{n_alarms} alarms in {len(records)} windows of {monitor.window} rows.")
    if n_alarms:
        raise typer.Exit(1)


class BadCells:
    """Prints the first bad cell of each block, and at the end the number of all of them."""

    def __init__(self) -> None:
        self.count = 0

    def report(self, count: int, problem: str) -> None:
        """Print the first bad cell of a block."""
        self.count += count
        unprinted = f" And {count - 1} more." if count > 1 else ""
        print(f"eigenstream: {printable(problem.partition('. ')[0])}.{unprinted}", file=sys.stderr)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        if self.count:
            print(f"eigenstream: {self.count:,} bad cells or lines.", file=sys.stderr)


def line(record: Any) -> str:
    """Return a record as a line of text."""
    from eigenstream.monitor.records import time_text

    text = f"{record.rows:12,} {time_text(record.time):>22} {record.p:8.2g}"
    if not record.alarm:
        return text
    return printable(f"{text}  alarm, {record.group}: {record.finding}")
