"""Oja's neuron: one unit that finds the first principal component by a local rule."""

from typing import Any

from eigenstream._checks import check_choice
from eigenstream._linalg import Float64s
from eigenstream._storable import storable
from eigenstream.neurons.base import OnlineNeurons
from eigenstream.online import HEBB, OJA_LINEAR, OJA_NORMALIZED, Rule
from eigenstream.schedules import Auto

__all__ = ["OjaNeuron"]

FORMS = {"normalized": OJA_NORMALIZED, "linear": OJA_LINEAR, "hebb": HEBB}


@storable()
class OjaNeuron(OnlineNeurons):
    """One linear neuron that learns the first principal component [OJA].

    Parameters
    ----------
    form : {"normalized", "linear", "hebb"}, default="normalized"
        "normalized": w = (w + eta y x) / |w + eta y x|, with the response y = <w, x>.
        "linear": w += eta y (x - y w), the same to first order in eta.
        "hebb": w += eta y x, which grows without bound: to see why the others hold |w| back.
    schedule : "auto", number, schedule of ``eigenstream.schedules`` or function of the step number
        Learning rates. The linear form is stable for eta y^2 well below 2 only: a rate that makes
        it explode raises ``UnstableStepError``.
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
    components_ : array of shape (1, n_features)
    mean_, n_iter_, converged_, n_steps_, history_

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream.neurons import OjaNeuron
    >>> X = np.random.default_rng(0).standard_normal((2000, 3)) * [1, 4, 1]
    >>> neuron = OjaNeuron(random_state=0).fit(X)
    >>> bool(abs(neuron.components_[0, 1]) > 0.99), neuron.converged_
    (True, True)
    """

    #: Of five rates and two powers the one whose worst case was best, on 14 streams.
    AUTO = Auto(c=1.0, averaging=1.0)

    def __init__(
        self,
        *,
        form: str = "normalized",
        schedule: Any = "auto",
        center: bool = True,
        init: Any = "random",
        max_iter: int = 10,
        tol: float = 1e-2,
        history_every: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.form = form
        self.schedule = schedule
        self.center = center
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.history_every = history_every
        self.random_state = random_state

    def _rule(self) -> Rule:
        check_choice(self.form, "form", tuple(FORMS))
        return FORMS[self.form]

    def _units(self) -> int:
        return 1

    def _rates(self) -> Float64s | None:
        return None
