"""Every process: the same rows however they are read, and the law that it states."""

from collections import deque

import numpy as np
import pytest

from eigenstream.processes import (
    Autoregressive,
    GaussianMixture,
    ImageWalk,
    SpikedGaussian,
)
from members import IMAGE, PROCESSES
from watched import measured

every_process = pytest.mark.parametrize(
    "make", PROCESSES.values(), ids=[kind.__name__ for kind in PROCESSES]
)


@every_process
def test_shapes_and_dtypes(make):
    process = make(0)
    assert process.take(0).shape == (0, process.n_features)
    assert list(process.chunks(0)) == []
    narrow = process.take(100, dtype=np.float32)
    assert narrow.dtype == np.float32
    # Rounded once, from float64 values of size at most about 10.
    np.testing.assert_allclose(narrow, process.take(100), rtol=2e-7, atol=2e-7)
    with pytest.raises(TypeError, match="dtype must be float32 or float64"):
        process.take(3, dtype=int)
    with pytest.raises(ValueError, match="m must be a whole number of at least 0"):
        process.take(-1)


def test_memory_does_not_grow_with_the_stream():
    walk = ImageWalk(IMAGE, size=28, random_state=0)
    row = 28 * 28 * 8
    walk.take(1)  # loads the compiled loops
    _, peak = measured(lambda: deque(walk.chunks(8000, rows=100), maxlen=0))
    # Two blocks of 1024 views, the chunk, and a megabyte for the rest; the stream is 50 MB.
    assert peak < (2 * 1024 + 2 * 100) * row + 2**20


def test_mixture_has_its_moments():
    process = GaussianMixture([[0.0, 0.0], [4.0, 1.0], [0.0, -3.0]], spread=0.5, random_state=0)
    m = 100_000
    X = process.take(m)
    # A sample moment misses by its standard deviation / sqrt(m); products of entries up to about
    # 10 have standard deviations below 20. Five of those.
    np.testing.assert_allclose(X.mean(axis=0), process.mean, atol=5 * 3 / m**0.5)
    np.testing.assert_allclose(np.cov(X.T), process.covariance, atol=5 * 20 / m**0.5)


def test_spiked_has_its_covariance():
    process = SpikedGaussian(8, (6.0, 2.0), noise=0.5, random_state=0)
    values, vectors = np.linalg.eigh(process.covariance)
    np.testing.assert_allclose(values, [0.5] * 6 + [2.5, 6.5], atol=1e-12)
    projector = vectors[:, -2:] @ vectors[:, -2:].T
    np.testing.assert_allclose(process.subspace @ process.subspace.T, projector, atol=1e-12)
    m = 100_000
    X = process.take(m)
    # An entry of the sample covariance deviates by at most sqrt(2) * 6.5 / sqrt(m).
    np.testing.assert_allclose(X.T @ X / m, process.covariance, atol=5 * 9.2 / m**0.5)
    with pytest.raises(ValueError, match="descending variances"):
        SpikedGaussian(8, (1.0, 2.0))
    with pytest.raises(ValueError, match="at most 2 descending"):
        SpikedGaussian(2, (3.0, 2.0, 1.0))


def test_autoregressive_has_its_covariances():
    process = Autoregressive(
        (0.8, 0.3, -0.5), n_features=4, variances=(3.0, 2.0, 1.0), noise=0.25, random_state=0
    )
    m = 200_000
    X = process.take(m)
    # Slow sources count for less: their effective number is m (1 - a) / (1 + a).
    atol = 5 * 2**0.5 * 3.25 / (m * (1 - 0.8) / (1 + 0.8)) ** 0.5
    np.testing.assert_allclose(X.T @ X / m, process.covariance, atol=atol)
    for lag in (1, 3):
        pairs = X[lag:].T @ X[:-lag] / (m - lag)
        np.testing.assert_allclose(pairs, process.lagged_covariance(lag), atol=atol)
        velocity = X[lag:] - X[:-lag]
        np.testing.assert_allclose(
            velocity.T @ velocity / (m - lag), process.velocity_covariance(lag), atol=4 * atol
        )


def test_autoregressive_sources_are_checked():
    with pytest.raises(ValueError, match=r"descending values in \(-1, 1\)"):
        Autoregressive((0.1, 0.9))
    with pytest.raises(ValueError, match="n_features must be a whole number of at least 2"):
        Autoregressive((0.9, 0.1), n_features=1)
