"""Variances along principal components on rows that they were not learned from."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.signal import lfilter

import eigenstream
from eigenstream import StreamPCA
from eigenstream.subspace.sums.terms import FIRST_TERMS, LONGEST


def rows_of(n, width, variances=(), seed=0):
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal((width, width)))[0]
    scales = np.sqrt(1.0 + np.r_[variances, np.zeros(width - len(variances))])
    return rng.standard_normal((n, width)) * scales @ turn + 5.0


def half_of_each_row(n):
    """The half of each row, from the definition."""
    half, first, size = np.zeros(n, int), FIRST_TERMS, 0
    while first < n:
        size = min(max(first // 2, FIRST_TERMS // 2), LONGEST)
        half[first : first + size] = 1 - half[first - 1]
        first += size
    return half


def plain_test(rows, n):
    """The variances and the test, with matrices of all columns and the random directions."""
    half, width = half_of_each_row(len(rows)), rows.shape[1]
    covariances = [np.cov(rows[half == k].T, bias=True) for k in (0, 1)]
    variances, excesses = np.zeros(n), np.zeros(n)
    for k, own in enumerate(covariances):
        other, n_other = covariances[1 - k], np.count_nonzero(half == 1 - k)
        vectors = np.linalg.eigh(own)[1][:, ::-1]
        for j in range(n):
            variance, rest = vectors[:, j] @ other @ vectors[:, j], vectors[:, j + 1 :]
            values, size = np.linalg.eigvalsh(rest.T @ other @ rest), width - j - 1
            spread = 2.0 * values.var() / (size + 2) + 2.0 * values.mean() ** 2 / n_other
            variances[j] += variance / 2.0
            excesses[j] += (variance - values.mean()) / np.sqrt(spread) / 2.0
    return variances, excesses <= 2.33 / np.sqrt(2.0)


@pytest.mark.parametrize(("n", "width"), [(150, 12), (5000, 6), (60, 100)])
def test_the_test_is_the_plain_one(n, width):
    rows = rows_of(n, width, [9.0, 4.0], seed=n)
    test = StreamPCA(4).fit(rows).result_.held_out
    variances, chance = plain_test(rows, 4)
    assert_allclose(test.other_half, variances, rtol=1e-8)
    assert test.chance.tolist() == chance.tolist()
    assert not test.chance[0]
    assert test.chance[-1]
    assert_allclose(test.in_sample, StreamPCA(4).fit(rows).eigenvalues_)


@pytest.mark.parametrize("shape", [(60, 200), (400, 40), (3000, 20)])
def test_noise_has_no_component_above_chance_and_sources_have(shape):
    assert StreamPCA(3).fit(rows_of(*shape)).result_.held_out.n_above_chance == 0
    test = StreamPCA(5).fit(rows_of(*shape, [60.0, 40.0, 30.0])).result_.held_out
    assert test.chance[[0, 1, 2, 4]].tolist() == [False] * 3 + [True]


def test_noise_in_time_is_told_from_sources():
    noise = np.random.default_rng(0).standard_normal((2000, 20))
    rows = lfilter([1.0], [1.0, -0.9], noise, axis=0)
    assert StreamPCA(2).fit(rows).result_.held_out.n_above_chance == 0


def test_chunks_types_files_and_merges_have_the_same_test(tmp_path):
    rows = np.maximum(rows_of(3000, 8, [9.0, 4.0]), 0.0)
    expected = StreamPCA(3, scale=True).fit(rows).result_.held_out.other_half
    chunked = StreamPCA(3, scale=True)
    for chunk in np.array_split(rows, 7):
        chunked.partial_fit(chunk)
    eigenstream.save(chunked, tmp_path / "pca.eigs")
    loaded = eigenstream.load(tmp_path / "pca.eigs")
    sparse, single = (StreamPCA(3, scale=True).fit(f(rows)) for f in (sp.csr_array, np.float32))
    for model in (chunked, loaded, sparse, single):
        assert_allclose(model.result_.held_out.other_half, expected, rtol=1e-5)
    pieces = [StreamPCA(3, scale=True).fit(chunk) for chunk in np.array_split(rows, 40)]
    merged = pieces[0]
    for piece in pieces[1:]:
        merged = merged.merge(piece)
    assert_allclose(merged.eigenvalues_, chunked.eigenvalues_)
    assert_allclose(merged.result_.held_out.other_half, expected, rtol=0.1)


def test_sorted_rows_have_both_classes_in_each_half():
    rows = np.r_[rows_of(20_000, 5), rows_of(20_000, 5) + 3.0]
    test = StreamPCA(1).fit(rows).result_.held_out
    assert not test.chance[0]
    assert test.other_half[0] == pytest.approx(test.in_sample[0], rel=0.1)


def test_a_model_without_exact_sums_or_of_one_row_has_no_test():
    assert StreamPCA(2, solver="sketch").fit(rows_of(3000, 500)).result_.held_out is None
    assert StreamPCA(1).fit([[1.0, 2.0]]).result_.held_out is None
