"""The page about the windows that a monitor has compared."""

from collections.abc import Sequence
from functools import partial

from eigenstream import plotting
from eigenstream.monitor import Monitor, WindowRecord
from eigenstream.monitor.records import time_text
from eigenstream.reports._drawings import HEIGHT, Panel, first_of
from eigenstream.reports.base import PageTable, Section

#: Alarms in the table: more make long pages.
MOST_ALARMS = 200


def monitor_sections(
    monitor: Monitor, records: Sequence[WindowRecord]
) -> tuple[str, list[Section]]:
    """Return the title, facts, the control chart, and the columns behind each alarm."""
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
    chart = Panel(
        "Control chart", caption, partial(plotting.control_chart, monitor, records), HEIGHT
    )
    header = ("rows", "time", "p", "group", "columns, the largest change first")
    table = [
        (
            f"{record.rows:,}",
            time_text(record.time),
            f"{record.p:.2g}",
            record.group,
            "; ".join(map(str, record.contributions)) or "no single column",
        )
        for record in alarms[:MOST_ALARMS]
    ]
    sections = [
        Section("Reference and windows", "", [PageTable(("", ""), facts, prose=True)]),
        Section("Windows", "", [chart.drawing("chart")]),
    ]
    if alarms:
        text = (
            "Shifts are in standard deviations of the column. The offset is the distance from the "
            "value that the columns without a change predict."
        )
        listed = PageTable(header, table, caption=first_of(len(table), len(alarms)), prose=True)
        sections.append(Section("Contributions", text, [listed]))
    return f"Monitor: {len(alarms)} alarms in {len(records)} windows", sections
