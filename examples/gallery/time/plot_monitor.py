"""
A monitor of seven sensors
==========================

:class:`~eigenstream.Monitor` ranks each window of a stream among the
windows of a reference. It names the sensor that changed, at a stated rate
of false alarms.
"""

import pandas as pd

from eigenstream import Monitor, StreamPCA
from eigenstream.plotting import changes, control_chart, panels
from eigenstream.processes import HeatExchanger

# %%
# A heat exchanger that fouls from row 60,000 on
# ----------------------------------------------
# Every 1000 rows add 2 % of thermal resistance.

plant = HeatExchanger(start=60_000, random_state=0)
rows = pd.DataFrame(plant.take(68_000), columns=plant.names)

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
# Draw the control chart, and every alarm
# ---------------------------------------
# Colours are the change of each sensor. A large dot is the sensor that an
# alarm names first, small dots are other sensors that it names.

chart, columns = panels([1, 1], [3.2, 2.8])
control_chart(monitor, records, ax=chart)
changes(monitor, records, ax=columns)
