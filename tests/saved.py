"""Comparing what two objects would save."""

import numpy as np

from eigenstream.persistence.codec import encode


def assert_same(left, right):
    """Both would be saved alike: numbers and text equal, arrays to rounding."""
    arrays, others = {}, {}
    assert encode(left, arrays) == encode(right, others)
    assert arrays.keys() == others.keys()
    for name, values in arrays.items():
        np.testing.assert_allclose(others[name], values, rtol=1e-9, atol=1e-11, err_msg=name)
