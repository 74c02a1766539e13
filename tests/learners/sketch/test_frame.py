"""The long vectors of a sketch: panels of columns, shared among threads, against plain products."""

import tracemalloc

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from eigenstream._linalg import orthonormalized
from eigenstream.learners.sketch import OperatorSketch
from eigenstream.learners.sketch._frame import KEPT, SHARED, SketchFrame

#: Above both limits, from which on threads share the columns.
WIDTH, ROWS = SHARED + 333, KEPT // SHARED + 9


@pytest.mark.parametrize("threads", [1, 2, 3, 100])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("width", [70, WIDTH])
def test_products_and_moves_are_those_of_plain_numpy(threads, dtype, width):
    rng = np.random.default_rng(0)
    frame = SketchFrame(3, 12, width, dtype)
    frame.threads = threads
    vectors = orthonormalized(rng.standard_normal((width, 12))).T
    frame.take(vectors.astype(dtype))
    frame.remember()
    rows = (rng.standard_normal((ROWS, width)) + 2.0).astype(dtype)
    mean = np.full(width, 2.0)
    pieces = [rows[:20], rows[20:]]
    found = frame.products(pieces, mean, True)
    plain, U = rows.astype(float) - mean, frame.vectors.astype(float)
    # Sums of so many products of rounded numbers.
    near = {"rtol": 0, "atol": 10 * np.finfo(dtype).eps * width}
    np.testing.assert_allclose(found.gram, np.tril(plain @ plain.T), **near)
    np.testing.assert_allclose(found.frame, plain @ U.T, **near)
    np.testing.assert_allclose(found.snapshot, plain @ U[-3:].T, **near)
    np.testing.assert_allclose(found.turned, U[-3:] @ U[-3:].T, **near)
    np.testing.assert_allclose(found.rounding, U @ U.T, **near)
    of_frame, of_rows, also = (
        rng.standard_normal(shape) for shape in ((5, 12), (5, ROWS), (1, ROWS))
    )
    combined = frame.move(pieces, mean, of_frame, of_rows, also)
    near = {"rtol": 0, "atol": 30 * np.finfo(dtype).eps * ROWS}
    np.testing.assert_allclose(frame.vectors, of_frame @ U + of_rows @ plain, **near)
    np.testing.assert_allclose(combined, (also @ plain)[0], **near)


def test_the_answer_does_not_depend_on_the_threads():
    rows = np.random.default_rng(1).standard_normal((300, WIDTH)) * 2.0
    rows[:, :8] *= np.linspace(9, 5, 8)
    answers = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            sketch = OperatorSketch(2, weights=(0.8, 0.2), lag=1, block_size=ROWS)
            sketch.add(rows)
            answers.append(sketch.solution().components)
    np.testing.assert_allclose(answers[0], answers[1], atol=1e-9)


def test_memory_is_that_of_the_frame_and_the_rows_that_wait():
    """In vectors as long as a row: 7 d + b + lag and a few; the first block is no exception."""
    rng, width, d = np.random.default_rng(0), 20_000, 10
    # What is compiled once takes memory that is not the sketch's.
    OperatorSketch(1, weights=(0.3, 0.7), lag=1).add(rng.standard_normal((2000, 100)))
    tracemalloc.start()
    try:
        sketch, most = OperatorSketch(d, weights=(0.3, 0.7), lag=1), 0
        for _ in range(8):
            rows = rng.standard_normal((37, width))
            tracemalloc.reset_peak()
            sketch.add(rows)
            most = max(most, tracemalloc.get_traced_memory()[1] - rows.nbytes)
    finally:
        tracemalloc.stop()
    assert sketch.plan.block(width) == 128
    # Panels of a thousand columns, the small problem, and the chunk before are beside them.
    assert most / 8 / width < (7 * d + sketch.plan.block(width) + 1) * 1.25
