"""CompetitiveLearning: its steps, any chunking, what it reads out, and what it rejects."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from eigenstream import CompetitiveLearning, SelfOrganizingMap, load, open_stream, save
from eigenstream.schedules import Exponential, Power
from eigenstream.theory import OrderParameters, SymmetricPair
from members import DEGENERATE
from oracles import SHARES

pytestmark = pytest.mark.filterwarnings("ignore:X has .* distinct rows")


def blobs(n=300, width=30, seed=0):
    rng = np.random.default_rng(seed)
    centres = 4 * np.random.default_rng(9).standard_normal((6, width))
    return centres[rng.integers(6, size=n)] + rng.standard_normal((n, width))


def near(rows):
    """64 roundings a step of numbers of the size of squared rows."""
    return 64 * len(rows) * 2.0**-52 * np.nansum(rows**2, axis=1).max()


# ---- steps ---------------------------------------------------------------------------------------


def course(J, rows, assignment, rate):
    """The prototypes after every step of the sequential rule, as a textbook writes it."""
    J, counts, found = np.array(J), np.ones(len(J)), [np.array(J)]
    for t, x in enumerate(rows):
        p = SHARES[assignment](((x - J) ** 2).sum(axis=1), 3 * np.exp(-t / 200))
        counts += p
        J = J + (p / counts if rate is None else rate(t) * p)[:, None] * (x - J)
        found.append(J)
    return np.array(found)


#: Rows short enough for plain steps, and long enough for blocks.
WIDTHS = [3, 1000]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("assignment", SHARES)
def test_law_3_the_steps_and_records_are_those_of_the_sequential_rule(assignment, width):
    rows = 100.0 + blobs(300, width)  # an offset costs no precision
    start = rows[:18] + 0.1
    B = np.linalg.qr(np.random.default_rng(1).standard_normal((width, 2)))[0].T
    given = {} if assignment == "winner" else {"width": Exponential(3.0, 200.0)}
    rates = {"count": None, 0.03: lambda t: 0.03, Power(1.0, 5.0): lambda t: 1.0 / (5.0 + t)}
    for (rate, by_step), every in zip(rates.items(), (1, 7, 150), strict=True):
        model = CompetitiveLearning(
            18, assignment=assignment, init=start, learning_rate=rate, record_every=every, **given
        )
        plain = clone(model).set_params(record_every=None).fit(rows)
        J = course(start, rows, assignment, by_step)
        np.testing.assert_allclose(plain.prototypes_, J[-1], rtol=0, atol=near(rows))
        found = OrderParameters.of_history(model.fit(rows).history_, B)
        np.testing.assert_allclose(found.t * width, np.arange(0, 301, every))
        np.testing.assert_allclose(found.R, J[::every] @ B.T, rtol=0, atol=near(rows))
        far = 2 * near(rows) * np.abs(rows).max() * np.sqrt(width)
        Q = J[::every] @ J[::every].transpose(0, 2, 1)
        np.testing.assert_allclose(found.Q, Q, rtol=0, atol=far)


@pytest.mark.parametrize("rate", ["count", 0.1])
def test_a_row_of_weight_w_is_w_rows(rate):
    rows = blobs(100)
    often = np.random.default_rng(2).integers(0, 4, 100)
    one = CompetitiveLearning(4, init=rows[:4], learning_rate=rate)
    weighted = clone(one).fit(rows, sample_weight=often.astype(float))
    repeated = clone(one).fit(np.repeat(rows, often, axis=0))
    np.testing.assert_allclose(weighted.prototypes_, repeated.prototypes_, atol=4 * near(rows))
    assert weighted.inertia_ == pytest.approx(repeated.inertia_)
    assert weighted.n_steps_ == (often > 0).sum()


# ---- streams -------------------------------------------------------------------------------------

MAP = {"max_iter": 1, "shuffle": False, "n_steps": 200}
MODELS = [
    CompetitiveLearning(18),
    CompetitiveLearning(18, init_size=50, record_every=25),
    CompetitiveLearning(18, init="random", init_size=50, forgetting=0.01),
    CompetitiveLearning(18, init="random", init_size=30, learning_rate=Power(1, 10)),
    CompetitiveLearning(18, init="k-means++", init_size=20, reseed=30),
    CompetitiveLearning(18, assignment="soft", init="k-means++", init_size=20),
    CompetitiveLearning(18, assignment="rank", init_size=20, record_every=25),
    CompetitiveLearning(18, assignment="soft", init_size=20, width=Exponential(9, 30)),
    SelfOrganizingMap((4, 5), init_size=40, **MAP),
    SelfOrganizingMap(6, init="random", init_size=25, **MAP),
    SelfOrganizingMap(
        (4, 3), topology="hexagonal", neighborhood="bubble", radius=(2.0, 0.0), init_size=20, **MAP
    ),
    SelfOrganizingMap((2, 2), periodic=True, missing="partial", init_size=400, **MAP),
]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("model", MODELS, ids=range(len(MODELS)))
def test_any_chunking_is_one_pass(model, width, tmp_path):
    rows = blobs(width=width)
    rng = np.random.default_rng(1)
    weights = rng.choice([0.0, 1.0, 2.0], 300)
    model = clone(model).set_params(random_state=0)
    if model.missing == "partial":
        rows[rng.random(rows.shape) < 0.2] = np.nan
    whole = clone(model).fit(rows, sample_weight=weights)
    for edges in (range(301), [0, *np.sort(rng.integers(1, 300, 9)), 300], [0, 7, 300]):
        parts = clone(model)
        for a, b in pairwise(edges):
            if a < b:
                parts.partial_fit(rows[a:b], sample_weight=weights[a:b])
            if len(edges) < 20 and parts.__sklearn_is_fitted__():  # neither reading nor a file
                assert len(parts.prototypes_) == len(parts.counts_)  # changes anything
                save(parts, tmp_path / "model.eigs")
                parts = load(tmp_path / "model.eigs")
        np.testing.assert_allclose(parts.prototypes_, whole.prototypes_, atol=near(rows))
        np.testing.assert_allclose(parts.counts_, whole.counts_, rtol=1e-9)
        assert parts.error_ == pytest.approx(whole.error_, rel=1e-9)
        assert parts.n_steps_ == whole.n_steps_
        np.testing.assert_array_equal(parts.history_.step, whole.history_.step)
        found, expected = parts.history_.weights, whole.history_.weights
        np.testing.assert_allclose(found, expected, atol=near(rows))


def test_memory_does_not_grow_with_the_stream():
    model = CompetitiveLearning(6, init_size=100, random_state=0)
    sizes = [len(pickle.dumps(model.partial_fit(blobs(150, seed=k)))) for k in range(12)]
    assert max(sizes[2:]) - min(sizes[2:]) <= 500


def test_a_stream_is_a_pass_of_chunks_with_what_it_leaves_out():
    rows = blobs()
    due = CompetitiveLearning(6, random_state=0).fit(rows)
    spoiled = np.insert(rows, [7, 130], np.nan, axis=0)
    for source in (spoiled, iter(np.array_split(spoiled, 7))):
        stream = open_stream(source, chunk_rows=31, missing="skip")
        found = CompetitiveLearning(6, random_state=0).fit(stream)
        np.testing.assert_allclose(found.prototypes_, due.prototypes_, rtol=1e-9)
        assert found.n_samples_skipped_ == 2
        assert not hasattr(found, "labels_")
        labels = [chunk.rows for chunk in found.predict(open_stream(rows, chunk_rows=50))]
        np.testing.assert_array_equal(np.concatenate(labels), due.labels_)
    for given in ({"max_iter": 2}, {"method": "batch"}):
        model = CompetitiveLearning(6, random_state=0, **given)
        once = open_stream(iter(np.array_split(spoiled, 7)), missing="skip")
        for found in (clone(model).set_params(missing="skip").fit(spoiled), clone(model).fit(once)):
            np.testing.assert_allclose(found.prototypes_, clone(model).fit(rows).prototypes_)
            assert found.n_samples_skipped_ == 2


# ---- data ----------------------------------------------------------------------------------------


FINITE = [
    *(CompetitiveLearning(assignment=p, method=m) for p in SHARES for m in ("sequential", "batch")),
    *(
        SelfOrganizingMap((4, 4), topology=topology, training=training, radius=radius)
        for topology in ("rectangular", "hexagonal")
        for training in ("sequential", "batch")
        for radius in ("auto", 0.0, (3.0, 0.0))
    ),
]


@pytest.mark.filterwarnings("ignore:X has .* rows, fewer than")
@pytest.mark.parametrize("model", FINITE, ids=repr)
@pytest.mark.parametrize("name", DEGENERATE)
def test_law_6_degenerate_data(name, model):
    rows = DEGENERATE[name]
    model = clone(model).set_params(random_state=0).fit(rows)
    assert np.isfinite(model.prototypes_).all()
    assert np.isfinite(model.transform(rows)).all()
    assert np.isfinite([model.inertia_, model.error_]).all()
    if isinstance(model, CompetitiveLearning):
        assert 1 <= len(model.prototypes_) <= min(8, len(np.unique(rows, axis=0)))


@pytest.mark.parametrize("method", ["sequential", "batch"])
def test_law_5_rows_of_other_types_and_orders(method):
    rows = (1e4 + blobs()).astype(np.float32)
    model = CompetitiveLearning(6, method=method, random_state=0)
    due = clone(model).fit(rows.astype(np.float64))
    single = clone(model).fit(rows)
    assert single.transform(rows).dtype == np.float32
    assert single.inertia_ == pytest.approx(due.inertia_, rel=1e-5)
    for other in (rows, np.asfortranarray(rows), np.repeat(rows, 2, axis=1)[:, ::2]):
        np.testing.assert_allclose(clone(model).fit(other).prototypes_, due.prototypes_, rtol=1e-9)


# ---- reading -------------------------------------------------------------------------------------


def test_the_contract_of_clusters():
    rows = blobs()
    model = CompetitiveLearning(6, random_state=0).fit(rows)
    squares = ((rows[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    np.testing.assert_array_equal(model.labels_, squares.argmin(axis=1))
    np.testing.assert_array_equal(model.predict(rows), model.labels_)
    np.testing.assert_allclose(model.transform(rows), np.sqrt(squares), rtol=1e-9)
    assert model.inertia_ == pytest.approx(squares.min(axis=1).sum())
    weights = np.arange(300.0)
    due = -weights @ squares.min(axis=1)
    assert model.score(rows, sample_weight=weights) == pytest.approx(due)
    model.partial_fit(rows)
    assert not hasattr(model, "inertia_")


def test_vector_quantiser():
    rows = blobs()
    model = CompetitiveLearning(6, random_state=0).fit(rows)
    codes = model.quantise(rows)
    assert codes.dtype == np.uint8
    assert model.bits_per_vector_ == np.log2(6)
    errors = ((rows - model.reconstruct(codes)) ** 2).sum(axis=1)
    assert model.score(rows) == pytest.approx(-errors.sum())
    weights = np.arange(300.0)
    assert model.score(rows, sample_weight=weights) == pytest.approx(-weights @ errors)
    large = CompetitiveLearning(300, init="random").fit(blobs(400))
    assert large.quantise(rows).dtype == np.uint16
    for codes in ([0, 6], [0.5], [[0]]):
        with pytest.raises(ValueError, match="codes must be a vector of whole numbers below 6"):
            model.reconstruct(codes)


def test_the_history_has_the_loss_of_each_pass():
    """The plain sequential rule and Lloyd's algorithm as twins; chunks remove the losses."""
    rows = blobs()
    J, sums = rows[:3] + 0.1, np.zeros(2)
    plain = CompetitiveLearning(3, init=J, learning_rate=0.05, max_iter=2).fit(rows)
    for turn in range(2):
        for row in rows:
            squares = ((row - J) ** 2).sum(axis=1)
            nearest = squares.argmin()
            sums[turn] += squares[nearest]
            J[nearest] += 0.05 * (row - J[nearest])
    np.testing.assert_allclose(plain.history_.loss, sums / len(rows))
    assert plain.history_.loss.mean() == pytest.approx(plain.error_)
    batch = CompetitiveLearning(3, method="batch", init=rows[:3] + 0.1, tol=0.0).fit(rows)
    assert len(batch.history_.loss) == batch.n_iter_
    assert (np.diff(batch.history_.loss) <= 1e-12).all()
    assert batch.history_.loss[-1] == pytest.approx(batch.inertia_ / len(rows))
    waiting = CompetitiveLearning(3, random_state=0).fit(rows)  # fewer rows than FIRST
    np.testing.assert_allclose(waiting.history_.loss, [waiting.error_])
    assert plain.partial_fit(rows).history_.loss.size == 0


