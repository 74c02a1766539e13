"""SelfOrganizingMap: chunks, passes, what is read from a map, and what is refused."""

import warnings
from itertools import product

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import ClusterMixin, clone
from sklearn.datasets import load_digits

from eigenstream import CompetitiveLearning, SelfOrganizingMap, load, open_stream, save
from eigenstream.persistence import Checkpoint, Interrupted
from eigenstream.schedules import Constant
from eigenstream.streams import Standardize

pytestmark = pytest.mark.filterwarnings("ignore:X has .* rows, fewer than")


def rows_of(width, n=300):
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, 3)) @ rng.standard_normal((3, width)) + 50.0


def test_the_number_of_the_step_survives_chunks():
    rows = rows_of(5)
    # A rate that falls to zero within the first chunk: later rows change nothing.
    som = SelfOrganizingMap(5, n_steps=100, learning_rate=(0.5, 0.0), init_size=50)
    before = som.partial_fit(rows[:100]).prototypes_
    np.testing.assert_array_equal(som.partial_fit(rows[100:]).prototypes_, before)
    # Without n_steps it falls for ever, to half in five rows a unit.
    rates = clone(som).set_params(n_steps=None).partial_fit(rows)._units.paces(0, 1000)[0]
    assert (np.diff(rates) < 0).all()
    assert rates[25] == pytest.approx(0.25)


def test_fit_makes_passes_in_an_order_of_its_own():
    rows = np.sort(rows_of(4), axis=0)
    som = SelfOrganizingMap(5, max_iter=3, random_state=0)
    plain, shuffled = clone(som).set_params(shuffle=False).fit(rows), clone(som).fit(rows)
    assert plain.n_steps_ == shuffled.n_steps_ == 900
    assert not np.array_equal(plain.prototypes_, shuffled.prototypes_)
    np.testing.assert_array_equal(clone(som).fit(rows).prototypes_, shuffled.prototypes_)
    other = clone(plain).set_params(n_steps=900)
    for _ in range(3):
        other.partial_fit(rows)
    np.testing.assert_allclose(other.prototypes_, plain.prototypes_, rtol=1e-12)


@pytest.mark.parametrize("training", ["sequential", "batch"])
def test_the_automatic_radius_falls_to_its_last_value(training):
    som = SelfOrganizingMap((6, 30), training=training)
    cases = {"gaussian": 0.7, "bubble": 1.0, "cut-gaussian": 1.0}
    for (neighborhood, last), init in product(cases.items(), ("pca", "random")):
        som.set_params(neighborhood=neighborhood, init=init, max_iter=2).fit(rows_of(3))
        radii = som._units.paces(0, som._units.horizon + 1)[1]
        np.testing.assert_allclose(radii[[0, -1]], [3.0 if init == "pca" else 15.0, last])


def test_the_automatic_grid_grows_with_the_rows(tmp_path):
    rows = rows_of(3, 400)
    for n, side in ((3, 2), (10, 3), (24, 4), (100, 7), (400, 10)):
        som = SelfOrganizingMap(max_iter=1, random_state=0).fit(rows[:n])
        assert som.grid_.shape == (side, side)
    assert som.fit(open_stream(rows[:100], chunk_rows=9)).grid_.shape == (7, 7)
    assert clone(som).partial_fit(rows).grid_.shape == (20, 20)
    assert clone(som).set_params(n_steps=100).partial_fit(rows).grid_.shape == (7, 7)
    save(som, tmp_path / "map.eigs")
    assert load(tmp_path / "map.eigs").fit(rows).grid_.shape == (10, 10)
    ring = SelfOrganizingMap(topology="hexagonal", periodic=True, max_iter=1).fit(rows[:100])
    assert ring.grid_.shape == (8, 8)
    with pytest.raises(ValueError, match="Pass the shape"):
        SelfOrganizingMap(init=rows[:49]).fit(rows)


