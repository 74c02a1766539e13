"""Whether two classes can be told apart by a plane, by linear programming."""

import numpy as np
from scipy.optimize import linprog

from eigenstream._linalg import Float64s

#: Rows times columns up to which the program is solved: a fraction of a second.
LARGEST = 200_000

#: A combination this short of rows of length one is one that vanishes.
VANISHES = 1e-9


def vanishing(rows: Float64s, signs: Float64s, intercept: bool) -> float | None:
    """Return the length of the shortest average found of signed rows of length one, or None.

    A row x of sign y becomes y (x, 1), or y x without an intercept. By Gordan's theorem either some
    w has <w, row> > 0 for all, or an average of them is zero: then no plane separates the rows.
    Units of the columns do not matter: each is divided by its standard deviation (its root mean
    square without an intercept). None: the program is too large, or no such average exists.

    >>> vanishing(np.array([[1.0], [2.0]]), np.array([1.0, -1.0]), intercept=False)
    0.0
    >>> vanishing(np.array([[1e-8], [2e-8]]), np.array([1.0, -1.0]), intercept=True)
    """
    if rows.size > LARGEST:
        return None
    rows = rows - rows.mean(axis=0) if intercept else rows
    largest = np.abs(rows).max(axis=0)
    rows = rows / np.where(largest > 0, largest, 1.0)
    spread = np.sqrt((rows**2).mean(axis=0))
    rows = rows / np.where(spread > 0, spread, 1.0)
    if intercept:
        rows = np.column_stack([rows, np.ones(len(rows))])
    rows = signs[:, None] * rows
    lengths = np.linalg.norm(rows, axis=1)
    if not lengths.all():
        return 0.0
    units = rows / lengths[:, None]
    n, width = units.shape
    equal = np.vstack([units.T, np.ones(n)])
    found = linprog(np.zeros(n), A_eq=equal, b_eq=np.append(np.zeros(width), 1.0), method="highs")
    if found.status != 0:
        return None
    shares = np.maximum(np.asarray(found.x), 0.0)
    return float(np.linalg.norm(shares @ units) / shares.sum())
