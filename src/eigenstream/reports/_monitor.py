"""The page about the windows that a monitor has compared."""

from collections.abc import Sequence
from functools import partial

from eigenstream import __version__, plotting
from eigenstream.monitor import Monitor, WindowRecord
from eigenstream.reports._drawings import Panel
from eigenstream.reports.base import PageTable, Report, Section

#: Alarms in the table: more make long pages.
MOST_ALARMS = 200


def monitor_page(monitor: Monitor, records: Sequence[WindowRecord], command: str) -> Report:
    """Return the page: facts, the control chart, and the columns behind each alarm."""
    alarms = [record for record in records if record.alarm]
    outliers = ", ".join(map(str, monitor.outliers_)) or "none"
    facts = [
        ("model", " ".join(repr(monitor.estimator).split())),
        ("reference", f"{monitor.n_windows_} windows of {monitor.window} rows"),
        ("outlying windows of the reference", outliers),
        ("stated rate of false alarms", f"{monitor.rate:g}"),
        ("windows compared", f"{len(records):,}"),
        ("alarms", f"{len(alarms):,}"),
    ]
    caption = "The score grows when the probability has reached its least value."
    chart = Panel("Control chart", caption, partial(plotting.control_chart, monitor, records), True)
    timed = any(record.time is not None for record in alarms)
    table = [
        (
            f"{record.rows:,}",
            *([f"{record.time:.15g}"] if timed else []),
            f"{record.p:.2g}",
            record.group,
            "; ".join(map(str, record.contributions)) or "no single column",
        )
        for record in alarms[:MOST_ALARMS]
    ]
    header = (
        "rows",
        *(["time"] if timed else []),
        "p",
        "group",
        "columns, the largest change first",
    )
    shown = f"The first {MOST_ALARMS} alarms." if len(alarms) > MOST_ALARMS else ""
    sections = [
        Section("Reference and windows", "", [PageTable(("", ""), facts, prose=True)]),
        Section("Windows", "", [chart.drawing("chart")]),
    ]
    if alarms:
        text = "The offset is the distance from the value that the other columns predict."
        listed = PageTable(header, table, caption=shown, prose=True)
        sections.append(Section("Contributions", text, [listed]))
    return Report(
        title=f"Monitor: {len(alarms)} alarms in {len(records)} windows",
        lead=(Monitor.__doc__ or "").partition("\n")[0],
        sections=sections,
        facts=[("eigenstream", __version__)],
        command=command,
    )