@pytest.mark.parametrize("options", [{}, {"training": "batch"}, {"missing": "partial"}], ids=str)
def test_a_scaled_map_is_that_of_scaled_rows(options, tmp_path):
    rows = rows_of(4) * [1.0, 1e3, 1e-3, 5.0]
    rows[:, 3] = 7.0  # a constant
    if options.get("missing"):
        rows[np.random.default_rng(1).random(rows.shape) < 0.1] = np.nan
    divisors = np.nanstd(rows, axis=0)
    divisors[3] = 1.0
    plain = SelfOrganizingMap((4, 4), shuffle=False, random_state=0, **options)
    expected, scaled = clone(plain).fit(rows / divisors), clone(plain).set_params(scale=True)
    streamed = clone(scaled).fit(open_stream(rows, chunk_rows=41))
    save(scaled.fit(rows), tmp_path / "map.eigs")
    for som in (scaled, streamed, load(tmp_path / "map.eigs")):
        np.testing.assert_allclose(som.prototypes_, expected.prototypes_ * divisors, rtol=1e-9)
        planes = som.component_planes()
        np.testing.assert_array_equal(planes, som.prototypes_.T.reshape(4, 4, 4))
        distances = expected.transform(rows / divisors)
        np.testing.assert_allclose(som.transform(rows), distances, atol=1e-7)
        np.testing.assert_allclose(som.u_matrix(), expected.u_matrix())
        for error in (som.evaluate(rows).quantization_error, som.quantization_error_):
            assert error == pytest.approx(expected.quantization_error_)
        assert som.score(rows) == pytest.approx(expected.score(rows / divisors))
    start = SelfOrganizingMap((4, 4), scale=True, init=rows_of(4)[:16], max_iter=1, radius=0.0)
    start.set_params(learning_rate=1e-300, missing="partial").fit(rows)
    np.testing.assert_allclose(start.prototypes_, start.init)


def test_scale_needs_all_rows_and_its_lack_is_reported():
    rows = rows_of(3)
    with pytest.raises(ValueError, match="Use fit of an array or a stream"):
        SelfOrganizingMap(scale=True).partial_fit(rows)
    with pytest.warns(UserWarning, match=r"range from .* Pass scale=True"):
        SelfOrganizingMap((3, 3), max_iter=1).fit(rows * [1.0, 1.0, 1e4])
    with warnings.catch_warnings(action="error"):
        SelfOrganizingMap((3, 3), max_iter=1).fit(rows)
        SelfOrganizingMap((3, 3), max_iter=1).fit(load_digits().data)  # rare pixels
        SelfOrganizingMap((3, 3), max_iter=1, scale=True).fit(rows * [1.0, 1.0, 1e4])
        SelfOrganizingMap((3, 3), max_iter=1).fit(np.column_stack([rows, np.full(300, 0.1)]))


def test_the_score_is_a_log_likelihood():
    rows, new = rows_of(4), rows_of(4, 350)[300:]
    som = SelfOrganizingMap((4, 5), random_state=0).fit(rows)
    variance = som.inertia_ / rows.size
    densities = [multivariate_normal(w, variance).pdf(new) for w in som.prototypes_]
    logs = np.log(np.mean(densities, axis=0))
    assert som.score(new) == pytest.approx(logs.mean())
    weights = np.arange(50.0) % 3
    assert som.score(new, sample_weight=weights) == pytest.approx(weights @ logs / weights.sum())
    assert np.isfinite(clone(som).partial_fit(rows).score(new))
    with pytest.raises(ValueError, match="every weight is zero"):
        som.score(rows, sample_weight=np.zeros(300))
    assert np.isfinite(SelfOrganizingMap(2).fit(np.ones((9, 2))).score(np.full((3, 2), 1e60)))


def batch_twin(W, rows, weights, som, radii):
    squares_on_grid = som.grid_.squared_distances()
    for radius in radii:
        winners = ((rows[:, None] - W) ** 2).sum(axis=2).argmin(axis=1)
        h = np.exp(-squares_on_grid[:, winners] / (2 * radius**2)) * weights
        W = h @ rows / h.sum(axis=1, keepdims=True)
    return W


