"""Fits of Dask data equal fits in one process, for any blocks, lags, weights and sequences."""

import os

import dask
import dask.array as da
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from eigenstream import (
    ClassSubspace,
    CompetitiveLearning,
    ContrastSubspace,
    OjaNeuron,
    PairSubspace,
    RBFNetwork,
    SelfOrganizingMap,
    Sketch,
    SlowSubspace,
    StreamPCA,
    open_stream,
    sample_pairs,
)
from eigenstream.distributed import fit, parts
from eigenstream.evaluation import balanced_risk, one_shot_error, pair_roc, scores
from eigenstream.subspace import matrices, pair_risks

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((240, 4)).cumsum(axis=0) + 5.0
LABELS = RNG.integers(0, 3, 240)
ROWS[:, 1] += 20.0 * LABELS


@pytest.fixture(autouse=True, scope="module")
def tiny_parts():
    """Each block is a separate task of one of five parts, and tasks run in this thread."""
    with pytest.MonkeyPatch.context() as patch, dask.config.set(scheduler="synchronous"):
        patch.setattr(parts, "PART_VALUES", 1)
        patch.setattr(os, "cpu_count", lambda: 5)
        yield


def cut(values, lengths):
    """The Dask array of these values in blocks of these lengths."""
    values = np.asarray(values)
    return da.from_array(values, chunks=(tuple(lengths), *values.shape[1:]))


def lengths_of(draw, n):
    """Drawn lengths of blocks, which may be empty."""
    cuts = sorted(draw(st.lists(st.integers(0, n), max_size=12)))
    return tuple(np.diff([0, *cuts, n]).tolist())


def assert_equal_sums(one, other):
    """The two estimators hold the same sums, to rounding."""
    for name in ("n_samples_seen_", "n_samples_skipped_"):
        assert getattr(one, name) == getattr(other, name)
    np.testing.assert_allclose(one.mean_, other.mean_, rtol=1e-10, atol=1e-12)
    for name in ("reward", "penalty"):
        left, right = getattr(matrices(one), name), getattr(matrices(other), name)
        np.testing.assert_allclose(left, right, rtol=0, atol=1e-10 * max(np.abs(left).max(), 1e-3))
    assert one._learner.with_all_rows().terms.totals() == pytest.approx(
        other._learner.with_all_rows().terms.totals(), rel=1e-12
    )


@given(st.data())
@pytest.mark.filterwarnings("ignore:only .* eigenvalues are positive")
def test_rows_in_time(data):
    lag, draw = data.draw(st.sampled_from([0, 1, 3, 10])), data.draw
    model = StreamPCA(2, missing="skip")
    if lag:
        model = SlowSubspace(2, alpha=0.5, lag=lag, missing="skip")
    sizes = draw(st.lists(st.integers(lag + 2, 60), min_size=1, max_size=3))
    rows = [ROWS[k : k + n].copy() for k, n in enumerate(sizes)]
    for one in rows[: draw(st.integers(0, len(rows)))]:
        one[draw(st.integers(0, len(one) - 1)), 1] = np.nan
    # If many of a few rows are skipped, the fit raises.
    assume(sum(np.isnan(one).any() for one in rows) <= 0.1 * sum(sizes))
    weights = [RNG.choice([0.0, 0.5, 1.0, 2.0], n) for n in sizes] if draw(st.booleans()) else None
    if weights is not None:
        for w in weights:
            w[: lag + 2] = 1.0
    lengths = [lengths_of(draw, n) for n in sizes]
    spread = [cut(one, n) for one, n in zip(rows, lengths, strict=True)]
    of_blocks = weights
    if weights is not None and draw(st.booleans()):
        of_blocks = [da.from_array(w, chunks=draw(st.integers(1, 60))) for w in weights]
    whole = type(model)(**model.get_params()).fit(rows, sample_weight=weights)
    assert_equal_sums(whole, model.fit(spread, sample_weight=of_blocks))