def test_dead_prototypes_are_listed_and_placed_again():
    rows = blobs(2000)
    far = np.vstack([rows[:1], np.full((5, 30), 1e3)])
    model = CompetitiveLearning(6, init=far, random_state=0).fit(rows)
    np.testing.assert_array_equal(model.dead_, [1, 2, 3, 4, 5])
    alive = CompetitiveLearning(6, init=far, reseed=100, random_state=0).fit(rows)
    assert alive.dead_.size == 0
    assert alive.n_reseeded_ >= 5
    assert alive.inertia_ < 0.2 * model.inertia_
    assert CompetitiveLearning(6, method="batch", random_state=0).fit(rows).dead_.size == 0


# ---- batches -------------------------------------------------------------------------------------


def test_batches_of_winners_are_those_of_k_means():
    rows = load_digits().data
    start = rows[:80] + 0.25
    ours = CompetitiveLearning(80, init=start, method="batch", tol=0).fit(rows)
    theirs = KMeans(80, init=start, n_init=1, tol=0).fit(rows)
    np.testing.assert_allclose(ours.prototypes_, theirs.cluster_centers_, atol=1e-10)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    assert ours.n_iter_ <= theirs.n_iter_ + 1
    streamed = clone(ours).fit(open_stream(rows, chunk_rows=70))
    np.testing.assert_allclose(streamed.prototypes_, ours.prototypes_, atol=1e-10)


