"""Rows that lack values: left out, counted, and said when they are many."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import oracles
from eigenstream import (
    ClassSubspace,
    DynamicSubspace,
    PairMetric,
    PairSubspace,
    SlowSubspace,
    StreamPCA,
)

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
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_from_one_in_ten_on_there_is_a_warning_with_the_cause(learner, container):
    with pytest.warns(UserWarning, match=r"left out 20 of 200 rows \(10%\)") as caught:
        model = clone(learner).fit(container(with_holes(0.1)))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert "In 20 of them only column 3 is missing. Drop" in str(caught[0].message)
    assert (model.n_samples_skipped_, model.n_samples_seen_) == (20, 180)


@pytest.mark.filterwarnings("ignore:missing='skip' left out")
@pytest.mark.parametrize(
    "learner",
    [
        *LEARNERS[3:],
        SlowSubspace(2, criterion="ratio", reversible=True, missing="skip"),
        DynamicSubspace(2, missing="skip"),
    ],
    ids=repr,
)
def test_no_two_neighbours_give_no_velocity(learner):
    rows = ROWS.copy()
    rows[::2] = np.nan
    with pytest.raises(ValueError, match="No velocity at lag=1 is available"):
        clone(learner).fit(rows)
    with pytest.raises(ValueError, match="No velocity at lag"):
        clone(learner).fit(ROWS, sample_weight=np.arange(200) % 2)
    assert clone(learner).set_params(lag=2).fit(rows).n_samples_seen_ == 100
    if getattr(learner, "criterion", "ratio") == "difference":  # PCA needs none
        assert clone(learner).set_params(alpha=1.0).fit(rows).n_samples_seen_ == 100
    if learner.solver != "krylov":
        stream = clone(learner)
        for start in range(0, 200, 7):
            stream.partial_fit(rows[start : start + 7])
        with pytest.raises(NotFittedError, match="No velocity at lag"):
            _ = stream.components_


LABELS = np.arange(200) % 4


@pytest.mark.parametrize("solver", ["dense", "krylov", "sketch"])
def test_labelled_rows_are_counted(solver):
    learner = ClassSubspace(2, criterion="difference", eta=2.0, missing="skip", solver=solver)
    with pytest.warns(UserWarning, match="20 of 200 rows.*only column 3 is missing"):
        model = learner.fit(with_holes(0.1), LABELS)
    assert (model.n_samples_skipped_, model.n_samples_seen_) == (20, 180)
    if solver == "dense":
        with pytest.warns(UserWarning, match="left out 20 of 200"):
            twice = clone(learner).partial_fit(with_holes(0.1), LABELS)
        twice.partial_fit(with_holes(0.3), LABELS)  # said once
        assert model.merge(twice).n_samples_skipped_ == 20 + 80


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.filterwarnings("ignore:PairMetric did not converge")
def test_pairs_are_counted(indexed):
    rows = with_holes(0.1)
    index = np.stack([np.arange(200), (np.arange(200) + 1) % 200], axis=1)
    signs = np.where(LABELS < 2, 1, -1)
    learner = PairSubspace(
        2, criterion="difference", eta=2.0, missing="skip", preprocessor=rows if indexed else None
    )
    pairs = index if indexed else rows[index]
    spoiled = np.isnan(rows[index]).any(axis=(1, 2)).sum()
    with pytest.warns(UserWarning, match=f"left out {spoiled} of 200 pairs.*only column 3"):
        model = learner.fit(pairs, signs)
    assert (model.n_samples_skipped_, model.n_samples_seen_) == (spoiled, 200 - spoiled)
    metric = PairMetric(missing="skip", preprocessor=rows if indexed else None, max_iter=20)
    with pytest.warns(UserWarning, match=f"left out {spoiled} of 200 pairs.*only column 3"):
        assert metric.fit(pairs, signs).n_samples_skipped_ == spoiled
