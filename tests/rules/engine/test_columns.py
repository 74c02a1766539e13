"""Threads that share the columns of long rows find what one thread finds."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from eigenstream import SlowSubspace, StreamPCA
from eigenstream.rules import OJA_FLOW, SANGER, BlockEngine, Terms, UnstableStepError
from eigenstream.rules.engine import _columns as columns
from eigenstream.rules.engine._tuples import BlockRows, Update


@pytest.mark.parametrize("width", [1, 15, 16, 17, 100, 5000])
@pytest.mark.parametrize("threads", [2, 3, 5])
def test_stripes_cover_every_column_once(width, threads):
    rng = np.random.default_rng(0)
    vectors, rows = rng.standard_normal((2, width)), rng.standard_normal((3, width))
    sums = np.zeros((3, 5))
    old = rng.standard_normal(width)
    mean = old.copy()
    moved, mixing, lift = vectors.copy(), rng.standard_normal((2, 2)), rng.standard_normal((2, 3))
    shares = rng.random((1, 3))
    with ThreadPoolExecutor(threads - 1) as pool:
        add_products, update_vectors = (
            columns.shared(f, pool, threads) for f in (columns.add_products, columns.update_vectors)
        )
        picks = np.array([2, 0, 1])
        block = BlockRows(rows, picks, True, False, mean, np.empty(width), np.empty((3, width)))
        add_products(vectors, block, sums, 0, width)
        update = Update(True, mixing, lift, shares)
        update_vectors(update, block, moved, 0, width)
    centred = rows[picks] - old
    np.testing.assert_array_equal(block.out, centred)
    expected = centred @ np.concatenate([vectors, centred]).T
    np.testing.assert_allclose(sums, expected, rtol=0, atol=1e-13 * width)
    np.testing.assert_allclose(moved, mixing @ vectors + lift @ centred, rtol=0, atol=1e-13)
    np.testing.assert_allclose(mean, (shares @ centred)[0] + old, rtol=0, atol=1e-13)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("rule", "d", "form"),
    [(OJA_FLOW, d, form) for d in (3, 18) for form in ("plain", "paired", "centred", "both")]
    + [(SANGER, 3, "plain"), (SANGER, 3, "centred")],
)
def test_threads_change_nothing_but_rounding(rule, d, form, dtype):
    """Small steps and large ones: frames are turned, and kept apart."""
    rng = np.random.default_rng(1)
    rows = (rng.standard_normal((150, 120)) + 1).astype(dtype)
    steps = np.arange(1, 150)
    more = {"now": steps}
    if form in ("paired", "both"):
        more |= {"past": steps - 1, "signs": np.tile([0.3, -0.7], (149, 1))}
    if form in ("centred", "both"):
        more |= {"shares": 1 / np.arange(1.0, 150)}
    found = []
    for threads in (1, 3):
        engine = BlockEngine(rule, np.eye(d, 120, dtype=dtype), watched=np.eye(1, 120, dtype=dtype))
        gains = np.geomspace(1e-5, 1e-3, 149)
        terms = Terms.of(rows, gains, **more)
        engine.advance(terms, adapt=np.zeros(3), size=10, threads=threads)
        found.append(engine)
    tolerance = 1e3 * np.finfo(dtype).eps
    for name, value in found[0].state().items():
        scale = max(np.abs(value).max(initial=0), 1)
        close = {"rtol": 0, "atol": tolerance * scale}
        np.testing.assert_allclose(found[1].state()[name], value, **close, err_msg=name)


def test_a_bad_step_is_undone_among_threads_too():
    rng = np.random.default_rng(2)
    rows, gains = rng.standard_normal((60, 50)), np.full(60, 0.01)
    gains[47:] = 1e12
    engines = [BlockEngine(SANGER, np.eye(2, 50)) for _ in range(2)]
    engines[0].advance(Terms.of(rows[:40], gains[:40].copy()), adapt=np.zeros(3), size=20)
    with pytest.raises(UnstableStepError) as caught:
        engines[1].advance(Terms.of(rows, gains), adapt=np.zeros(3), size=20, threads=2)
    assert caught.value.step >= 47
    np.testing.assert_allclose(engines[1].weights, engines[0].weights, rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    "estimator",
    [
        StreamPCA(3, solver="flow", block_size=256),
        SlowSubspace(3, alpha=0.4, solver="flow", block_size=256),
    ],
)
def test_estimators_use_the_threads_of_blas(estimator, monkeypatch):
    """Blocks large enough are shared among as many threads as BLAS may have."""
    rows = np.random.default_rng(3).standard_normal((600, 400))
    alone = estimator.fit(rows).components_
    seen = []
    advance = BlockEngine.advance

    def watched(self, *given, **more):
        seen.append(more["threads"])
        return advance(self, *given, **more)

    monkeypatch.setattr(BlockEngine, "advance", watched)
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            shared = estimator.fit(rows).components_
        assert set(seen) == {threads}
        seen.clear()
        np.testing.assert_allclose(shared, alone, rtol=0, atol=1e-11)
