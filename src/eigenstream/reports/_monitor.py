"""The page about the windows that a monitor has compared."""

from collections import Counter
from collections.abc import Sequence
from functools import partial

from eigenstream import plotting
from eigenstream.monitor import Monitor, WindowRecord
from eigenstream.monitor.records import time_text
from eigenstream.plotting.limits import MOST_COLUMNS
from eigenstream.reports._drawings import HEIGHT, Panel, first_of
from eigenstream.reports.base import PageTable, Section

#: Alarms in the table, besides the last one: the picture shows all.
MOST_ALARMS = 9


def monitor_sections(
    monitor: Monitor, records: Sequence[WindowRecord]
) -> tuple[str, str, list[Section]]:
    """Return the title, the first sentences, the control chart, and the columns of alarms."""
    alarms = [record for record in records if record.alarm]
    outliers = ", ".join(map(str, monitor.outliers_)) or "none"
    facts = [
        ("model", " ".join(repr(monitor.estimator).split())),
        ("reference", f"{monitor.n_windows_} windows of {monitor.window} rows"),
        ("outlying windows of the reference", outliers),
        ("stated rate of false alarms", f"{monitor.rate:g}"),
    ]
    caption = "The score grows when the probability has reached its least value."
    chart = Panel(
        "Control chart", caption, partial(plotting.control_chart, monitor, records), HEIGHT
    )
    caption = (
        "The mean of each column, in standard deviations of its rows. A large dot is the column "
        "that an alarm names first, small dots are other columns that it names."
    )
    if len(monitor.columns) > MOST_COLUMNS:
        caption += " Columns that no alarm names are left out."
    draw = partial(plotting.changes, monitor, records)
    picture = Panel("Columns", caption, draw, HEIGHT)
    panels = [chart.drawing("chart"), picture.drawing("columns")]
    sections = [Section("Windows", "", panels)]
    if alarms:
        shown = alarms[:MOST_ALARMS] + alarms[MOST_ALARMS:][-1:]
        header = ("window ends at", "group", "columns, the first to blame first")
        table = [(_end(record), record.group, record.finding) for record in shown]
        text = (
            "Shifts are in standard deviations of the column. The offset is the distance from the "
            "value that the columns without a change predict."
        )
        caption = first_of(len(alarms[:MOST_ALARMS]), len(alarms))
        caption += " The last line is the latest alarm." * (len(alarms) > MOST_ALARMS)
        sections.append(
            Section("Alarms", text, [PageTable(header, table, caption=caption.strip(), prose=True)])
        )
    sections.append(Section("Reference", "", [PageTable(("", ""), facts, prose=True)]))
    title = f"Monitor: {len(alarms)} alarms in {len(records)} windows"
    return title, _lead(monitor, records, alarms), sections


def _lead(monitor: Monitor, records: Sequence[WindowRecord], alarms: Sequence[WindowRecord]) -> str:
    """Return what was found, how sure it is, and what to do next."""
    expected = monitor.rate * len(records)
    sure = f"Without any change, about {expected:.2g} alarms are expected."
    if not alarms:
        return f"None of {len(records)} windows differs from the reference. {sure}"
    first = alarms[0]
    counts = Counter(record.column for record in alarms if record.column is not None)
    if not counts:
        named, action = "no single column", "Look at the groups of the alarms."
    else:
        column, count = counts.most_common(1)[0]
        named = f"most often {column} ({count} times)"
        action = f"Look at {column} first."
    return (
        f"{len(alarms)} of {len(records)} windows differ from the reference. The first ends at "
        f"{_end(first)}. "
        f"They name {named}. {sure} {action}"
    )


def _end(record: WindowRecord) -> str:
    return f"row {record.rows:,}" if record.time is None else time_text(record.time)
