"""Constraints of parameters for scikit-learn's validation, shared by estimators."""

from numbers import Integral, Real

from sklearn.utils._param_validation import Interval, StrOptions

__all__ = ["COUNT", "NOT_NEGATIVE", "POSITIVE", "words"]

COUNT = Interval(Integral, 1, None, closed="left")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")


def words(*choices: str) -> StrOptions:
    """Return the constraint of a parameter that is one of several words.

    >>> words("raise", "skip").is_satisfied_by("skip")
    True
    """
    return StrOptions(set(choices))