@settings(max_examples=6)
@given(st.data())
def test_labels_and_pairs_and_two_sets(data):
    lengths = lengths_of(data.draw, 240)
    weights, groups = RNG.random(240), RNG.integers(0, 2, 240)
    X, y = cut(ROWS, lengths), cut(LABELS, (100, 140))
    beside = {"sample_weight": weights, "groups": groups}
    whole = ClassSubspace(1, criterion="difference", eta=1.0).fit(ROWS, LABELS, **beside)
    assert_equal_sums(whole, ClassSubspace(1, criterion="difference", eta=1.0).fit(X, y, **beside))

    index, signs = sample_pairs(LABELS, 240, random_state=0)
    whole = PairSubspace(1).fit(ROWS[index], signs, weights)
    found = PairSubspace(1).fit(cut(ROWS[index], lengths), signs, da.from_array(weights, chunks=50))
    assert_equal_sums(whole, found)
    assert found.eta_ == whole.eta_
    assert pair_risks(found).risk == pytest.approx(pair_risks(whole).risk)
    by_number = PairSubspace(1, criterion="difference", eta=1.0, preprocessor=ROWS).fit(
        cut(index, lengths), signs, weights
    )
    assert_equal_sums(whole, by_number)

    background = RNG.standard_normal((50, 4))
    whole = ContrastSubspace(2).fit(ROWS, background=background)
    lazy = cut(background, (7, 43))
    assert_equal_sums(whole, ContrastSubspace(2).fit(X, background=lazy))
    stream, other = open_stream(ROWS, chunk_rows=31), open_stream(background, chunk_rows=9)
    for one in (other, lazy):
        assert_equal_sums(whole, fit(ContrastSubspace(2), stream, background=one))


def test_frames_of_unknown_lengths_and_delayed_chunks():
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(ROWS, columns=list("abcd")).assign(label=LABELS)
    spread = dd.from_pandas(frame, npartitions=7)
    spread = spread[spread.a > 3.0]  # some partitions become empty
    frame = frame[frame.a > 3.0]
    whole = SlowSubspace(2).fit(frame[list("abcd")])
    found = SlowSubspace(2).fit(spread[list("abcd")])
    assert_equal_sums(whole, found)
    assert found.feature_names_in_.tolist() == list("abcd")
    Z = found.transform(spread[list("abcd")])
    np.testing.assert_allclose(Z.compute(), whole.transform(frame[list("abcd")]))
    whole = ClassSubspace(2).fit(frame[list("abcd")], frame.label)
    assert_equal_sums(whole, ClassSubspace(2).fit(spread[list("abcd")], spread.label))
    with pytest.raises(ValueError, match=r"the blocks of X have nan\. .* y as a Dask collection"):
        ClassSubspace(2).fit(spread[list("abcd")], LABELS)
    with pytest.raises(ValueError, match=r"columns that are not numbers: 'word'"):
        StreamPCA(2).fit(spread.assign(word="x"))

    chunks = [dask.delayed(ROWS[at : at + 7]) for at in range(0, 240, 7)]
    assert_equal_sums(SlowSubspace(2).fit(ROWS), SlowSubspace(2).fit(chunks))


RUNS = [ROWS[:100] + 50.0, ROWS[100:] - 50.0]
MAP = FrozenEstimator(RBFNetwork(8, random_state=0).fit(ROWS))


@pytest.mark.parametrize(
    ("model", "rows", "blocks"),
    [
        (StreamPCA(2), ROWS, da.from_array(ROWS, chunks=(50, 2))),  # blocks of columns
        (SlowSubspace(2, features=MAP), ROWS, cut(ROWS, (3, 100, 137))),
        (
            SlowSubspace(2, center="sequences"),
            RUNS,
            [cut(run, (17, 0, len(run) - 17)) for run in RUNS],
        ),
    ],
    ids=repr,
)
def test_blocks_of_columns_maps_and_means_of_sequences(model, rows, blocks):
    assert_equal_sums(clone(model).fit(rows), clone(model).fit(blocks))


