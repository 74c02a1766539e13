"""When to forget: how far the frame of a sketch still has to go."""

from typing import Any

import numpy as np

from eigenstream._linalg import Float64s
from eigenstream.kernels.sketch import magnitude, movement, nearest_turn
from eigenstream.learners.sketch._frame import Products, SketchFrame
from eigenstream.learners.sketch._terms import SketchTerms

#: The old sum loses weight by the power GAIN * behind of n / (n + b), at most by MOST.
GAIN, MOST = 10.0, 3.0

#: What of the measurements is kept when the frame is compared with a newer copy of itself.
CARRIED = 0.25

#: The least movement that counts, in roundings of the gradient's terms.
ROUNDING = 4.0


class Transient:
    """The share of its last movement that the frame still has to go, by rows not yet learned.

    The first blocks see a frame that is nearly random, and a sum that never forgets carries what
    they put there for ever. While the gradient of new rows goes on in the direction of the
    movement since an older copy of the frame, the old sum loses weight. Of independent rows about a
    frame that has settled, the mean of ``behind`` is 0. It has no unit: the data's scale drops out.
    """

    def __init__(self) -> None:
        self.n = 0
        self.remembered = 0
        self.along = self.room = self.behind = 0.0

    def share(self, b: int, spoiled: float) -> float:
        """Return the share of the old sum that is kept when ``b`` terms come.

        In proportion to what there is to be mended: the share of the wanted directions that what
        has been cut off can have ``spoiled``, 1 at most.
        """
        if not self.n:
            return 1.0
        power = min(max(GAIN * self.behind, 0.0), MOST) * spoiled
        return float((self.n / (self.n + b)) ** power)

    def measure(
        self,
        frame: SketchFrame,
        found: Products,
        inside: Any,
        pulls: Any,
        gaps: Float64s,
        terms: SketchTerms,
    ) -> None:
        """Compare the block's gradient with the movement; ``gaps`` are lam_i - sigma, a term.

        ``pulls`` are H / unit times the rows' coordinates along the last vectors of the frame,
        ``inside`` those along all.
        """
        d = frame.d
        if self.remembered:
            turned = found.turned
            turn = np.empty_like(turned)  # the older frame, turned to the frame
            if not nearest_turn(turned, turn):
                left, _, right = np.linalg.svd(turned)
                turn = left @ right
            across, own = pulls.T @ found.snapshot, pulls.T @ inside[:, -d:]
            along, lacks = movement(across, own, turned, turn)
            room = terms.weight * np.maximum(gaps, 0.0) * lacks
            # A movement that is as small as rounding of the gradient says nothing.
            size = magnitude(pulls) * magnitude(found.snapshot)
            sure = room > ROUNDING * float(np.finfo(inside.dtype).eps) * terms.unit * size
            self.along -= terms.unit * float(along[sure].sum())
            self.room += float(room[sure].sum())
            self.behind = self.along / self.room if self.room > 0 else 0.0
        if self.n >= 2 * self.remembered:
            frame.remember()
            self.remembered = self.n
            self.along *= CARRIED
            self.room *= CARRIED

    def state(self) -> dict[str, float]:
        """Return what ``restored`` takes."""
        return dict(vars(self))

    @classmethod
    def restored(cls, state: dict[str, float]) -> "Transient":
        """Go on from a state."""
        found = cls()
        found.n, found.remembered = int(state["n"]), int(state["remembered"])
        found.along, found.room = float(state["along"]), float(state["room"])
        found.behind = float(state["behind"])
        return found
