"""The dense solver on arrays of other namespaces and devices gives the results of NumPy arrays."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone

from eigenstream import (
    ClassSubspace,
    ContrastSubspace,
    DynamicSubspace,
    PairMetric,
    PairSubspace,
    Perceptron,
    RBFNetwork,
    SangerNetwork,
    SelfOrganizingMap,
    Sketch,
    SlowSubspace,
    StreamPCA,
    load,
    save,
)
from eigenstream.core.device import DeviceArray, is_dispatched, on_host

rng = np.random.default_rng(0)
ROWS = rng.standard_normal((2000, 12)) * np.linspace(3.0, 0.5, 12) + 5.0
ROWS[:, :6] = np.cumsum(ROWS[:, :6] - 5.0, axis=0) / 20.0
LABELS = np.arange(2000) % 4


def strict(device="CPU_DEVICE"):
    xp = pytest.importorskip("array_api_strict")
    return lambda rows: xp.asarray(rows, device=xp.Device(device))


def jax_numbers(wide=True):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", wide)
    return jax.numpy.asarray


def torch_tensors():
    return pytest.importorskip("torch").asarray


KINDS = {
    "strict": strict,
    "strict on another device": lambda: strict("device1"),
    "torch": torch_tensors,
    "jax": jax_numbers,
}


@pytest.fixture(autouse=True)
def _dispatch(monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # scikit-learn requires it
    with sklearn.config_context(array_api_dispatch=True):
        yield


@pytest.fixture(params=[kind for kind in KINDS if kind != "jax"])
def put(request):
    """Return a function that puts NumPy rows on a device."""
    return KINDS[request.param]()


ESTIMATORS = [
    StreamPCA(3),
    StreamPCA(0.9, scale=True),
    StreamPCA(None, center=False),
    SlowSubspace(3),
    SlowSubspace(2, lag=4, alpha=0.3, scale=True),
    SlowSubspace(3, criterion="ratio"),
    SlowSubspace(2, criterion="ratio", reversible=True, center=False),
    ClassSubspace(2, criterion="difference", eta=10.0),
    ClassSubspace(2),
    ContrastSubspace(2),
]
#: JAX compiles each operation for each shape, which takes seconds.
CASES = [
    (kind, k) for kind in KINDS for k in range(len(ESTIMATORS)) if kind != "jax" or k in (0, 3)
]


def fitted(estimator, rows, put=np.asarray):
    estimator, X = clone(estimator), put(rows)
    if isinstance(estimator, ClassSubspace):
        return estimator.fit(X, put(LABELS[: len(rows)]))
    if isinstance(estimator, ContrastSubspace):
        return estimator.fit(X, background=put(rows[::-1, ::-1].copy()))
    return estimator.fit(X)


def assert_same(found, plain, rtol=1e-9, atol=1e-10):
    for name in ("eigenvalues_", "components_", "mean_"):
        values = on_host(getattr(found, name))
        np.testing.assert_allclose(values, getattr(plain, name), rtol=rtol, atol=atol)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("kind", "k"), CASES)
def test_results_equal_those_of_numpy(kind, k, dtype):
    put, estimator, rows = KINDS[kind](), ESTIMATORS[k], ROWS.astype(dtype)
    plain, found, X = fitted(estimator, rows), fitted(estimator, rows, put), put(rows)
    assert_same(found, plain)
    Z = found.transform(X)
    home = DeviceArray(X)
    assert DeviceArray(Z).xp is home.xp
    assert DeviceArray(Z).device == home.device
    assert Z.dtype == X.dtype
    near = 1e-9 if dtype == "float64" else 1e-4
    np.testing.assert_allclose(on_host(Z), plain.transform(rows), rtol=near, atol=near)
    back = found.inverse_transform(Z)
    assert back.dtype == X.dtype
    assert DeviceArray(back).device == home.device
    expected = plain.inverse_transform(on_host(Z))
    np.testing.assert_allclose(on_host(back), expected, rtol=near, atol=10 * near)


CONTINUED = [StreamPCA(3), SlowSubspace(3, lag=2)]


@pytest.mark.parametrize("estimator", CONTINUED, ids=repr)
def test_chunks_and_merged_parts_equal_one_fit(estimator, put):
    whole = fitted(estimator, ROWS)
    by_parts = clone(estimator)
    for part in np.array_split(ROWS, 5):
        by_parts.partial_fit(put(part))
    first, second = (fitted(estimator, part, put) for part in (ROWS[:700], ROWS[700:]))
    plain_first, plain_second = (fitted(estimator, part) for part in (ROWS[:700], ROWS[700:]))
    merged = first.merge(second), first.merge(plain_second), plain_first.merge(second)
    for found in (by_parts, *merged):
        assert_same(found, whole)
        assert isinstance(found.components_, np.ndarray)
    plain = clone(estimator).partial_fit(ROWS[:700]).partial_fit(put(ROWS[700:]))
    assert_same(plain, whole)


def test_steps_between_means_and_other_parts_stay_on_the_device():
    X, found = strict()(ROWS), StreamPCA(3)
    for first in range(0, 1800, 3):
        found.partial_fit(X[first : first + 3, :])
    assert_same(found, StreamPCA(3).fit(ROWS[:1800]))
    [total] = found._learner.sums.sums.values()
    assert isinstance(total.on_device, DeviceArray)
    both = StreamPCA(3).fit(ROWS[1800:]).merge(found)
    assert_same(both, StreamPCA(3).fit(np.concatenate([ROWS[1800:], ROWS[:1800]])))


def test_a_file_holds_numpy_arrays(put, tmp_path):
    found = fitted(ESTIMATORS[0], ROWS, put)
    save(found, tmp_path / "model.eigs")
    again = load(tmp_path / "model.eigs")
    np.testing.assert_array_equal(again.components_, found.components_)
    again.partial_fit(put(ROWS[:50]))
    assert_same(again, clone(found).fit(ROWS).partial_fit(ROWS[:50]))


def test_other_rows_and_scores(put):
    found, plain = fitted(ESTIMATORS[0], ROWS, put), fitted(ESTIMATORS[0], ROWS)
    Z = found.transform(ROWS)
    assert isinstance(Z, np.ndarray)
    np.testing.assert_allclose(Z, plain.transform(ROWS), atol=1e-9)
    assert is_dispatched(plain.transform(put(ROWS)))
    np.testing.assert_allclose(found.score(put(ROWS)), plain.score(ROWS))
    two = [put(ROWS[:300]), put(ROWS[300:])]
    np.testing.assert_allclose(on_host(found.transform(two)[1]), Z[300:], atol=1e-9)


@pytest.mark.filterwarnings("ignore:Blocks of 400 rows")
@pytest.mark.parametrize("estimator", [StreamPCA(2), SlowSubspace(2)], ids=repr)
def test_questions_on_the_host(estimator, put):
    plain, found, X = fitted(estimator, ROWS), fitted(estimator, ROWS, put), put(ROWS)
    np.testing.assert_allclose(found.score(X), plain.score(ROWS))
    theirs, ours = (model.uncertainty(rows) for model, rows in ((plain, ROWS), (found, X)))
    np.testing.assert_allclose(ours.eigenvalues.error, theirs.eigenvalues.error, rtol=1e-6)
    np.testing.assert_allclose(ours.loadings.error, theirs.loadings.error, rtol=1e-6, atol=1e-9)


def test_without_dispatch_the_results_are_numpy_arrays():
    X = strict()(ROWS)
    found = StreamPCA(3).fit(X)
    assert is_dispatched(found.transform(X))
    with sklearn.config_context(array_api_dispatch=False):
        assert isinstance(found.transform(X), np.ndarray)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_missing_values_raise(value, put):
    rows = ROWS.copy()
    rows[17, 3] = value
    word = "NaN" if np.isnan(value) else "infinity"
    with pytest.raises(ValueError, match=f"{word} at row 17, column 3"):
        StreamPCA(3).fit(put(rows))


@pytest.mark.parametrize("estimator", [StreamPCA(3), SlowSubspace(3)], ids=repr)
def test_weights(estimator, put):
    weights = np.linspace(0.0, 2.0, len(ROWS))
    plain = clone(estimator).fit(ROWS, sample_weight=weights)
    assert_same(clone(estimator).fit(put(ROWS), sample_weight=put(weights)), plain)


def test_halves_without_float64_are_merged_with_the_step_between_their_means():
    rows = ROWS.astype(np.float32)
    plain = SlowSubspace(3).fit(rows)
    found = SlowSubspace(3).fit(strict("no_float64")(rows))
    expected = plain.result_.pairs.values
    np.testing.assert_allclose(found.result_.pairs.values, expected, rtol=1e-5)


@pytest.mark.parametrize("kind", ["strict", "jax"])
@pytest.mark.parametrize("unit", [1.0, 1e-25, 1e25])
def test_a_device_without_float64_adds_in_float64_on_the_host(kind, unit):
    put = strict("no_float64") if kind == "strict" else jax_numbers(wide=False)
    rows = (unit * ROWS).astype(np.float32)
    plain, found = StreamPCA(3).fit(rows), StreamPCA(3).fit(put(rows))
    result = found.result_
    assert result.pairs.values.dtype == np.float64
    np.testing.assert_allclose(result.pairs.values, plain.eigenvalues_, rtol=1e-5)
    np.testing.assert_allclose(result.pairs.vectors.T, plain.components_, atol=1e-5)
    assert found.transform(put(rows)).dtype == put(rows).dtype


@pytest.mark.parametrize("kind", ["torch", "jax"])
def test_half_precision_and_gradients(kind):
    rows = KINDS[kind]()(ROWS)
    half = pytest.importorskip("torch" if kind == "torch" else "jax.numpy").bfloat16
    rows = rows.to(half).requires_grad_() if kind == "torch" else rows.astype(half)
    plain = rows.detach().float().numpy() if kind == "torch" else np.asarray(rows, np.float32)
    found = StreamPCA(3).fit(rows)
    assert_same(found, StreamPCA(3).fit(plain))
    assert str(found.transform(rows).dtype).endswith("float32")


def test_the_caller_may_reuse_the_memory():
    xp = pytest.importorskip("array_api_strict")
    found, chunk = StreamPCA(3), xp.empty((100, 12))
    for first in range(0, 2000, 100):
        chunk[:, :] = xp.asarray(ROWS[first : first + 100])
        found.partial_fit(chunk)
    assert_same(found, StreamPCA(3).fit(ROWS))


def test_other_options_and_estimators_need_numpy():
    options: list = [{"solver": name} for name in ("sketch", "krylov", "flow", "kernel")]
    options += [{"solver": Sketch()}, {"missing": "available"}, {"features": RBFNetwork(5)}]
    options += [{"missing": "skip"}, {"center": "sequences"}]
    models = [StreamPCA(2, **each) for each in options]
    models += [SelfOrganizingMap(), SangerNetwork(), Perceptron(), RBFNetwork()]
    for model in [*models, DynamicSubspace(2), PairSubspace(), PairMetric()]:
        with pytest.raises(TypeError, match="needs NumPy arrays, and got a "):
            model.fit(strict()(ROWS), LABELS)


def test_numpy_functions_raise_for_rows_on_a_device():
    rows = DeviceArray(strict()(ROWS))
    for function in (np.asarray, np.isfinite, lambda rows: np.concatenate([rows, rows])):
        with pytest.raises(TypeError):
            function(rows)