@pytest.mark.parametrize("topology", ["rectangular", "hexagonal"])
def test_batch_training_by_its_formula(topology):
    rows, weights = rows_of(6), np.random.default_rng(3).choice([0.0, 1.0, 2.5], 300)
    init = rows[:12] + 0.5
    som = SelfOrganizingMap((3, 4), topology=topology, training="batch", init=init, max_iter=4)
    som.set_params(radius=(2.0, 0.5)).fit(rows, sample_weight=weights)
    expected = batch_twin(init, rows, weights, som, np.geomspace(2.0, 0.5, 4))
    np.testing.assert_allclose(som.prototypes_, expected, rtol=1e-10)
    # Whatever lacks is left out of the means.
    rows[::7, 2] = np.nan
    with_gaps = clone(som).set_params(missing="partial", max_iter=1, radius=1.0).fit(rows)
    centred = np.where(np.isnan(rows), 0, rows)
    there = 1.0 - np.isnan(rows)
    squares = ((centred[:, None] - init) ** 2 * there[:, None]).sum(axis=2) * 6
    winners = (squares / there.sum(axis=1)[:, None]).argmin(axis=1)
    h = np.exp(-som.grid_.squared_distances()[:, winners] / 2)
    np.testing.assert_allclose(with_gaps.prototypes_, h @ centred / (h @ there), rtol=1e-10)


@pytest.mark.parametrize(
    "model", [SelfOrganizingMap(5, training="batch"), CompetitiveLearning(method="batch")]
)
def test_batches_take_no_chunks(model):
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError, match="Use fit, or sequential training"):
        model.partial_fit(rows_of(3))


def test_what_is_read_from_a_map():
    rows = rows_of(7)
    som = SelfOrganizingMap((4, 5), topology="hexagonal", random_state=0).fit(rows)
    W, grid = som.prototypes_, som.grid_
    squares = ((rows[:, None] - W) ** 2).sum(axis=2)
    np.testing.assert_allclose(som.transform(rows) ** 2, squares, rtol=1e-7, atol=1e-9)
    two = squares.argsort(axis=1)[:, :2]
    np.testing.assert_array_equal(som.predict(rows), two[:, 0])
    assert som.quantization_error_ == pytest.approx(np.sqrt(squares.min(axis=1)).mean())
    apart = grid.squared_distances()[two[:, 0], two[:, 1]]
    assert som.topographic_error_ == pytest.approx((apart > 1.0).mean())
    np.testing.assert_array_equal(som.hits().ravel(), np.bincount(two[:, 0], minlength=20))
    np.testing.assert_array_equal(som.hits(rows[:9]).sum(), 9)
    assert som.component_planes().shape == (7, 4, 5)
    np.testing.assert_array_equal(som.component_planes()[2].ravel(), W[:, 2])
    near = (grid.squared_distances() > 0) & (grid.squared_distances() <= 1)
    between = np.sqrt(((W[:, None] - W) ** 2).sum(axis=2))
    mean = (between * near).sum(axis=1) / near.sum(axis=1)
    np.testing.assert_allclose(som.u_matrix().ravel(), mean, rtol=1e-9)