@pytest.mark.parametrize("assignment", SHARES)
def test_a_batch_by_its_formula(assignment):
    rows = blobs()
    start, weights = rows[:6], np.random.default_rng(0).integers(1, 4, 300).astype(float)
    width = "auto" if assignment == "winner" else 1.5
    own = CompetitiveLearning(
        6, init=start, assignment=assignment, width=width, method="batch", max_iter=1
    ).fit(rows, sample_weight=weights)
    squares = ((rows[:, None] - start) ** 2).sum(axis=2)
    p = np.array([SHARES[assignment](one, 1.5) for one in squares]) * weights[:, None]
    np.testing.assert_allclose(own.prototypes_, p.T @ rows / p.sum(axis=0)[:, None], rtol=1e-9)


# ---- merging -------------------------------------------------------------------------------------


def test_merging_stands_for_the_rows_of_both():
    one, two = blobs(1500, seed=1), blobs(1500, seed=2)
    left, right = (CompetitiveLearning(6, random_state=0).fit(rows) for rows in (one, two))
    before = left.prototypes_
    both = left.merge(right)
    assert both.counts_.sum() == left.counts_.sum() + right.counts_.sum()
    assert both.n_steps_ == 3000
    np.testing.assert_array_equal(left.prototypes_, before)
    rows = np.concatenate([one, two])
    at_once = CompetitiveLearning(6, random_state=0).fit(rows)
    # Clusters that lie apart: each is the mean of its rows on both sides.
    assert -both.score(rows) <= 1.001 * -at_once.score(rows)
    assert both.partial_fit(one).n_steps_ == 4500


