"""Sanger's network: a layer whose units find the principal components one after the other."""

from typing import Any

import numpy as np

from eigenstream._checks import check_flag, check_whole
from eigenstream._linalg import Float64s
from eigenstream._storable import storable
from eigenstream.neurons.base import OnlineNeurons
from eigenstream.online import SANGER, SANGER_NORMALIZED, Rule
from eigenstream.schedules import Auto

__all__ = ["SangerNetwork"]


@storable()
class SangerNetwork(OnlineNeurons):
    """A layer of linear units that learns the principal components in order [SANGER].

    Unit k learns from what the units up to it leave: w_k += eta_k y_k (x - sum_{l<=k} y_l w_l). No
    orthonormalisation: each unit uses its own response and those before it only.

    Parameters
    ----------
    n_components : int, default=2
    normalize : bool, default=False
        Divide each weight vector by its norm after every step ([DYN] eq. 3.3).
    unit_rates : array of shape (n_components,), optional
        One factor on the learning rate a unit; ones by default.
    schedule : "auto", number, schedule of ``eigenstream.schedules`` or function of the step number
        Learning rates. Stable for eta |y|^2 well below 2 only: a rate that makes it explode raises
        ``UnstableStepError``.
    center : bool, default=True
        Centre each observation by the mean of those before it.
    init : "random", "data" or array of shape (units, n_features), default="random"
    max_iter : int, default=10
        Largest number of passes over the data in ``fit``.
    tol : float, default=1e-2
        Relative change of the weights in a pass (or in a ``partial_fit``) below which they have
        converged.
    history_every : int, optional
        Append ``(step, weights)`` to ``history_`` every ``history_every`` steps.
    random_state : int, RandomState or None

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
    mean_, n_iter_, converged_, n_steps_, history_

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream.neurons import SangerNetwork
    >>> X = np.random.default_rng(0).standard_normal((3000, 4)) * [1, 5, 3, 1]
    >>> network = SangerNetwork(2, random_state=0).fit(X)
    >>> np.abs(network.components_).argmax(axis=1)
    array([1, 2])
    """

    #: Later units learn from what the earlier ones leave: they need longer steps than a single one.
    AUTO = Auto(c=4.0, averaging=1.0)

    def __init__(
        self,
        n_components: int = 2,
        *,
        normalize: bool = False,
        unit_rates: Any = None,
        schedule: Any = "auto",
        center: bool = True,
        init: Any = "random",
        max_iter: int = 10,
        tol: float = 1e-2,
        history_every: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.normalize = normalize
        self.unit_rates = unit_rates
        self.schedule = schedule
        self.center = center
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.history_every = history_every
        self.random_state = random_state

    def _rule(self) -> Rule:
        return SANGER_NORMALIZED if check_flag(self.normalize, "normalize") else SANGER

    def _units(self) -> int:
        return check_whole(self.n_components, "n_components")

    def _rates(self) -> Float64s | None:
        if self.unit_rates is None:
            return None
        rates = np.asarray(self.unit_rates)
        if (
            rates.shape != (self.n_components,)
            or rates.dtype.kind not in "iuf"
            or not (np.isfinite(rates) & (rates >= 0)).all()
        ):
            raise ValueError(
                f"unit_rates must hold one factor that is not negative a unit, "
                f"{self.n_components} in all; got {self.unit_rates!r}."
            )
        return rates.astype(np.float64)
