"""
Rows that a bound needs
=======================

The bound of Maurer (2006) limits how far the objective of a slow subspace
is from that of new rows. Rows with a longer memory count less.
"""

from eigenstream import plotting
from eigenstream.theory import FiniteMemory, slow_bound

# %%
# The bound for three memories
# ----------------------------
# With memory 10, rows that are 10 or more steps apart are independent.

memories = {f"memory {rows}": FiniteMemory(rows) for rows in (1, 10, 100)}
values = {
    name: slow_bound(10**8, 10, 0.05, memory).value
    for name, memory in memories.items()
}
print({name: f"{value:.3f}" for name, value in values.items()})

# %%
# Draw the bound against the number of rows
# -----------------------------------------
# Above the dotted line, the bound is vacuous.

ax = plotting.bounds(memories, d=10)
