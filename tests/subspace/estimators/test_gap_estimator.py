"""``missing="available"``: pairwise sums, their repair, and features of rows with gaps."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.signal import lfilter
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import oracles
from eigenstream import RBFNetwork, SlowSubspace, StreamPCA, open_stream
from eigenstream.subspace import autocorrelations, matrices, subspace_bound
from eigenstream.subspace.sums.completion import RIDGE, imputed
from eigenstream.theory import Independent

MODELS = [
    StreamPCA(2, missing="available"),
    StreamPCA(2, scale=True, center=False, missing="available"),
    SlowSubspace(2, missing="available"),
    SlowSubspace(2, criterion="ratio", lag=3, missing="available"),
    SlowSubspace(2, criterion="ratio", reversible=True, missing="available"),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=repr)

ROWS = oracles.slow_sources(m=400) + 3.0
RNG = np.random.default_rng(0)
GAPS = np.where(RNG.random(ROWS.shape) < 0.1, np.nan, ROWS)


def plain(model):
    return clone(model).set_params(missing="raise")


def same(one, other):
    assert_allclose(one.eigenvalues_, other.eigenvalues_, rtol=1e-9)
    assert_allclose(one.components_, other.components_, atol=1e-8)
    assert_allclose(one.mean_, other.mean_, atol=1e-12)


# ---- sums ----------------------------------------------------------------------------------------


@every_model
def test_complete_rows_give_the_same_as_without_gaps(model):
    same(clone(model).fit(ROWS), plain(model).fit(ROWS))
    if isinstance(model, StreamPCA):  # the weights of pairs are those of their earlier rows
        weights = RNG.random(400)
        same(
            clone(model).fit(ROWS, sample_weight=weights),
            plain(model).fit(ROWS, sample_weight=weights),
        )


@every_model
def test_containers_and_infinity(model):
    whole = clone(model).fit(GAPS)
    same(clone(model).fit(np.where(np.isnan(GAPS), np.inf, GAPS)), whole)
    same(clone(model).fit(sp.csr_array(GAPS)), whole)
    lists = clone(model).fit([GAPS[:250], GAPS[250:]])
    stepwise = clone(model).partial_fit(GAPS[:250]).partial_fit(GAPS[250:], new_sequence=True)
    same(lists, stepwise)
    if isinstance(model, SlowSubspace):
        found = autocorrelations(whole, GAPS)
        assert_allclose(found, whole.result_.autocorrelations, atol=1e-10)
    with pytest.raises(ValueError, match="squares overflow"):
        clone(model).fit(np.where(np.isnan(GAPS), 1e200, GAPS))
    few = np.where(np.arange(400)[:, None] < 390, np.nan, ROWS)
    with pytest.raises(ValueError, match="missing='skip' leaves 10 of 400 rows, fewer than"):
        clone(model).set_params(missing="skip").fit(few)


# ---- columns never seen, columns never together --------------------------------------------------


@every_model
def test_columns_never_seen_have_no_influence(model):
    rows = np.insert(GAPS, 3, np.nan, axis=1)
    masked, whole = clone(model).fit(rows), clone(model).fit(GAPS)
    kept = np.arange(9) != 3
    assert_allclose(masked.components_[:, kept], whole.components_, atol=1e-10)
    assert np.isnan(masked.components_[:, 3]).all()
    assert np.isnan(masked.mean_[3])
    assert_allclose(masked.transform(rows), whole.transform(GAPS), atol=1e-8)
    strange = np.where(kept, rows, 1e3)
    assert_allclose(masked.transform(strange), whole.transform(GAPS), atol=1e-8)
    back = masked.inverse_transform(masked.transform(rows))
    assert np.isnan(back[:, 3]).all()
    assert np.isfinite(back[:, kept]).all()
    if isinstance(model, StreamPCA):
        assert_allclose(masked.noise_variance_, whole.noise_variance_)
        assert_allclose(
            masked.score(np.insert(ROWS, 3, 0.0, axis=1)), whole.score(ROWS), rtol=1e-10
        )
    with pytest.raises(ValueError, match="exceeds the 1 column"):
        clone(model).fit(np.where(np.arange(8) == 0, ROWS, np.nan))


def test_columns_never_together_raise_with_their_names():
    pd = pytest.importorskip("pandas")
    rows = ROWS.copy()
    rows[::2, 1], rows[1::2, 4] = np.nan, np.nan
    with pytest.raises(ValueError, match=r"Columns 1 and 4 are never present in the same row"):
        StreamPCA(2, missing="available").fit(rows)
    frame = pd.DataFrame(rows, columns=list("abcdefgh"))
    with pytest.raises(ValueError, match=r"Columns 'b' and 'e' are never"):
        SlowSubspace(2, missing="available").fit(frame)
    model = StreamPCA(2, missing="available").partial_fit(rows)
    with pytest.raises(NotFittedError, match="never present"):
        _ = model.components_
    rows = ROWS.copy()
    rows[::2, 1] = np.nan
    with pytest.raises(ValueError, match=r"1 row\(s\) apart"):
        SlowSubspace(2, missing="available").fit(rows)


def test_gaps_that_take_most_of_the_information_are_a_warning(monkeypatch):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1500, 5)) + np.sin(np.arange(1500) / 20)[:, None]
    many = np.where(rng.random(rows.shape) < 0.9, np.nan, rows)
    model = SlowSubspace(2, missing="available")
    with pytest.warns(UserWarning, match=r"take \d\d % of the information"):
        clone(model).fit(many)
    few = np.where(rng.random(rows.shape) < 0.02, np.nan, rows)
    with warnings.catch_warnings(action="error"):
        clone(model).set_params(n_components=1).fit(rows)
        clone(model).set_params(n_components=1).fit(few)
    monkeypatch.setattr("eigenstream.subspace.sums.completion.MOST_STEPS", 2)
    with pytest.warns(UserWarning, match="did not converge"):
        clone(model).fit(many)


def test_a_column_that_is_mostly_missing_converges():
    """Gusts are measured in strong winds only, and hours resemble the next one."""
    rng, decay = np.random.default_rng(0), np.exp(-1.0 / 50.0)
    sources = lfilter([np.sqrt(1 - decay**2)], [1.0, -decay], rng.normal(size=(3000, 6)), axis=0)
    rows = sources @ rng.normal(size=(6, 6)) + 0.02 * rng.normal(size=(3000, 6))
    rows[rows[:, 1] < np.quantile(rows[:, 1], 0.8), 2] = np.nan
    rows[rng.random(len(rows)) < 0.1, 4] = np.nan
    with warnings.catch_warnings(action="error"):
        SlowSubspace(2, missing="available").fit(rows)


# ---- features of rows with gaps ------------------------------------------------------------------


def test_missing_values_of_a_row_are_predicted_from_the_others():
    rng = np.random.default_rng(0)
    mixing, n = rng.normal(size=(3, 12)), 400
    rows = rng.normal(size=(n, 3)) @ mixing + 0.1 * rng.normal(size=(n, 12)) + 5.0
    gaps = np.where(rng.random(rows.shape) < 0.3, np.nan, rows)
    pca = StreamPCA(3, missing="available").fit(gaps)
    A, mean = matrices(pca).reward, pca.mean_
    expected = imputed(gaps[:5], mean, A)
    assert_allclose(pca.transform(gaps[:5]), (expected - mean) @ pca.components_.T, atol=1e-8)
    row = gaps[0]
    here = np.isfinite(row)
    s = np.sqrt(np.diagonal(A))
    R = A / np.outer(s, s) + RIDGE * np.eye(12)
    known = np.linalg.solve(R[np.ix_(here, here)], ((row - mean) / s)[here])
    prediction = mean + s * ((R - np.diag(np.diagonal(R)))[:, here] @ known)
    assert_allclose(np.where(here, row, prediction), expected[0], atol=1e-10)


@every_model
def test_transform_keeps_rows_and_gives_nan_without_values(model):
    model = clone(model).fit(GAPS)
    rows = GAPS[:20].copy()
    rows[4] = np.nan
    z = model.transform(rows)
    assert np.isnan(z[4]).all()
    assert np.isfinite(np.delete(z, 4, axis=0)).all()
    assert_allclose(np.vstack([model.transform(row[None]) for row in rows]), z, atol=1e-10)
    assert model.transform(rows.astype(np.float32)).dtype == np.float32
    assert_allclose(model.transform([rows, rows])[1], z)
    (chunk,) = model.transform(open_stream(np.delete(rows, 4, axis=0))).chunks()
    assert_allclose(chunk.rows, np.delete(z, 4, axis=0), atol=1e-10)


@pytest.mark.parametrize("model", [StreamPCA(2), SlowSubspace(2)], ids=repr)
def test_transform_of_a_model_that_skips_gives_nan(model):
    model = model.set_params(missing="skip").fit(ROWS)
    rows = ROWS[:10].copy()
    rows[3, 2], rows[5, 0] = np.nan, np.inf
    z = model.transform(rows)
    assert np.isnan(z).all(axis=1).tolist() == [k in (3, 5) for k in range(10)]
    assert_allclose(np.delete(z, [3, 5], 0), model.transform(np.delete(rows, [3, 5], 0)))
    with pytest.raises(ValueError, match="NaN"):
        model.set_params(missing="raise").transform(rows)


# ---- parameters ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": RBFNetwork(5)}, "maps need complete rows"),
        ({"alpha": "bound"}, "alpha='bound' needs complete rows"),
    ],
)
def test_what_gaps_do_not_support(change, message):
    with pytest.raises(ValueError, match=message):
        SlowSubspace(2, missing="available").set_params(**change).fit(GAPS)


def test_sums_of_gaps_are_not_merged_with_others():
    with pytest.raises(ValueError, match="was fitted with missing="):
        StreamPCA(2).fit(ROWS).merge(StreamPCA(2, missing="available").fit(ROWS))
    assert StreamPCA(2).fit(ROWS).set_params(missing="skip").partial_fit(ROWS).n_samples_seen_


def test_bounds_need_complete_rows():
    model = SlowSubspace(2, alpha=0.9, missing="available").fit(GAPS)
    with pytest.raises(ValueError, match="unweighted means"):
        subspace_bound(model, 0.05, Independent())
    assert np.isnan(model.path([0.5, 0.9]).error_bound).all()


def test_slow_features_survive_gaps():
    rng = np.random.default_rng(1)
    n, scales = 3000, np.r_[40.0, 20.0, rng.uniform(0.3, 1.0, 18)]
    sources = np.zeros((n, 20))
    decays = np.exp(-1.0 / scales)
    for t in range(1, n):
        sources[t] = decays * sources[t - 1] + np.sqrt(1 - decays**2) * rng.normal(size=20)
    rows = sources @ rng.normal(size=(20, 20))
    gaps = np.where(rng.random(rows.shape) < 0.2, np.nan, rows)
    slow = SlowSubspace(2, lag=5, criterion="ratio", missing="available").fit(gaps)
    z = np.column_stack([slow.transform(rows), np.ones(n)])
    rest = sources[:, :2] - z @ np.linalg.lstsq(z, sources[:, :2], rcond=None)[0]
    assert 1.0 - rest.var() / sources[:, :2].var() > 0.8
    with pytest.raises(ValueError, match="missing='skip' leaves"):
        SlowSubspace(2, lag=5, criterion="ratio", missing="skip").fit(gaps)
    assert_allclose(autocorrelations(slow, gaps), slow.result_.autocorrelations, atol=1e-10)
