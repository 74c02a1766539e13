"""Order parameters read from a history."""

import numpy as np
import pytest

from eigenstream.neurons import History
from eigenstream.theory import OrderParameters


def test_a_history_that_fits_no_directions_is_refused():
    history = History(np.array([5]), np.zeros(0), np.eye(2, 4)[None])
    with pytest.raises(ValueError, match="history holds weights"):
        OrderParameters.of_history(History(np.zeros(0), np.zeros(0), []), np.eye(2, 4))
    with pytest.raises(ValueError, match="of the length of a weight vector"):
        OrderParameters.of_history(history, np.eye(2, 5))
    with pytest.raises(ValueError, match="orthonormal"):
        OrderParameters.of_history(history, np.ones((2, 4)))
