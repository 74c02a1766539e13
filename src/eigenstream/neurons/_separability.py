"""Whether two classes can be told apart by a plane, by linear programming."""

import numpy as np
from scipy.optimize import linprog

from eigenstream._linalg import Float64s

#: Rows times columns up to which the program is solved: a fraction of a second.
LARGEST = 200_000

#: A combination this short of rows of length one is one that vanishes.
VANISHES = 1e-9


def vanishing(rows: Float64s) -> float | None:
    """Return the length of the shortest average found of rows scaled to length one, or None.

    ``rows`` are signed: y x, with a 1 for the intercept. By Gordan's theorem either some w has
    <w, row> > 0 for all rows, or an average of them is zero. If one has length r, no w of length
    one has <w, row> > r for all: the data are inseparable beyond that margin. None: too large a
    program, or no such average.

    >>> vanishing(np.array([[1.0], [-2.0]]))
    0.0
    >>> vanishing(np.array([[1.0], [2.0]]))
    """
    lengths = np.linalg.norm(rows, axis=1)
    if not lengths.all():
        return 0.0
    if rows.size > LARGEST:
        return None
    units = rows / lengths[:, None]
    n, width = units.shape
    equal = np.vstack([units.T, np.ones(n)])
    found = linprog(np.zeros(n), A_eq=equal, b_eq=np.append(np.zeros(width), 1.0), method="highs")
    if found.status != 0:
        return None
    shares = np.maximum(np.asarray(found.x), 0.0)
    return float(np.linalg.norm(shares @ units) / shares.sum())