@pytest.mark.parametrize("assignment", ["winner", "soft", "rank"])
def test_batch_clusters(assignment):
    how = {"method": "batch", "assignment": assignment, "random_state": 0, "missing": "skip"}
    rows, weights = ROWS.copy(), RNG.choice([0.0, 1.0, 2.0], 240)
    rows[::37, 1] = np.nan
    whole = CompetitiveLearning(5, **how).fit(rows, sample_weight=weights)
    found = CompetitiveLearning(5, **how).fit(cut(rows, (90, 0, 100, 50)), sample_weight=weights)
    np.testing.assert_allclose(found.prototypes_, whole.prototypes_, atol=1e-10)
    np.testing.assert_allclose(found.counts_, whole.counts_)
    for name in ("n_iter_", "n_steps_", "n_samples_skipped_"):
        assert getattr(found, name) == getattr(whole, name)
    np.testing.assert_array_equal(found.dead_, whole.dead_)
    assert found.predict(cut(ROWS, (100, 140))).compute().tolist() == found.predict(ROWS).tolist()


@pytest.mark.parametrize("missing", ["raise", "partial"])
def test_batch_maps(missing):
    how = {"training": "batch", "random_state": 0, "missing": missing, "max_iter": 4}
    rows = ROWS.copy()
    if missing == "partial":
        rows[::37, 1] = np.nan
    whole = SelfOrganizingMap((4, 3), **how).fit(open_stream(rows, missing="raise"))
    found = SelfOrganizingMap((4, 3), **how).fit(cut(rows, (90, 0, 100, 50)))
    side = SelfOrganizingMap(**how).fit(rows).grid_.shape
    assert SelfOrganizingMap(**how).fit(cut(rows, (90, 0, 100, 50))).grid_.shape == side
    with pytest.raises(ValueError, match="scale=True needs all rows"):
        SelfOrganizingMap(scale=True, **how).fit(cut(rows, (90, 0, 100, 50)))
    np.testing.assert_allclose(found.prototypes_, whole.prototypes_, atol=1e-10)
    np.testing.assert_allclose(found.hits(), whole.hits())
    for name in ("quantization_error_", "topographic_error_", "error_"):
        assert getattr(found, name) == pytest.approx(getattr(whole, name))


def test_nothing_is_lost_by_errors():
    model = StreamPCA(2).fit(ROWS)
    before = model._learner
    bad = ROWS.copy()
    bad[123, 2] = np.nan
    X, unknown = cut(bad, (100, 140)), cut(bad, (100, 140))
    unknown._chunks = ((np.nan, np.nan), (4,))
    named = {
        "X contains NaN at row 123, column 2": lambda: model.fit(X),
        "block 1 of X contains NaN at row 23, column 2": lambda: model.fit(unknown),
        "sequence 1 contains NaN at row 123": lambda: model.fit([cut(ROWS, (240,)), X]),
        "from row 100: y must be": lambda: PairSubspace(1).fit(
            cut(ROWS[:, None].repeat(2, 1), (100, 140)), np.r_[np.ones(239), 3.0]
        ),
        "y has 3 rows in memory, and the blocks of X have 240": lambda: ClassSubspace(2).fit(
            cut(ROWS, (240,)), [0, 1, 2]
        ),
        "checkpoint= is not supported": lambda: model.fit(X, checkpoint="file"),
        "groups= is not supported": lambda: fit(model, X, groups=LABELS),
        "not supported by solver='flow'": lambda: StreamPCA(2, solver="flow").fit(X),
        "forgetting=0.1 needs all rows in one": lambda: StreamPCA(
            2, solver=Sketch(forgetting=0.1)
        ).fit(X),
        "must be fitted before a fit of Dask": lambda: StreamPCA(2, features=RBFNetwork(8)).fit(X),
        "can be read only once": lambda: fit(model, open_stream(iter([ROWS]))),
    }
    for words, call in named.items():
        with pytest.raises(ValueError, match=words):
            call()
    for sequential in (OjaNeuron(), CompetitiveLearning(3), SelfOrganizingMap((3, 3))):
        with pytest.raises(TypeError, match=r"row by row .*Use StreamPCA.*method='batch'"):
            sequential.fit(X)
    assert model._learner is before


