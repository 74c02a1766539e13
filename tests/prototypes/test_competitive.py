"""CompetitiveLearning: its steps, any chunking, what it reads out, and what it refuses."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError

from eigenstream import CompetitiveLearning, open_stream
from eigenstream.prototypes import competitive
from eigenstream.schedules import Exponential, Power
from members import DEGENERATE

pytestmark = pytest.mark.filterwarnings("ignore:X has .* distinct rows")

EPS = float(np.finfo(float).eps)


def blobs(n=300, width=30, seed=0):
    rng = np.random.default_rng(seed)
    centres = 4 * np.random.default_rng(9).standard_normal((6, width))
    return centres[rng.integers(6, size=n)] + rng.standard_normal((n, width))


# ---- steps ---------------------------------------------------------------------------------------


def plain(J, rows, share, rate):
    """The sequential rule as a textbook writes it."""
    J = np.array(J)
    counts = np.ones(len(J))
    for t, x in enumerate(rows):
        p = share(((x - J) ** 2).sum(axis=1), t)
        counts += p
        a = p / counts if rate is None else rate(t) * p
        J += a[:, None] * (x - J)
    return J


SHARES = {
    "winner": lambda squares, t: np.eye(len(squares))[squares.argmin()],
    "soft": lambda squares, t: softmax(-squares / (2 * (3 * np.exp(-t / 200)) ** 2)),
    "rank": lambda squares, t: np.exp(-squares.argsort().argsort() / (3 * np.exp(-t / 200))),
}


def softmax(z):
    p = np.exp(z - z.max())
    return p / p.sum()


#: Rows short enough for steps on the prototypes themselves, and long enough for blocks.
WIDTHS = [3, 1000]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("rate", ["count", 0.03, Power(1.0, 5.0)], ids=str)
@pytest.mark.parametrize("assignment", SHARES)
def test_law_3_the_estimator_takes_the_sequential_steps(assignment, rate, width):
    rows = 100.0 + blobs(400, width)  # an offset costs no precision
    start = rows[:18] + 0.1
    given = {} if assignment == "winner" else {"width": Exponential(3.0, 200.0)}
    found = CompetitiveLearning(
        18, assignment=assignment, init=start, learning_rate=rate, **given
    ).fit(rows)
    by_step = {"count": None, 0.03: lambda t: 0.03}.get(rate, lambda t: 1.0 / (5.0 + t))
    due = plain(start, rows, SHARES[assignment], by_step)
    # 64 roundings a step of numbers of the size of squared rows.
    near = 64 * 400 * EPS * (rows**2).sum(axis=1).max()
    np.testing.assert_allclose(found.prototypes_, due, rtol=0, atol=near)


def test_counted_winners_are_means_of_what_they_won():
    rows = blobs()
    found = CompetitiveLearning(6, init="k-means", random_state=0).fit(rows)
    assert found.counts_.sum() == len(rows)
    sizes = np.bincount(found.labels_, minlength=6)
    means = [rows[found.labels_ == k].mean(axis=0) for k in range(6)]
    np.testing.assert_array_equal(sizes, found.counts_)  # these clusters lie far apart
    np.testing.assert_allclose(found.prototypes_, means, atol=1e-12)


@pytest.mark.parametrize("rate", ["count", 0.1])
def test_a_row_of_weight_w_is_w_rows(rate):
    rows = blobs(100)
    often = np.random.default_rng(2).integers(0, 4, 100)
    one = CompetitiveLearning(4, init=rows[:4], learning_rate=rate)
    weighted = clone(one).fit(rows, sample_weight=often.astype(float))
    repeated = clone(one).fit(np.repeat(rows, often, axis=0))
    near = 64 * 400 * EPS * (rows**2).sum(axis=1).max()
    np.testing.assert_allclose(weighted.prototypes_, repeated.prototypes_, rtol=0, atol=near)
    assert abs(weighted.inertia_ - repeated.inertia_) <= near * 100
    assert weighted.n_steps_ == (often > 0).sum()


def test_forgetting_follows_a_stream_that_drifts():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((4000, 2)) + np.linspace(0, 40, 4000)[:, None]
    keeping = CompetitiveLearning(1, init="data").fit(rows)
    forgetting = CompetitiveLearning(1, init="data", forgetting=0.02).fit(rows)
    # It is the mean with weights 0.98^age, whose mean age is 49 steps of 0.01.
    expected = np.average(rows, axis=0, weights=0.98 ** np.arange(4000)[::-1])
    np.testing.assert_allclose(forgetting.prototypes_[0], expected, rtol=1e-10)
    np.testing.assert_allclose(keeping.prototypes_[0], rows.mean(axis=0), rtol=1e-10)


# ---- streams -------------------------------------------------------------------------------------

MODELS = [
    CompetitiveLearning(18, random_state=0),
    CompetitiveLearning(18, init_size=50, random_state=0),
    CompetitiveLearning(18, init="random", init_size=50, random_state=0, forgetting=0.01),
    CompetitiveLearning(18, init="data", learning_rate=Power(1, 10)),
    CompetitiveLearning(18, init="k-means++", init_size=20, reseed=30, random_state=0),
    CompetitiveLearning(18, assignment="soft", init="k-means++", init_size=20, random_state=0),
    CompetitiveLearning(18, assignment="rank", init="data", record_every=25),
    CompetitiveLearning(18, assignment="soft", init="data", width=Exponential(9, 30)),
]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("model", MODELS, ids=range(len(MODELS)))
@settings(max_examples=4, deadline=None)
@given(cuts=st.lists(st.integers(1, 299), max_size=20), each=st.booleans())
def test_any_chunking_is_one_pass(model, width, cuts, each):
    rows = blobs(width=width)
    weights = np.random.default_rng(1).choice([0.0, 1.0, 2.0], 300)
    whole = clone(model).fit(rows, sample_weight=weights)
    parts = clone(model)
    edges = range(301) if each else [0, *sorted(set(cuts)), 300]
    for a, b in pairwise(edges):
        if weights[a:b].any():
            parts.partial_fit(rows[a:b], sample_weight=weights[a:b])
            if not each:  # reading changes nothing
                assert len(parts.prototypes_) == len(parts.counts_)
    np.testing.assert_array_equal(parts.prototypes_, whole.prototypes_)
    np.testing.assert_array_equal(parts.counts_, whole.counts_)
    assert parts.error_ == whole.error_
    assert parts.n_steps_ == whole.n_steps_ == (weights > 0).sum()
    assert parts.n_reseeded_ == whole.n_reseeded_
    if model.record_every:
        np.testing.assert_array_equal(parts.order_parameters_.Q, whole.order_parameters_.Q)


def test_memory_does_not_grow_with_the_stream():
    model = CompetitiveLearning(6, init_size=100, random_state=0)
    sizes = []
    for k in range(12):
        model.partial_fit(blobs(150, seed=k))
        sizes.append(len(pickle.dumps(model)))
    assert max(sizes[2:]) - min(sizes[2:]) <= 64 * 31 * 8 + 500  # a block that waits


def test_a_stream_is_a_pass_of_chunks_with_what_it_leaves_out(tmp_path):
    rows = blobs()
    due = CompetitiveLearning(6, random_state=0).fit(rows)
    spoiled = np.insert(rows, [7, 130], np.nan, axis=0)
    for source in (spoiled, iter(np.array_split(spoiled, 7))):
        found = CompetitiveLearning(6, random_state=0).fit(
            open_stream(source, chunk_rows=31, missing="skip")
        )
        np.testing.assert_array_equal(found.prototypes_, due.prototypes_)
        assert found.n_samples_skipped_ == 2
        assert not hasattr(found, "labels_")
        labels = [chunk.rows for chunk in found.predict(open_stream(rows, chunk_rows=50))]
        np.testing.assert_array_equal(np.concatenate(labels), due.labels_)
    skipping = CompetitiveLearning(6, missing="skip", random_state=0).fit(spoiled)
    np.testing.assert_array_equal(skipping.prototypes_, due.prototypes_)
    assert skipping.n_samples_skipped_ == 2
    two = CompetitiveLearning(6, max_iter=2, random_state=0)
    again = clone(two).fit(open_stream(iter(np.array_split(spoiled, 7)), missing="skip"))
    np.testing.assert_array_equal(again.prototypes_, clone(two).fit(rows).prototypes_)
    assert again.n_samples_skipped_ == 2


def test_prototypes_come_with_the_rows_that_differ():
    model = CompetitiveLearning(3, init="data")
    rows = np.array([[1.0, 1.0], [1.0, 1.0], [2.0, 0.0], [1.0, 1.0], [9.0, 9.0], [9.0, 8.0]])
    seen = [len(model.partial_fit(row[None]).prototypes_) for row in rows]
    assert seen == [1, 1, 2, 2, 3, 3]
    np.testing.assert_array_equal(model.counts_, [3, 1, 2])
    with pytest.warns(UserWarning, match="X has 3 distinct rows, fewer than n_prototypes=8"):
        few = CompetitiveLearning(random_state=0).fit(rows[:5])
    assert few.inertia_ == pytest.approx(0, abs=1e-12)
    assert few.transform(rows).shape == (6, 3)
    assert len(few.get_feature_names_out()) == 3


# ---- data ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("assignment", ["winner", "soft", "rank"])
@pytest.mark.parametrize("name", DEGENERATE)
def test_law_6_degenerate_data(name, assignment):
    rows = DEGENERATE[name]
    one, two = (CompetitiveLearning(assignment=assignment, random_state=0).fit(rows) for _ in "ab")
    np.testing.assert_array_equal(one.prototypes_, two.prototypes_)
    assert np.isfinite(one.prototypes_).all()
    assert np.isfinite(one.transform(rows)).all()
    assert np.isfinite([one.inertia_, one.error_]).all()
    assert 1 <= len(one.prototypes_) <= min(8, len(np.unique(rows, axis=0)))


def test_law_5_float32_is_as_good_as_float64():
    rows = (1e4 + blobs()).astype(np.float32)
    single = CompetitiveLearning(6, random_state=0).fit(rows)
    double = CompetitiveLearning(6, random_state=0).fit(rows.astype(np.float64))
    np.testing.assert_array_equal(single.prototypes_, double.prototypes_)
    assert single.transform(rows).dtype == np.float32
    assert single.inertia_ == pytest.approx(double.inertia_, rel=1e-5)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("method", ["sequential", "batch"])
def test_rows_are_the_same_however_they_lie_in_memory(method, width):
    rows = blobs(width=width)
    model = CompetitiveLearning(18, method=method, random_state=0)
    due = clone(model).fit(rows).prototypes_
    for other in (np.asfortranarray(rows), np.repeat(rows, 2, axis=1)[:, ::2]):
        np.testing.assert_array_equal(clone(model).fit(other).prototypes_, due)


# ---- reading -------------------------------------------------------------------------------------


def test_the_contract_of_clusters():
    rows = blobs()
    model = CompetitiveLearning(6, random_state=0).fit(rows)
    squares = ((rows[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    np.testing.assert_array_equal(model.labels_, squares.argmin(axis=1))
    np.testing.assert_array_equal(model.predict(rows), model.labels_)
    np.testing.assert_allclose(model.transform(rows), np.sqrt(squares), rtol=1e-9)
    assert model.inertia_ == pytest.approx(squares.min(axis=1).sum())
    assert model.score(rows) == pytest.approx(-model.inertia_)
    weights = np.arange(300.0)
    due = -weights @ squares.min(axis=1)
    assert model.score(rows, sample_weight=weights) == pytest.approx(due)
    model.partial_fit(rows)
    assert not hasattr(model, "labels_")
    assert not hasattr(model, "inertia_")


def test_error_is_that_of_rows_when_they_come():
    rows = blobs(50)
    model = CompetitiveLearning(2, init=rows[:2], learning_rate=1.0).fit(rows)
    J, errors = np.array(rows[:2]), []
    for x in rows:
        squares = ((x - J) ** 2).sum(axis=1)
        errors.append(squares.min())
        J[squares.argmin()] = x
    assert model.error_ == pytest.approx(np.mean(errors))


def test_vector_quantiser():
    rows = blobs()
    model = CompetitiveLearning(6, random_state=0).fit(rows)
    codes = model.quantise(rows)
    assert codes.dtype == np.uint8
    assert model.bits_per_vector_ == np.log2(6)
    again = model.reconstruct(codes)
    assert model.distortion(rows) == pytest.approx(((rows - again) ** 2).sum(axis=1).mean())
    large = CompetitiveLearning(300, init="data").fit(blobs(400))
    assert large.quantise(rows).dtype == np.uint16
    with pytest.raises(ValueError, match="code 1 is 6, and there are prototypes 0 to 5"):
        model.reconstruct([0, 6])
    with pytest.raises(TypeError, match="codes must be whole numbers"):
        model.reconstruct([0.5])
    weights = np.arange(300.0)
    due = weights @ ((rows - again) ** 2).sum(axis=1) / weights.sum()
    assert model.distortion(rows, sample_weight=weights) == pytest.approx(due)
    with pytest.raises(ValueError, match="sample_weight is zero for every row"):
        model.distortion(rows, sample_weight=np.zeros(300))
    with pytest.raises(TypeError, match="X is a stream"):
        model.distortion(open_stream(rows))


def test_nothing_is_read_before_rows_came():
    with pytest.raises(NotFittedError):
        _ = CompetitiveLearning().prototypes_
    with pytest.raises(NotFittedError, match="record_every"):
        _ = CompetitiveLearning(2).fit(blobs()).order_parameters_


# ---- dead prototypes -----------------------------------------------------------------------------


def test_dead_prototypes_are_named_and_placed_anew():
    rows = blobs(2000)
    far = np.vstack([rows[:1], np.full((5, 30), 1e3)])
    model = CompetitiveLearning(6, init=far, random_state=0).fit(rows)
    np.testing.assert_array_equal(model.dead_, [1, 2, 3, 4, 5])
    alive = CompetitiveLearning(6, init=far, reseed=100, random_state=0).fit(rows)
    assert alive.dead_.size == 0
    assert alive.n_reseeded_ >= 5
    assert alive.inertia_ < 0.2 * model.inertia_
    # Twice the same.
    again = CompetitiveLearning(6, init=far, reseed=100, random_state=0).fit(rows)
    np.testing.assert_array_equal(alive.prototypes_, again.prototypes_)


# ---- batches -------------------------------------------------------------------------------------


def test_batches_are_those_of_k_means():
    rows = blobs()
    start = rows[:6]
    ours = CompetitiveLearning(6, init=start, method="batch", tol=0).fit(rows)
    theirs = KMeans(6, init=start, n_init=1, tol=0).fit(rows)
    np.testing.assert_allclose(ours.prototypes_, theirs.cluster_centers_, atol=1e-10)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    assert ours.n_iter_ <= theirs.n_iter_ + 1
    streamed = CompetitiveLearning(6, init=start, method="batch", tol=0)
    streamed.fit(open_stream(rows, chunk_rows=70))
    np.testing.assert_allclose(streamed.prototypes_, ours.prototypes_, atol=1e-10)
    for init in ("k-means", "data", "random"):
        other = CompetitiveLearning(6, init=init, method="batch", random_state=0).fit(rows)
        assert len(other.prototypes_) == 6
        assert np.isfinite(other.inertia_)


@pytest.mark.parametrize("assignment", ["soft", "rank"])
def test_batches_of_shares(assignment):
    rows = blobs()
    start = rows[:6]
    own = CompetitiveLearning(
        6, init=start, assignment=assignment, width=1.5, method="batch", max_iter=1
    ).fit(rows)
    squares = ((rows[:, None] - start) ** 2).sum(axis=2)
    if assignment == "soft":
        p = np.array([softmax(-one / (2 * 1.5**2)) for one in squares])
    else:
        p = np.exp(-squares.argsort(axis=1).argsort(axis=1) / 1.5)
    np.testing.assert_allclose(own.prototypes_, p.T @ rows / p.sum(axis=0)[:, None], atol=1e-10)


# ---- merging -------------------------------------------------------------------------------------


def test_merged_prototypes_stand_for_the_rows_of_both():
    one, two = (blobs(1500, seed=k) for k in (1, 2))
    left, right = (CompetitiveLearning(6, random_state=0).fit(rows) for rows in (one, two))
    before = left.prototypes_, right.prototypes_
    both = left.merge(right)
    rows = np.concatenate([one, two])
    assert both.counts_.sum() == left.counts_.sum() + right.counts_.sum()
    assert both.n_steps_ == 3000
    np.testing.assert_array_equal(left.prototypes_, before[0])
    np.testing.assert_array_equal(right.prototypes_, before[1])
    at_once = CompetitiveLearning(6, random_state=0).fit(rows)
    # Clusters that lie apart: each is the mean of its rows on both sides.
    assert -both.score(rows) <= 1.001 * -at_once.score(rows)
    both.partial_fit(one)
    assert both.n_steps_ == 4500
    np.testing.assert_array_equal(left.merge(right).prototypes_, left.merge(right).prototypes_)


def test_what_cannot_be_merged():
    left = CompetitiveLearning(6, random_state=0).fit(blobs())
    for other in (CompetitiveLearning(6), KMeans(2), None):
        with pytest.raises(TypeError, match="merge takes another fitted CompetitiveLearning"):
            left.merge(other)
    with pytest.raises(ValueError, match="learned with n_prototypes=5, and this one with 6"):
        left.merge(CompetitiveLearning(5, random_state=0).fit(blobs()))
    with pytest.raises(ValueError, match="rows of 9 features"):
        left.merge(CompetitiveLearning(6, random_state=0).fit(blobs(width=9)))


# ---- order parameters ----------------------------------------------------------------------------


def test_order_parameters_are_those_at_their_steps():
    rows = blobs(250)
    B = np.eye(2, 30)
    model = CompetitiveLearning(
        3, init=rows[:3], learning_rate=0.05, record_every=40, directions=B
    ).fit(rows)
    found = model.order_parameters_
    np.testing.assert_allclose(found.alphas * 30, [0, 40, 80, 120, 160, 200, 240])
    for t, R, Q in zip((40, 120, 240), found.R[[1, 3, 6]], found.Q[[1, 3, 6]], strict=True):
        J = CompetitiveLearning(3, init=rows[:3], learning_rate=0.05).fit(rows[:t]).prototypes_
        near = 64 * 250 * EPS * (rows**2).sum(axis=1).max()
        np.testing.assert_allclose(R, J @ B.T, rtol=0, atol=near)
        np.testing.assert_allclose(Q, J @ J.T, rtol=0, atol=10 * near)


# ---- refusals ------------------------------------------------------------------------------------

REFUSED = {
    "learning_rate": [
        ({"learning_rate": 1.5}, r"learning_rate must be a number in \(0, 1\]"),
        ({"learning_rate": "fast"}, "learning_rate must be 'count', a number, a schedule"),
        ({"learning_rate": lambda t: 0.5 + t}, "learning rate is 1.5 at step 1: above 1"),
        ({"learning_rate": 0.1, "forgetting": 0.1}, "forgetting=0.1 makes counts fade"),
    ],
    "n_prototypes": [({"n_prototypes": 10**12, "init": "data"}, "GiB, and this machine has")],
    "width": [
        ({"width": 2.0}, "width=2.0 is of no use to assignment='winner'"),
        ({"assignment": "soft", "width": -1}, "width must be a number"),
        ({"assignment": "soft", "width": lambda t: np.nan}, "gave the width nan at step 0"),
    ],
    "init": [
        ({"init": "far"}, "init must be one of 'k-means', 'k-means"),
        ({"init": np.zeros((3, 4))}, r"init must have shape \(8, n_features\), got \(3, 4\)"),
        ({"init": np.zeros((8, 4))}, r"init must have shape \(8, 30\), got \(8, 4\)"),
        ({"init": np.full((8, 30), np.inf)}, "init contains infinity at row 0"),
    ],
    "batch": [
        ({"method": "batch", "learning_rate": 0.1}, "learning_rate=0.1 is of steps"),
        ({"method": "batch", "reseed": 9}, "reseed=9 is of steps"),
    ],
    "directions": [
        ({"directions": np.eye(30)}, "pass record_every, too"),
        ({"directions": np.eye(4), "record_every": 9}, r"must have shape \(m, 30\)"),
    ],
}


@pytest.mark.parametrize(
    ("given", "words"),
    [one for some in REFUSED.values() for one in some],
    ids=lambda one: str(one)[:40],
)
def test_bad_parameters_are_refused_and_change_nothing(given, words):
    model = CompetitiveLearning().set_params(**given)
    for learn in (model.fit, model.partial_fit):
        if model.method == "batch" and learn == model.partial_fit:
            continue
        with pytest.raises((ValueError, TypeError), match=words):
            learn(blobs())
        assert not model.__sklearn_is_fitted__()


def test_a_rate_that_grows_is_refused_before_the_chunk_is_learned():
    model = CompetitiveLearning(2, init="data", learning_rate=lambda t: (1 + t) / 50)
    model.partial_fit(blobs(45))
    before = model.prototypes_
    with pytest.raises(ValueError, match=r"the learning rate is 1\.02 at step 50"):
        model.partial_fit(blobs(45))
    np.testing.assert_array_equal(model.prototypes_, before)
    assert model.n_steps_ == 45


def test_batches_take_no_chunks():
    with pytest.raises(ValueError, match="method='batch' goes through all rows"):
        CompetitiveLearning(method="batch").partial_fit(blobs())


def test_every_parameter_is_documented():
    for name in CompetitiveLearning().get_params():
        assert f"    {name}" in (competitive.CompetitiveLearning.__doc__ or ""), name


# ---- real data -----------------------------------------------------------------------------------


def within(rows, n_prototypes, most):
    """One pass in random order, beside k-means until it stands still; three seeds."""
    for seed in range(3):
        shuffled = np.random.default_rng(seed).permutation(rows)
        ours = CompetitiveLearning(n_prototypes, random_state=seed).fit(shuffled)
        theirs = KMeans(n_prototypes, n_init=1, random_state=seed).fit(rows)
        assert ours.inertia_ <= most * theirs.inertia_, f"seed {seed}"


def test_one_pass_comes_near_to_k_means_on_digits():
    from sklearn.datasets import load_digits

    within(load_digits().data, 10, 1.03)


@pytest.mark.needs_data
@pytest.mark.parametrize("name", ["mnist", "letters"])
def test_one_pass_comes_near_to_k_means(name, data_folder):
    with np.load(data_folder / f"{name}.npz") as held:
        images = held["images"]
    rows = images.reshape(len(images), -1).astype(np.float32)
    within(rows[:, rows.any(axis=0)], 10, 1.03)


# ---- what is seldom met --------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["sequential", "batch"])
def test_a_stream_whose_rows_weigh_nothing_leaves_nothing(method):
    model = CompetitiveLearning(3, method=method)
    for rows in (np.full((9, 3), np.nan), np.full((9, 3), np.nan)[:1]):
        with pytest.raises(ValueError, match="no row is left to learn from"):
            model.fit(open_stream(rows, missing="skip"))
        with pytest.raises(ValueError, match="no row is left to learn from"):
            clone(model).set_params(missing="skip").fit(rows)
    with pytest.raises(ValueError, match="sample_weight is zero for every row"):
        model.fit(blobs(), sample_weight=np.zeros(300))


def test_what_is_no_number_schedule_or_array_is_refused():
    for asked, words in (
        ({"learning_rate": object()}, "learning_rate must be 'count', a number, a schedule"),
        ({"init": object()}, "init must be 'k-means', 'k-means"),
    ):
        with pytest.raises(TypeError, match=words):
            CompetitiveLearning(3, **asked).fit(blobs())


def test_a_state_of_other_prototypes_is_refused():
    model = CompetitiveLearning(3, random_state=0).fit(blobs())
    state = model.state()
    for changed, words in (
        ({"learner.vectors": np.zeros((4, 30))}, "4 prototypes of 30 features are not the 3"),
        ({"learner.alive": np.array([7])}, "7 of 3 prototypes are none"),
    ):
        with pytest.raises(ValueError, match=words):
            CompetitiveLearning.restored(model.get_params(), state | changed)
    empty = CompetitiveLearning(3)
    again = CompetitiveLearning.restored(empty.get_params(), empty.state())
    assert not again.__sklearn_is_fitted__()


def test_prototypes_that_are_the_rows_tell_of_no_clusters():
    model = CompetitiveLearning(2, random_state=0).fit(np.repeat(np.eye(2, 5), 9, axis=0))
    with pytest.raises(ValueError, match="no noise, and no plateau"):
        model.advise(0.01)


@pytest.mark.parametrize("weighted", [False, True])
def test_batches_of_so_many_rows_that_prototypes_are_ruled_out(weighted):
    rows = load_digits(return_X_y=True)[0]
    weights = np.random.default_rng(0).integers(0, 3, len(rows)) if weighted else None
    given = np.ones(len(rows)) if weights is None else weights.astype(np.float64)
    clusters = CompetitiveLearning(
        80, method="batch", init=rows[:80] + 0.25, max_iter=3, random_state=0
    )
    clusters.fit(rows, sample_weight=weights)
    J = rows[:80] + 0.25
    for _ in range(3):
        labels = ((rows[:, None] - J) ** 2).sum(axis=2).argmin(axis=1)
        for k in range(80):
            if given[labels == k].any():
                J[k] = np.average(rows[labels == k], axis=0, weights=given[labels == k])
    np.testing.assert_allclose(clusters.prototypes_, J, atol=16 * 2000 * 2.0**-52)