@pytest.mark.parametrize("training", ["sequential", "batch"])
def test_a_stream_with_holes_is_learned_as_its_array(training, tmp_path):
    rows = rows_of(5)
    rows[np.random.default_rng(1).random(rows.shape) < 0.1] = np.nan
    rows[[17, 200]] = np.nan
    y = np.arange(len(rows)) % 3
    names = ",".join("abcde")
    np.savetxt(tmp_path / "x.csv", rows, delimiter=",", fmt="%.17g", header=names, comments="")
    given = {"missing": "partial", "training": training, "shuffle": False, "max_iter": 3}
    som = SelfOrganizingMap((3, 4), random_state=0, **given)
    whole = clone(som).fit(rows)
    stream = open_stream(tmp_path / "x.csv", chunk_rows=23)
    found = clone(som).fit(stream)
    np.testing.assert_allclose(found.prototypes_, whole.prototypes_, rtol=1e-9)
    assert found.n_samples_skipped_ == whole.n_samples_skipped_ == 2
    assert found.quantization_error_ == pytest.approx(whole.quantization_error_)
    assert found.topographic_error_ == pytest.approx(whole.topographic_error_)
    np.testing.assert_allclose(found.history_.loss, whole.history_.loss)
    assert whole.history_.loss.shape == (whole.n_iter_,) == (3,)
    kept = ~np.isnan(rows).all(axis=1)
    quality = whole.evaluate(stream)
    assert quality.n_rows == kept.sum() == len(rows) - 2
    assert quality.quantization_error == pytest.approx(whole.quantization_error_)
    np.testing.assert_array_equal(quality.hits, found.hits())
    np.testing.assert_array_equal(whole.hits(), found.hits())
    np.testing.assert_array_equal(
        whole.class_map(stream, y).counts, whole.class_map(rows[kept], y[kept]).counts
    )
    near = np.concatenate([chunk.rows for chunk in whole.predict(stream)])
    np.testing.assert_array_equal(near[kept], whole.predict(rows[kept]))
    keeper = Checkpoint(tmp_path / "map.eigs", every=50)
    keeper.stop()
    with pytest.raises(Interrupted):
        clone(som).fit(stream, checkpoint=keeper)
    resumed = clone(som).fit(stream, checkpoint=keeper.path, every=50, resume=True)
    np.testing.assert_array_equal(resumed.prototypes_, found.prototypes_)
    with pytest.raises(ValueError, match=r"Standardize.* needs complete rows"):
        clone(som).fit(stream.through(Standardize()))
    with pytest.raises(ValueError, match="contains NaN"):
        clone(som).set_params(missing="raise").fit(stream)


def test_trustworthiness_with_ties_and_gaps():
    rows, rng = rows_of(7, 80), np.random.default_rng(0)
    som = SelfOrganizingMap((3, 7), missing="partial", random_state=0).fit(rows)
    units = som.predict(rows)
    far = som.grid_.squared_distances()[units][:, units]
    orders = []
    for _ in range(60):
        noisy = far + 1e-6 * rng.random(far.shape)
        np.fill_diagonal(noisy, 0)
        orders.append(trustworthiness_by_ranks(rows, noisy, 5))
    # The mean over all orders, within four standard errors of that over some.
    whole, error = som.trustworthiness(rows), np.std(orders) / np.sqrt(len(orders))
    assert abs(whole - np.mean(orders)) <= 4 * error
    assert abs(som.trustworthiness(rows, max_rows=60) - whole) < 0.1
    rows[rng.random(rows.shape) < 0.05] = np.nan
    assert 0.5 < som.trustworthiness(rows) <= 1.0


def trustworthiness_by_ranks(rows, squares, k):
    n, total = len(rows), 0
    for i in range(n):
        ranks = np.argsort(np.argsort(((rows[i] - rows) ** 2).sum(axis=1)))
        near = np.argsort(np.where(np.arange(n) == i, np.inf, squares[i]))[:k]
        total += np.maximum(ranks[near] - k, 0).sum()
    return 1 - 2 * total / (n * k * (2 * n - 3 * k - 1))


