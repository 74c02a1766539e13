"""The signed terms of a block, against sums over the terms one by one."""

import numpy as np
import pytest

from eigenstream.learners.sketch._terms import SketchTerms

M = 23


def places(name):
    """The rows of the terms and of their pasts, among M rows: side by side, with gaps, couples."""
    if name == "couples":  # two sequences: five rows each with a past six rows back
        past = np.r_[0:5, 11:16]
        return past + 6, past
    lag = {"side by side": 1, "three apart": 3, "with gaps": 2}[name]
    if name == "with gaps":
        now = np.array([2, 4, 5, 6, 8, 9, 15, 17, 20, 22])
        return now, now - lag
    return slice(lag, M), slice(0, M - lag)


def whole(form):
    return np.multiply(*form, dtype=np.float64)


@pytest.mark.parametrize("name", ["side by side", "three apart", "with gaps", "couples"])
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("seen", [0.0, 3.7])
def test_forms_are_sums_over_terms(name, center, seen):
    rng = np.random.default_rng(0)
    now, past = places(name)
    C = rng.standard_normal((M, 4)) + 2.0
    w, lighter = rng.uniform(0.5, 2.0, (2, len(C[now])))
    terms = SketchTerms(now, past, w, lighter, 0.3, 0.7, center, seen)
    mean = w @ C[now] / w.sum() if center else np.zeros(4)
    A, B = np.zeros((4, 4)), np.zeros((4, 4))
    for row, before, one, other in zip(C[now], C[past], w, lighter, strict=True):
        A += one * np.outer(row - mean, row - mean)
        B += other * np.outer(row - before, row - before)
    if center:
        # Before the block: weight ``seen``, mean zero.
        A += w.sum() * seen / (w.sum() + seen) * np.outer(mean, mean)
    near = {"rtol": 1e-13, "atol": 1e-12}
    np.testing.assert_allclose(whole(terms.rewarded(C)), A, **near)
    np.testing.assert_allclose(whole(terms.penalised(C)), B, **near)
    np.testing.assert_allclose(terms.unit * C.T @ terms.signed(C), 0.3 * A - 0.7 * B, **near)
    squares, moved = terms.squares(np.tril(C @ C.T))
    within, step = terms.about(squares, terms.mean(C))
    np.testing.assert_allclose([within + step, moved], [np.trace(A), np.trace(B)], **near)


@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize("size", [1e-60, 1.0, 1e60])
def test_rows_in_single_precision_may_have_weights_of_any_size(size, alike):
    rng = np.random.default_rng(2)
    now, past = places("side by side")
    C = rng.standard_normal((M, 4)).astype(np.float32)
    w = np.full(M - 1, 0.7) if alike else rng.uniform(0.5, 2.0, M - 1)
    single, double = (
        (
            whole(terms.rewarded(rows)),
            whole(terms.penalised(rows)),
            np.diag(terms.squares(np.tril(rows @ rows.T))),
        )
        for terms, rows in (
            (SketchTerms(now, past, size * w, size * w, 0.3, 0.7, True, 3.7 * size), C),
            (SketchTerms(now, past, w, w, 0.3, 0.7, True, 3.7), C.astype(np.float64)),
        )
    )
    for one, other in zip(single, double, strict=True):
        # A sum of M squares in single precision.
        near = M * np.finfo(np.float32).eps * np.abs(other).max()
        np.testing.assert_allclose(one / size, other, atol=near)
