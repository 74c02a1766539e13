"""``eigenstream watch``: alarms when windows of data differ from those of a reference."""

import sys
from math import inf
from pathlib import Path
from typing import Annotated, Any

import typer

import eigenstream as es
from eigenstream.cli._options import Data, Json, ModelFile, ReadingOptions
from eigenstream.cli._output import Watched, check_output, command_line, print_json, printable

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
    one object a line. Cells of text that are no numbers count as missing. Lines that lack cells or
    a time are left out.
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
    for table in new.tables:
        table.n_bad = 0
    inputs = [model, *data, *new.sources]
    check_output(out, inputs, (".eigs",))
    check_output(report, inputs, (".html",))
    if reference is not None:
        with Watched(reading.matching(monitor.estimator, [reference], "raise")) as watched:
            monitor.fit(watched)
    if out is not None:
        es.save(monitor, out)
    records: list[Any] = []
    with Watched(new) as watched:
        for record in monitor.watch(watched):
            if not (records or json):
                print(f"{'rows':>12} {'time':>22} {'p':>8}")
            records.append(record)
            if json:
                print_json({key: getattr(record, key) for key in KEYS})
            else:
                print(line(record))
            sys.stdout.flush()
    if n_bad := sum(table.n_bad or 0 for table in new.tables):
        print(
            f"eigenstream: {n_bad:,} cells or lines without numbers are missing.", file=sys.stderr
        )
    if not records:
        few = f"The data have fewer rows than the window of {monitor.window}"
        raise ValueError(f"{few}. Use a shorter --window.")
    if report is not None:
        es.report(monitor, report, records, command=command_line())
    n_alarms = sum(record.alarm for record in records)
    if not json:
        print(f"{n_alarms} alarms in {len(records)} windows of {monitor.window} rows.")
    if n_alarms:
        raise typer.Exit(1)


def line(record: Any) -> str:
    """Return a record as a line of text."""
    from eigenstream.monitor.records import time_text

    text = f"{record.rows:12,} {time_text(record.time):>22} {record.p:8.2g}"
    if not record.alarm:
        return text
    return printable(f"{text}  alarm, {record.group}: {record.finding}")
