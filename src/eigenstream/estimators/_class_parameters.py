"""The checks of what only learning from labels takes: groups and the scale of features."""

from typing import Any

from eigenstream._checks import check_choice
from eigenstream.estimators._class_operator import ByOperator


class LabelParameters(ByOperator):
    """What the constructor of ClassSubspace sets beyond that of PairSubspace."""

    scale: bool
    diameter: float | None

    FIXED = ("features", "group_weights", "kernel")
    USES = ByOperator.USES | {"scale": ("solver", ("auto", "dense"))}

    def _check_parameters(self) -> None:
        check_choice(self.group_weights, "group_weights", ("uniform", "pairs"))
        super()._check_parameters()
        if self.scale and self.kernel != "linear":
            raise ValueError(
                f"scale=True divides features, and kernel={self.kernel!r} is solved without any: "
                "scale the rows first, or use kernel='linear'."
            )
        if self.scale and self.diameter is not None:
            raise ValueError(
                "diameter is in the units of the rows, and scale=True divides by what these say: "
                "leave it out, or scale the rows by constants first."
            )

    def _chosen_solver(self, width: int) -> str:
        chosen = super()._chosen_solver(width)
        if self.scale and chosen != "dense":
            self._refuse_scale(width)
        return chosen

    def _check_groups(self, groups: Any) -> None:
        if self.solver == "flow" and self.group_weights == "uniform" and groups is not None:
            raise ValueError(
                "solver='flow' draws pairs of all groups alike, so that large ones weigh more: set "
                "group_weights='pairs', or use solver='dense'."
            )
