"""scikit-learn's own estimator checks, over the table of members."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from members import SCIKIT_LEARN, keeping

# The data of scikit-learn's checks are few, random or not separable.
pytestmark = pytest.mark.filterwarnings(
    "ignore::UserWarning", "ignore:invalid value encountered in cast:RuntimeWarning"
)

MEMBERS = keeping(SCIKIT_LEARN)


def expected_failures(estimator):
    """What the table says of this very estimator."""
    return next(one.unlike for one in MEMBERS if one.estimator is estimator)


@parametrize_with_checks(
    [member.estimator for member in MEMBERS], expected_failed_checks=expected_failures
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
