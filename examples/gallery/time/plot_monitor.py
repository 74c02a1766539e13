"""
A monitor of seven sensors
==========================

:class:`~eigenstream.Monitor` ranks each window of a stream among the
windows of a reference. It names the sensor that changed, at a stated rate
of false alarms.
"""

from matplotlib.pyplot import subplots

from eigenstream import Monitor, StreamPCA
from eigenstream.plotting import control_chart
from eigenstream.processes import HeatExchanger

# %%
# A heat exchanger that fouls from row 60,000 on
# ----------------------------------------------
# Every 1000 rows add 2 % of thermal resistance.

plant = HeatExchanger(start=60_000, random_state=0)
rows = plant.take(68_000)

# %%
# A reference, and new rows
# -------------------------
# The reference has 100 windows of 500 rows. The rate of false alarms is 1
# %.

model = StreamPCA(3, scale=True).fit(rows[:50_000])
monitor = Monitor(model, window=500).fit(rows[:50_000])
records = monitor.update(rows[50_000:])
first = next(record for record in records if record.alarm)
print(f"The first alarm is at row {50_000 + first.rows:,}.")

# %%
# Draw the control chart, and the sensors that disagree
# -----------------------------------------------------
# The offset is the distance of a sensor from the value that the other
# sensors predict.

figure, (left, right) = subplots(
    1, 2, figsize=(9.5, 3.6), layout="constrained"
)
control_chart(monitor, records, ax=left)
offsets: dict[str, list[tuple[int, float]]] = {}
for record in records:
    for part in record.contributions * record.alarm:
        offsets.setdefault(part.column, []).append(
            (record.rows, part.offset)
        )
for column, points in sorted(offsets.items()):
    right.plot(
        *zip(*points, strict=True),
        "o",
        ms=3.5,
        label=plant.names[int(column[1:])],
    )
right.axvline(10_000, ls=":", color="#8a8f98")
right.set(
    xlabel="row after the reference",
    ylabel="offset, in the unit of the sensor",
)
right.legend(frameon=False, fontsize=8)
