"""The parameters that learning from pairs and from labels has in common, and their checks."""

from numbers import Real
from typing import Any

import numpy as np

from eigenstream._checks import check_choice, check_number, check_whole, is_sparse
from eigenstream.estimators._pair_solve import ETAS
from eigenstream.estimators._parameters import ONLINE, Uses
from eigenstream.solvers.base import fits_dense


class PairParameters:
    """What the constructors of PairSubspace and ClassSubspace set."""

    n_components: Any
    solver: str
    features: Any
    eta: Any
    margin: Any
    balanced: bool
    criterion: str
    shrinkage: float | None
    kernel: str
    gamma: float | None
    diameter: float | None

    FIXED: tuple[str, ...] = ("features", "kernel")
    USES: Uses = ONLINE | {
        "gamma": ("kernel", ("rbf",)),
        "shrinkage": ("criterion", ("ratio",)),
        "eta": ("criterion", ("difference",)),
        "balanced": ("criterion", ("difference",)),
    }

    def _check_pair_parameters(self) -> None:
        check_choice(self.criterion, "criterion", ("difference", "ratio"))
        check_choice(self.kernel, "kernel", ("linear", "rbf", "precomputed"))
        if self.n_components is not None:
            check_whole(self.n_components, "n_components")
        if self.gamma is not None:
            check_number(self.gamma, "gamma", above=0)
        if self.shrinkage is not None:
            check_number(self.shrinkage, "shrinkage", above=0, most=1)
        if self.margin is not None:
            self._check_margin()
        if self.diameter is not None:
            check_number(self.diameter, "diameter", above=0)
            if self.kernel == "rbf":
                raise ValueError(
                    f"diameter={self.diameter!r} is for rows, and in the space of kernel='rbf' no "
                    "two are farther apart than sqrt(2): leave it out."
                )
        if isinstance(self.eta, str):
            check_choice(self.eta, "eta (where not a positive number)", ("auto", "margin_risk"))
        else:
            for eta in self._grid():
                if isinstance(eta, Real) and eta < 0:
                    raise ValueError(
                        f"eta (the weight of negative pairs, as a size) must be a number in "
                        f"(0, inf), got {eta!r}. The signs are understood: use eta={-eta!r}."
                    )
                check_number(eta, "eta (the weight of negative pairs, as a size)", above=0)
        if self.kernel != "linear" and self.features is not None:
            raise ValueError(
                f"kernel={self.kernel!r} and features are two ways to one end: use kernel='linear' "
                "behind features, or no features."
            )
        if self.kernel != "linear" and self.solver not in ("auto", "dual"):
            raise ValueError(
                f"kernel={self.kernel!r} is solved in the dual: use solver='auto', or "
                "kernel='linear' behind features=RBFNetwork(...) for more rows."
            )
        if self.solver == "flow":
            self._check_flow()
        if self.criterion == "ratio" and self.solver == "krylov":
            raise ValueError("criterion='ratio' needs both scatters formed: use solver='dense'.")

    def _check_weighable(self, sample_weight: Any) -> None:
        if self.solver == "flow" and sample_weight is not None:
            raise ValueError(
                "solver='flow' takes a step for each pair, whatever its weight: leave "
                "sample_weight out."
            )

    def _check_flow(self) -> None:
        """Refuse what online learning cannot do."""
        wrong = None
        if self.criterion == "ratio":
            wrong = "criterion='ratio'"
        elif self._searches:
            wrong = f"eta={self.eta!r}, which compares subspaces"
        elif not self.balanced:
            wrong = "balanced=False, for it takes a negative and a positive pair at each step"
        elif self.n_components is None:
            wrong = "n_components=None, for it learns a fixed number of directions"
        if wrong is not None:
            raise ValueError(f"solver='flow' cannot do {wrong}. Use solver='dense'.")

    def _check_margin(self) -> None:
        try:
            c, gamma = self.margin
        except (TypeError, ValueError):
            raise ValueError(
                f"margin must be two numbers, a threshold c and a margin gamma, got "
                f"{self.margin!r}."
            ) from None
        check_number(c, "margin[0] (the threshold c)", above=0, below=1)
        check_number(gamma, "margin[1] (gamma)", above=0, below=1)
        if not (isinstance(self.eta, str) and self.eta == "auto"):
            raise ValueError("eta and margin both fix the weights: leave one of them out.")

    def _grid(self) -> list[Any]:
        """Return the weights that a number or a list of them names."""
        if isinstance(self.eta, str):
            return list(ETAS)
        values = list(self.eta) if np.ndim(self.eta) else [self.eta]
        if not values:
            raise ValueError("eta is an empty list; give at least one positive number, or 'auto'.")
        return values

    @property
    def _searches(self) -> bool:
        """Whether eta is chosen by the data."""
        return self.margin is None and len(self._grid()) > 1 and self.criterion == "difference"

    def _check_dense_rows(self, rows: Any) -> None:
        if self.kernel != "linear" and is_sparse(rows):
            raise TypeError(
                f"sparse rows were passed, but kernel={self.kernel!r} takes dense ones: use "
                "X.toarray(), or kernel='linear'."
            )

    def _check_incremental(self) -> bool:
        """Tell scikit-learn that partial_fit is there, or say why it is not."""
        if self.kernel != "linear" or self.solver in ("krylov", "dual"):
            raise AttributeError(
                f"solver={self._chosen_solver(1)!r} needs everything at once and has no "
                "partial_fit: use fit, or kernel='linear' behind features=RBFNetwork(...)."
            )
        return True

    def _chosen_solver(self, width: int) -> str:
        if self.kernel != "linear":
            return "dual"
        if self.solver != "auto":
            return self.solver
        return "dense" if fits_dense(width) else "krylov"


def check_diameter(given: float | None, apart: float) -> None:
    """Refuse a diameter that two rows so far apart disprove.

    >>> check_diameter(1.0, 2.0)
    Traceback (most recent call last):
        ...
    ValueError: diameter=1 is to bound the distance of any two rows, but two of these are 2 apart.
    """
    if given is not None and apart > given * (1 + 1e-9):
        raise ValueError(
            f"diameter={given:g} is to bound the distance of any two rows, but two of these are "
            f"{apart:g} apart."
        )
