"""From rows to input vectors and back: the maps against the matrix that they are."""

import numpy as np
import pytest

from eigenstream.rules.engine._centering import (
    input_products,
    mean_coefficients,
    row_coefficients,
)
from eigenstream.rules.engine._tuples import Makeup

D, N = 7, 9


def spelled_out(makeup, n):
    """Each input vector's coefficients on the rows, and those of the mean after all of them."""
    rows, vectors = np.eye(n), []
    mean = rows[makeup.origin] if makeup.origin >= 0 else np.zeros(n)
    for t, now in enumerate(makeup.now):
        vectors.append(rows[now] - mean)
        if len(makeup.shares):
            mean = mean + makeup.shares[t] * (rows[now] - mean)
        if len(makeup.past):
            vectors.append(rows[now] - rows[makeup.past[t]])
    return np.array(vectors), mean


@pytest.mark.parametrize("origin", [-1, N - 1])
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("paired", [False, True])
def test_products_and_coefficients_are_those_of_the_vectors(paired, centred, origin):
    rng = np.random.default_rng(0)
    now = np.arange(2, N - 1)
    nothing = np.empty(0, np.int64)
    shares = rng.random(len(now)) if centred else np.empty(0)
    makeup = Makeup(now, now - 2 if paired else nothing, shares, origin if centred else -1)
    vectors, mean = spelled_out(makeup, N)

    rows, others = rng.standard_normal((N, D)), rng.standard_normal((3, D))
    products = rows @ np.concatenate([others, rows]).T
    cross, gram = input_products(products, 3, makeup)
    # Entries of order D, each a few sums of a few terms long.
    close = {"rtol": 0, "atol": 1e-13 * D}
    np.testing.assert_allclose(cross, vectors @ products, **close)
    np.testing.assert_allclose(gram, vectors @ products[:, 3:] @ vectors.T, **close)

    moved = rng.standard_normal((2, 2 + len(vectors)))
    np.testing.assert_allclose(row_coefficients(moved, N, makeup), moved[:, 2:] @ vectors, **close)
    if centred:
        np.testing.assert_allclose(mean_coefficients(makeup, N)[0], mean, **close)