def test_what_cannot_be_merged():
    left = CompetitiveLearning(6, random_state=0).fit(blobs())
    narrow = CompetitiveLearning(6, random_state=0).fit(blobs(width=9))
    for other in (CompetitiveLearning(6), KMeans(2), None, narrow):
        with pytest.raises(TypeError, match="merge takes another CompetitiveLearning fitted to"):
            left.merge(other)
    with pytest.raises(ValueError, match="n_prototypes=6, the other with n_prototypes=5"):
        left.merge(CompetitiveLearning(5, random_state=0).fit(blobs()))


# ---- bad parameters ------------------------------------------------------------------------------

BAD = [
    ({"learning_rate": 1.5}, r"learning_rate must be a number in \(0, 1\]"),
    ({"learning_rate": "fast"}, "learning_rate must be 'count', a number"),
    ({"learning_rate": lambda t: 0.5 + t}, "learning rate is 1.5 at step 1. Use rates"),
    ({"n_prototypes": 10**12}, "GiB, but this machine has"),
    ({"assignment": "soft", "width": -1}, "width must be a number"),
    ({"assignment": "soft", "width": lambda t: np.nan}, "gave the width nan at step 0"),
    ({"init": "far"}, "'init' parameter .* must be a str among .*'k-means'.* or an array-like"),
    ({"init": np.zeros((3, 4))}, r"init must have shape \(8, n_features\), got \(3, 4\)"),
    ({"init": np.zeros((8, 4))}, r"init must have shape \(8, 30\), got \(8, 4\)"),
    ({"init": np.full((8, 30), np.inf)}, "init contains infinity at row 0"),
]