@pytest.mark.parametrize("names", [["low", "high"], [1, 3]])
def test_a_class_map(names):
    rows = rows_of(4)
    som = SelfOrganizingMap((2, 9), random_state=0).fit(rows)
    y = np.where(rows[:, 0] > 50, *names)
    found, nearest = som.class_map(rows, y), som.predict(rows)
    counts = np.stack([np.bincount(nearest[y == name], minlength=18) for name in found.classes])
    np.testing.assert_array_equal(found.counts, counts.T)
    assert found.purity == counts.max(axis=0).sum() / 300
    empty = counts.sum(axis=0) == 0
    expected = np.where(empty, None, np.take(found.classes, counts.argmax(axis=0)))
    np.testing.assert_array_equal(found.labels.ravel(), expected)
    np.testing.assert_array_equal(found.majority.ravel() == -1, empty)
    stream = open_stream(rows, chunk_rows=7)
    for read in (som.class_map(stream, y), som.class_map(stream.with_labels(y))):
        np.testing.assert_array_equal(read.counts, found.counts)
    lacking = open_stream(np.full_like(rows, np.nan), missing="skip").with_labels(y)
    for X, labels, words in (
        (rows, y[:-1], "one name a row"),
        (stream, None, "has no labels"),
        (rows, None, "the class of each row"),
        (lacking, None, "X is empty, or every weight is zero"),
    ):
        with pytest.raises(ValueError, match=words):
            som.class_map(X, labels)


BAD = {
    "shape": [{"shape": (0, 3)}, {"shape": "20x20"}, {"shape": (2, 3, 4)}],
    "rows": [{"shape": (3, 4), "topology": "hexagonal", "periodic": True}],
    "radius": [{"radius": -1.0}, {"radius": (1.0, 3.0)}, {"radius": "wide"}, {"radius": (1, 2, 3)}],
    "learning_rate": [{"learning_rate": 1.5}, {"learning_rate": 0.0}, {"learning_rate": (0.1, 1)}],
    "init": [{"init": "zeros"}, {"init": np.zeros((3, 3))}, {"init": np.full((400, 4), np.nan)}],
    "Use rates of at most 1": [{"learning_rate": Constant(1.5)}],
    "gave the radius nan at step 0": [{"radius": lambda t: np.nan}],
    "gave values of the radius of shape": [{"radius": lambda t: np.ones((2, 2))}],
}


@pytest.mark.parametrize(
    ("word", "given"), [(word, one) for word, several in BAD.items() for one in several]
)
def test_bad_parameters_raise(word, given):
    rows = rows_of(4)
    with pytest.raises((ValueError, TypeError), match=word):
        SelfOrganizingMap(**given).fit(rows)


def test_weights_of_rows_that_are_evaluated():
    rows = rows_of(3, 40)
    som = SelfOrganizingMap((3, 3), random_state=0).partial_fit(rows)
    often = np.arange(40) % 3
    weighted = som.evaluate(rows, sample_weight=often.astype(float))
    repeated = som.evaluate(np.repeat(rows, often, axis=0))
    assert weighted.quantization_error == pytest.approx(repeated.quantization_error)
    np.testing.assert_allclose(weighted.hits, repeated.hits)
    for weights, words in ((np.ones(3), "one number a row; got"), (0.0, "every weight is zero")):
        with pytest.raises(ValueError, match=words):
            som.evaluate(rows, sample_weight=weights)
    with pytest.raises(ValueError, match="does not store hits"):
        som.hits()
    assert som.hits(rows).sum() == 40


def test_a_map_of_one_unit_has_no_borders():
    with pytest.warns(UserWarning, match="X has 1 rows, fewer than the 20 units of the map"):
        SelfOrganizingMap((4, 5)).fit(np.eye(1, 3))
    som = SelfOrganizingMap((1, 1)).fit(np.eye(3))
    np.testing.assert_array_equal(som.u_matrix().ravel(), [0.0])
    assert som.topographic_error_ == 0.0
    assert not isinstance(som, ClusterMixin)


def test_fit_predict_returns_the_nearest_units():
    rows, weights = rows_of(5), np.arange(300) % 3
    som = SelfOrganizingMap(4, random_state=0)
    labels = som.fit_predict(rows, sample_weight=weights)
    np.testing.assert_array_equal(labels, som.predict(rows))
    again = clone(som).fit(rows, sample_weight=weights)
    np.testing.assert_array_equal(labels, again.labels_)
