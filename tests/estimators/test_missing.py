"""Rows that lack values: left out, counted, and said when they are many."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import oracles
from eigenstream import ClassSubspace, PairMetric, PairSubspace, RBFNetwork, SlowSubspace, StreamPCA
from eigenstream.learners.online import FlowMonitor

ROWS = oracles.slow_sources(m=200)
LEARNERS = [
    StreamPCA(2, missing="skip"),
    StreamPCA(2, missing="skip", solver="krylov"),
    StreamPCA(2, missing="skip", solver="flow"),
    SlowSubspace(2, alpha=0.9, missing="skip"),
    SlowSubspace(2, alpha=0.9, missing="skip", solver="krylov"),
    SlowSubspace(2, alpha=0.9, missing="skip", solver="flow"),
]
every_learner = pytest.mark.parametrize("learner", LEARNERS, ids=repr)


def with_holes(share, columns=(3,)):
    """Rows of which this share lacks a value, in these columns by turns."""
    rows = ROWS.copy()
    places = np.linspace(5, 190, round(share * len(rows))).astype(int)
    for k, place in enumerate(places):
        rows[place, columns[k % len(columns)]] = np.nan
    return rows


@every_learner
def test_few_rows_are_left_out_without_a_word(learner):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = clone(learner).fit(with_holes(0.09))
    assert (model.n_samples_skipped_, model.n_samples_seen_) == (18, 182)
    assert clone(learner).fit(ROWS).n_samples_skipped_ == 0


@every_learner
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_from_one_in_ten_on_there_is_a_warning_with_the_cause(learner, container):
    with pytest.warns(UserWarning, match=r"left out 20 of 200 rows \(10%\)") as caught:
        model = clone(learner).fit(container(with_holes(0.1)))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert "In 20 of them column 3 alone is missing: leave it out" in str(caught[0].message)
    assert (model.n_samples_skipped_, model.n_samples_seen_) == (20, 180)


def test_the_sensor_is_named():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(with_holes(0.3), columns=[f"sensor {k}" for k in range(8)])
    with pytest.warns(UserWarning, match="column 'sensor 3' alone is missing"):
        StreamPCA(2, missing="skip").fit(frame)


def test_no_column_is_blamed_for_what_several_did():
    with pytest.warns(UserWarning, match="left out 60 of 200 rows") as caught:
        StreamPCA(2, missing="skip").fit(with_holes(0.3, columns=(1, 2)))
    assert "alone" not in str(caught[0].message)
    both = with_holes(0.3, columns=(1,))
    both[np.isnan(both[:, 1]), 2] = np.inf
    with pytest.warns(UserWarning, match="left out 60") as caught:
        StreamPCA(2, missing="skip").fit(both)
    assert "alone" not in str(caught[0].message)


@pytest.mark.parametrize("learner", [one for one in LEARNERS if one.solver != "krylov"], ids=repr)
def test_a_stream_warns_once(learner):
    rows, model = with_holes(0.2), clone(learner)
    rows[0] = np.nan  # one of one: no reason to be alarmed yet
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for row in rows:
            model.partial_fit(row[None])
    assert [str(one.message)[:32] for one in caught] == ["missing='skip' left out 3 of 10 "]
    assert (model.n_samples_skipped_, model.n_samples_seen_) == (41, 159)


def test_merged_counts_add_up():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = [StreamPCA(2, missing="skip").fit(with_holes(share)) for share in (0.1, 0.2)]
    merged = parts[0].merge(parts[1])
    assert (merged.n_samples_skipped_, merged.n_samples_seen_) == (60, 340)


def test_rows_after_the_hook_stopped_are_not_counted_as_left_out():
    rows = np.tile(with_holes(0.05), (40, 1))
    monitor = FlowMonitor(500, stop=lambda progress: progress.step > 2000)
    model = StreamPCA(2, missing="skip", solver="flow", hook=monitor).fit(rows)
    seen, skipped = model.n_samples_seen_, model.n_samples_skipped_
    assert seen == monitor.history[-1].step
    assert skipped == int(np.isnan(rows[: seen + skipped]).any(axis=1).sum())


@pytest.mark.filterwarnings("ignore:missing='skip' left out")
@pytest.mark.parametrize("learner", LEARNERS[3:], ids=repr)
def test_no_two_neighbours_give_no_velocity(learner):
    rows = ROWS.copy()
    rows[::2] = np.nan
    with pytest.raises(ValueError, match=r"no velocity is left to learn from.*lag=1 apart"):
        clone(learner).fit(rows)
    with pytest.raises(ValueError, match="no velocity is left"):
        clone(learner).fit(ROWS, sample_weight=np.arange(200) % 2)
    assert clone(learner).set_params(lag=2).fit(rows).n_samples_seen_ == 100
    # PCA needs none.
    assert clone(learner).set_params(alpha=1.0).fit(rows).n_samples_seen_ == 100
    if learner.solver != "krylov":
        stream = clone(learner)
        for start in range(0, 200, 7):
            stream.partial_fit(rows[start : start + 7])
        with pytest.raises(NotFittedError, match="no velocity is left"):
            _ = stream.components_


@pytest.mark.filterwarnings("ignore:missing='skip' left out")
@pytest.mark.parametrize("options", [{"alpha": "auto"}, {"criterion": "ratio"}])
def test_nor_with_an_automatic_alpha_or_a_ratio(options):
    rows = ROWS.copy()
    rows[::2] = np.nan
    with pytest.raises(ValueError, match="no velocity is left"):
        SlowSubspace(2, missing="skip", **options).fit(rows)


LABELS = np.arange(200) % 4


@pytest.mark.parametrize("solver", ["dense", "krylov", "flow"])
def test_labelled_rows_are_counted(solver):
    learner = ClassSubspace(2, eta=2.0, missing="skip", solver=solver)
    with pytest.warns(UserWarning, match="20 of 200 rows.*column 3 alone is missing"):
        model = learner.fit(with_holes(0.1), LABELS)
    assert (model.n_samples_skipped_, model.n_samples_seen_) == (20, 180)
    if solver == "dense":
        with pytest.warns(UserWarning, match="left out 20 of 200"):
            twice = clone(learner).partial_fit(with_holes(0.1), LABELS)
        twice.partial_fit(with_holes(0.3), LABELS)  # said once
        assert twice.n_samples_skipped_ == 80
        assert model.merge(twice).n_samples_seen_ == 600 - 100


@pytest.mark.parametrize("indexed", [False, True])
def test_pairs_are_counted(indexed):
    rows = with_holes(0.1)
    index = np.stack([np.arange(200), (np.arange(200) + 1) % 200], axis=1)
    signs = np.where(LABELS < 2, 1, -1)
    learner = PairSubspace(2, eta=2.0, missing="skip", preprocessor=rows if indexed else None)
    pairs = index if indexed else rows[index]
    spoiled = np.isnan(rows[index]).any(axis=(1, 2)).sum()
    with pytest.warns(UserWarning, match=f"left out {spoiled} of 200 pairs.*column 3 alone"):
        model = learner.fit(pairs, signs)
    assert (model.n_samples_skipped_, model.n_samples_seen_) == (spoiled, 200 - spoiled)
    metric = PairMetric(missing="skip", preprocessor=rows if indexed else None, max_iter=20)
    with pytest.warns(UserWarning, match=f"left out {spoiled} of 200 pairs.*column 3 alone"):
        assert metric.fit(pairs, signs).n_samples_skipped_ == spoiled


@pytest.mark.filterwarnings("ignore:missing='skip' left out")
def test_labelled_rows_that_are_left_out_are_no_prototypes():
    rows = with_holes(0.3)
    network = RBFNetwork(140, gamma="median", random_state=0)
    model = ClassSubspace(1, eta=2.0, features=network, missing="skip").fit(rows, LABELS)
    whole = rows[~np.isnan(rows).any(axis=1)]
    np.testing.assert_array_equal(model.features_.prototypes_, whole)
    grown = ClassSubspace(1, eta=2.0, features=network, missing="skip")
    for part in np.array_split(np.arange(200), 7):
        grown.partial_fit(rows[part], LABELS[part])
    np.testing.assert_array_equal(grown.features_.prototypes_, whole[: len(whole)][:140])