@pytest.mark.parametrize(("given", "words"), BAD, ids=range(len(BAD)))
def test_bad_parameters_raise_and_change_nothing(given, words):
    model = CompetitiveLearning().set_params(**given)
    for name in ("fit", "partial_fit"):
        if hasattr(model, name):
            with pytest.raises((ValueError, TypeError), match=words):
                getattr(model, name)(blobs())
        assert not model.__sklearn_is_fitted__()


def test_a_rate_above_one_is_rejected_before_the_chunk_is_learned():
    model = CompetitiveLearning(2, init=blobs(2), learning_rate=lambda t: (1 + t) / 50)
    before = model.partial_fit(blobs(45)).prototypes_
    with pytest.raises(ValueError, match=r"The learning rate is 1\.02 at step 50"):
        model.partial_fit(blobs(45))
    np.testing.assert_array_equal(model.prototypes_, before)
    assert model.n_steps_ == 45


@pytest.mark.parametrize("method", ["sequential", "batch"])
def test_rows_that_are_all_left_out_raise(method):
    model, rows = CompetitiveLearning(3, method=method), np.full((9, 3), np.nan)
    for given, weights, missing in (
        (open_stream(rows, missing="skip"), None, "raise"),
        (rows, None, "skip"),
        (blobs(), np.zeros(300), "raise"),
    ):
        with pytest.raises(ValueError, match="Every row has weight zero"):
            clone(model).set_params(missing=missing).fit(given, sample_weight=weights)


# ---- advice: tests/theory/dynamics has the equations and the rule --------------------------------


def clusters(rng, m, width, b):
    """Rows of the paper's model: two clusters at b B_1 and b B_2, variance 1."""
    rows = rng.standard_normal((m, width))
    rows[np.arange(m), rng.integers(2, size=m)] += b
    return rows


def test_advice_is_that_of_the_theory_for_the_separation_of_the_means():
    N, b, rate = 200, 1.6, 0.008
    rows = clusters(np.random.default_rng(1), 12_000, N, b) * 2.0 + 1.0
    means = CompetitiveLearning(2, method="batch", random_state=0).fit(rows)
    expected = SymmetricPair(b).advise(rate * N, n_features=N)
    assert means.advise(rate).examples == pytest.approx(expected.examples, rel=0.1)


def test_advice_needs_two_prototypes_of_k_means_or_a_separation():
    rows = clusters(np.random.default_rng(0), 500, 20, 2.0)
    for model in (CompetitiveLearning(3, method="batch"), CompetitiveLearning(2)):
        with pytest.raises(ValueError, match=r"method='batch'.*, or pass separation="):
            model.fit(rows).advise(0.01)
    given = CompetitiveLearning(2).fit(rows).advise(0.01, separation=2.0 * 2**0.5)
    assert given.examples == SymmetricPair(2.0).advise(0.2, n_features=20).examples
    equal = CompetitiveLearning(2, method="batch", random_state=0)
    with pytest.raises(ValueError, match="so there is no noise"):
        equal.fit(np.repeat(np.eye(2, 5), 9, axis=0)).advise(0.01)