def test_results_are_lazy():
    X = cut(ROWS, (100, 140))
    model = StreamPCA(2).fit(X)
    Z = model.transform(X)
    assert isinstance(Z, da.Array)
    assert Z.chunks == ((100, 140), (2,))
    np.testing.assert_allclose(Z.compute(), model.transform(ROWS))
    single = model.transform(X.astype(np.float32))
    assert single.dtype == single.compute().dtype == np.float32
    assert model.transform([X, X])[1].shape == (240, 2)


@settings(max_examples=20)
@given(st.integers(0, 2**16), st.integers(9, 300), st.integers(1, 400), st.integers(1, 64))
def test_the_pairs_of_scores_are_shared(seed, n, block, n_threads):
    rng = np.random.default_rng(seed)
    Z, labels = rng.standard_normal((n, 2)).round(1), rng.permutation(n) % 4
    lazy = da.from_array(Z, chunks=(block, 2)), da.from_array(labels, chunks=block)

    def values(score, *given):
        result = score(*given)
        fields = [result] if isinstance(result, float) else vars(result).values()
        return np.hstack([np.ravel(field) for field in fields])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "cpu_count", lambda: n_threads)
        patch.setattr(scores, "EXACT_PAIRS", 0)
        for score in (pair_roc, one_shot_error, balanced_risk):
            np.testing.assert_allclose(values(score, *lazy), values(score, Z, labels), rtol=1e-9)


@given(st.data())
def test_parts_of_a_stream_are_read_apart(data):
    joined = data.draw(st.booleans())
    lengths = data.draw(st.lists(st.integers(1, 30), min_size=1, max_size=4))
    sources = [ROWS[k : k + n] for k, n in enumerate(lengths)]
    how = {"sequence": False} if joined else {}
    stream = open_stream(sources, chunk_rows=data.draw(st.integers(1, 40)), **how)
    n_parts = data.draw(st.integers(1, 8))
    split = [chunk for part in stream.split(n_parts) for chunk in part]
    np.testing.assert_array_equal(
        np.concatenate([chunk.rows for chunk in split]),
        np.concatenate([chunk.rows for chunk in stream]),
    )
    places = [(c.source, c.first_row) for c in split if c.new_sequence]
    assert places == [(c.source, c.first_row) for c in stream if c.new_sequence]
    assert all(part.n_rows == sum(map(len, part)) for part in stream.split(n_parts))


@pytest.mark.parametrize("ending", ["npy", "csv", "csv.gz"])
@pytest.mark.parametrize("joined", [False, True])
def test_files(tmp_path, ending, joined):
    for k in range(4):
        part = ROWS[60 * k : 60 * k + 60]
        path = tmp_path / f"part{k}.{ending}"
        if ending == "npy":
            np.save(path, part)
        else:
            np.savetxt(path, part, delimiter=",", header="a,b,c,d", comments="")
    how = {"sequence": False} if joined else {}
    path = str(tmp_path / f"*.{ending}")
    whole = SlowSubspace(2, lag=3).fit(open_stream(path, **how))
    found = fit(SlowSubspace(2, lag=3), open_stream(path, **how))
    assert_equal_sums(whole, found)
    assert found.provenance_ == whole.provenance_
    if ending == "npy":
        whole = ClassSubspace(1, criterion="difference", eta=1.0).fit(ROWS, LABELS)
        labelled = fit(ClassSubspace(1, criterion="difference", eta=1.0), open_stream(path), LABELS)
        assert_equal_sums(whole, labelled)
