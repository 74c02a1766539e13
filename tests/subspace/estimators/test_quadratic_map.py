"""The quadratic map equals a plain pipeline, from arrays, streams and chunks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from eigenstream import QuadraticMap, open_stream

ROWS = np.random.default_rng(0).normal(size=(300, 6)) * [6.0, 5.0, 4.0, 3.0, 2.0, 1.0] + 7.0


def plain(rows, others):
    """Map the others by a pipeline of scikit-learn, whose signs are turned to those of the map."""
    pca = PCA(3).fit(rows)
    components = QuadraticMap(3).fit(rows).reduction_.components_
    pca.components_ *= np.sign((pca.components_ * components).sum(axis=1))[:, None]
    return PolynomialFeatures(2, include_bias=False).fit_transform(pca.transform(others))


def test_it_equals_a_plain_pipeline_from_every_door():
    expected = plain(ROWS, ROWS[:9])
    for rows in (ROWS, open_stream(ROWS, chunk_rows=70)):
        assert_allclose(QuadraticMap(3).fit(rows).transform(ROWS[:9]), expected, rtol=1e-9)
    narrow = QuadraticMap(3).fit(ROWS).transform(ROWS[:9].astype(np.float32))
    assert narrow.dtype == np.float32
    assert_allclose(narrow, expected, rtol=2e-4, atol=1e-4)


@given(st.lists(st.integers(1, 299), max_size=5))
def test_chunks_do_not_matter_and_later_rows_change_nothing(cuts):
    products = QuadraticMap(3, n_rows=200)
    for chunk in np.split(ROWS, sorted(cuts)):
        if len(chunk):
            products.partial_fit(chunk)
    assert products.n_rows_needed_ == 0
    assert products.get_feature_names_out()[4] == "streampca0 streampca1"
    assert_allclose(products.transform(ROWS[:9]), plain(ROWS[:200], ROWS[:9]), rtol=1e-9)


def test_too_few_rows_are_named():
    with pytest.raises(NotFittedError, match="needs 40 more rows"):
        QuadraticMap(2, n_rows=100).partial_fit(ROWS[:60]).transform(ROWS)
    with pytest.raises(ValueError, match="n_components=9"):
        make_pipeline(QuadraticMap(9)).fit(ROWS)
