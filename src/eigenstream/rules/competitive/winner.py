"""Winner takes all: the nearest prototype alone moves ([DYN] eq. 2.13, [MACQUEEN])."""

from typing import Any

from eigenstream.kernels.base import njit
from eigenstream.rules.competitive.base import Competition

__all__ = ["WINNER"]


@njit(cache=True, error_model="numpy")
def winner(fields: Any, nearest: int, numbers: Any, ground: Any, who: Any, shares: Any) -> int:
    """Assign the row to the nearest prototype."""
    who[0], shares[0] = nearest, 1.0
    return 1


WINNER = Competition("winner", winner)
