"""What the theory promises of a slow subspace: its objective, and telling classes by it."""

from abc import abstractmethod

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenstream._checks import check_flag, check_number
from eigenstream._linalg import Float64s
from eigenstream.contrast import Contrast
from eigenstream.estimators.temporal._bounds import (
    Measured,
    PairRule,
    SubspaceBound,
    pair_rule,
    slow_subspace_bound,
)
from eigenstream.estimators.temporal.base import StreamEstimator
from eigenstream.scatters import VelocityScatter
from eigenstream.theory.base import MixingProfile

#: Equal rows seem to differ by up to so many times the rounding of their mean.
SAME = 64.0


class SlowBounds(StreamEstimator):
    """The methods of SlowSubspace that ask the theory."""

    criterion: str

    @abstractmethod
    def _middle(self, contrast: Contrast) -> Float64s:
        """Return the point that rows are centred by."""

    def bound(
        self,
        delta: float,
        mixing: MixingProfile,
        *,
        radius: float | None = None,
        tight: bool = False,
    ) -> SubspaceBound:
        """Bound how far the objective on these data is from the true one ([SLOW] Theorem 2).

        The theorem wants data of norm at most 1/2 about their expectation. They are rescaled to it,
        and the result says by which factor.

        Parameters
        ----------
        delta : float in (0, 1)
            The statement may fail with this probability.
        mixing : MixingProfile
            How fast the process forgets (``eigenstream.theory``).
        radius : float, optional
            The largest possible distance of a row from the mean. By default a bound for the rows
            seen. It is no bound for other rows: pass a number if rare rows can be larger.
        tight : bool
            Leave out the last rounding of the proof; as valid, and smaller.

        Returns
        -------
        SubspaceBound

        Notes
        -----
        Assumes a stationary process whose beta is at most ``mixing``, and that no row, seen or not,
        is farther than ``radius`` from the expectation. Separate sequences count as one, as if they
        were no more dependent than distant parts of it. The learned mean's own error is paid for
        with a tenth of delta. The theorem fixes alpha before the data: where "auto" or "bound"
        chose it, variance and velocity are bounded each with half of delta, which holds for all
        alpha at once. (A number that you chose by these data, such as from ``path``, is one that
        the data chose: fit with the rule, or on other data.) With ``n_components=None`` the bound
        is that for projections on any number of directions.

        Examples
        --------
        >>> import numpy as np
        >>> from eigenstream import SlowSubspace
        >>> from eigenstream.theory import Independent
        >>> X = np.random.default_rng(0).uniform(-1, 1, (100_000, 3))
        >>> bound = SlowSubspace(1, alpha=0.9).fit(X).bound(0.05, Independent())
        >>> bound.vacuous, bool(abs(bound.lower - (0.9 - 0.1 * 2) / 3) < 2 * bound.gap)
        (False, True)
        """
        if self.criterion == "ratio":
            raise ValueError(
                "the theory bounds criterion='difference' only: a ratio of averages has no such "
                "bound. Fit with criterion='difference'."
            )
        if self.scale:
            raise ValueError(
                "the theory bounds projections of the data, and scale=True divides by what the "
                "data say first: fit with scale=False, on data scaled by constants."
            )
        if self._learner is None or self._learner.contrast is None:
            check_is_fitted(self)
            raise ValueError("bound needs the scatters: fit with solver='dense' first.")
        objective, contrast, details = self.objective_, self.contrast_, self._solved().details
        reward, penalty = contrast.reward, contrast.penalty
        assert isinstance(penalty, VelocityScatter)
        if not reward.weight == reward.count == penalty.count == penalty.weight:
            raise ValueError(
                "the theory bounds plain averages only: fit without sample_weight, and without "
                "rows left out by missing='skip'."
            )
        delta, tight = check_number(delta, "delta", above=0, below=1), check_flag(tight, "tight")
        fit = Measured(
            m=penalty.count,
            d=contrast.n_features if details["open"] else self.n_components_,
            alpha=details["alpha"],
            lag=penalty.lag,
            objective=objective,
            radius=self._radius(contrast, radius),
            empirical=radius is None,
            chosen=details["chosen"],
            center=self.center,
        )
        return slow_subspace_bound(fit, delta, mixing, tight=tight)

    def pair_rule(
        self,
        same_class: float,
        delta: float,
        mixing: MixingProfile,
        *,
        radius: float | None = None,
        tight: bool = False,
    ) -> PairRule:
        """Return the rule that tells whether two observations are of one class, and its error.

        [SLOW] Theorem 5: alike iff the squared distance of the features is below alpha, in the unit
        in which no row is farther than 1/2 from the mean. It errs with a probability of at most
        (1 - 2 L / alpha) / (1 - alpha) - R, for every partition into classes that is continuous
        with respect to the process ([SLOW] Definition 2; see ``theory.class_continuity``). For L
        stands the least value that ``bound`` leaves.

        Parameters
        ----------
        same_class : float in (0, 1]
            R, the probability that two independent observations are of one class: the sum of the
            squared class frequencies.
        delta : float in (0, 1)
            The statement may fail with this probability.
        mixing : MixingProfile
            How fast the process forgets (``eigenstream.theory``).
        radius : float, optional
            The largest possible distance of a row from the mean; see ``bound``.
        tight : bool
            Leave out the last rounding of the proof; as valid, and smaller.

        Examples
        --------
        Two states that hardly ever change:

        >>> import numpy as np
        >>> from eigenstream import SlowSubspace
        >>> from eigenstream.theory import markov_mixing
        >>> rng = np.random.default_rng(0)
        >>> states = np.where(rng.random(20_000) < 0.01, -1.0, 1.0).cumprod()
        >>> mixing = markov_mixing([[0.99, 0.01], [0.01, 0.99]])
        >>> slow = SlowSubspace(1, alpha=0.2).fit(states[:, None])
        >>> rule = slow.pair_rule(0.5, 0.05, mixing)
        >>> rule.vacuous  # the promise takes many more rows than the rule
        True
        >>> Z = slow.transform(states[:, None])
        >>> bool((rule.alike(Z[1:], Z[:-1]) == (states[1:] == states[:-1])).all())
        True
        """
        same_class = check_number(same_class, "same_class", above=0, most=1)
        bound = self.bound(delta, mixing, radius=radius, tight=tight)
        alpha: float | None = self._solved().details["alpha"]
        if alpha is None or alpha >= 1.0:
            raise ValueError(
                f"the rule of [SLOW] Theorem 5 needs an alpha below 1, got alpha_={alpha!r}: at 1 "
                "nothing is known of velocities. Fit with a smaller one."
            )
        return pair_rule(alpha, same_class, bound)

    def _radius(self, contrast: Contrast, radius: float | None) -> float:
        """Return the norm to rescale by, not below what the rows are known to reach."""
        assert contrast.penalty is not None
        variance, floor = contrast.reward.trace(), contrast.reward.floor
        # Equal rows have no velocity at all, and a variance from rounding of the mean alone.
        if contrast.penalty.trace() == 0.0 and variance <= (SAME * SAME) * floor:
            raise ValueError("all rows are the same: there is nothing to bound.")
        spread = float(np.sqrt(max(variance, 0.0)))
        if radius is None:
            return contrast.radius.reach(self._middle(contrast))
        radius = check_number(radius, "radius", above=0)
        if radius < spread:
            raise ValueError(
                f"radius={radius:g} is smaller than the rows' root mean square distance from "
                f"their mean, {spread:.6g}: give the largest distance, which is at least that."
            )
        return radius
