"""Bad input: refusals say what, where and how to mend it, and leave the learner as it was."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import oracles
from eigenstream import SlowSubspace, StreamPCA

ROWS = oracles.slow_sources(m=60)


def with_value(value, row, column):
    rows = ROWS.copy()
    rows[row, column] = value
    return rows


REFUSED_ROWS = [
    (ROWS[0], "has shape .*Reshape your data"),
    (ROWS[None], r"X has shape \(1, 60, 8\), not \(n_rows, n_features\)"),
    (np.empty((0, 8)), r"0 sample\(s\)"),
    (np.empty((5, 0)), r"0 feature\(s\)"),
    (with_value(np.nan, 12, 3), r"NaN at row 12, column 3\..*missing='skip'"),
    (with_value(-np.inf, 59, 0), r"infinity at row 59, column 0\."),
    (sp.csr_array(with_value(np.nan, 12, 3)), r"NaN at row 12, column 3\."),
    (with_value(1e200, 5, 5), "squares overflow"),
    (ROWS + 1j, "Complex data not supported"),
    ([["a", "b"], ["c", "d"]], "could not convert string to float|dtype='numeric'"),
]


@pytest.mark.parametrize("learner", [StreamPCA(2), SlowSubspace(2)], ids=repr)
@pytest.mark.parametrize(("rows", "message"), REFUSED_ROWS, ids=[m for _, m in REFUSED_ROWS])
class TestRows:
    def test_fit_refuses(self, learner, rows, message):
        model = clone(learner)
        with pytest.raises((ValueError, TypeError), match=message):
            model.fit(rows)
        assert vars(model) == vars(clone(learner)), "a refused fit left something behind"

    def test_partial_fit_refuses_and_stays_as_it_was(self, learner, rows, message):
        model = clone(learner).partial_fit(ROWS[:30])
        before, width = model.components_.copy(), model.n_features_in_
        with pytest.raises((ValueError, TypeError), match=f"{message}|features"):
            model.partial_fit(rows)
        np.testing.assert_array_equal(model.components_, before)
        assert model.n_features_in_ == width
        model.partial_fit(ROWS[30:])
        np.testing.assert_allclose(
            model.components_, clone(learner).fit(ROWS).components_, atol=1e-10
        )


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (StreamPCA(0), "'n_components' parameter of StreamPCA must be an int.*Got 0"),
        (StreamPCA(1.5), r"Got 1\.5"),
        (StreamPCA(9), "n_components=9 exceeds the number of features, 8"),
        (SlowSubspace(9), "n_components=9 exceeds the number of features, 8"),
        (SlowSubspace(0.5), r"n_components=0\.5 is a share of the kinetic variance\. Use"),
        (StreamPCA(0.5, solver="krylov"), r"solver=Dense\(\)"),
        (SlowSubspace(2, alpha=0), "Got 0 instead"),
        (SlowSubspace(2, alpha=float("nan")), "Got nan"),
        (SlowSubspace(2, alpha="best"), "Got 'best'"),
        (SlowSubspace(2, lag=60), "n_samples=60.*lag=60 takes at least 61 rows"),
        (SlowSubspace(2, criterion="ratio", solver="krylov"), r"solver=Dense\(\)"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_parameters(learner, message):
    with pytest.raises((ValueError, TypeError), match=message):
        learner.fit(ROWS)


def test_sequences_are_named():
    short = [ROWS, ROWS[:3], ROWS]
    with pytest.raises(ValueError, match=r"sequence 1 has n_samples=3.*at least 4 rows"):
        SlowSubspace(2, lag=3).fit(short)
    with pytest.raises(ValueError, match=r"sequence 2: X has 7 features.*expecting 8"):
        StreamPCA(2).fit([ROWS, ROWS, ROWS[:, :7]])
    with pytest.raises(ValueError, match=r"sequence 1 contains NaN at row 4, column 0"):
        StreamPCA(2).fit([ROWS, with_value(np.nan, 4, 0)])
    with pytest.raises(ValueError, match="sequence 1"):
        StreamPCA(2).fit([ROWS, np.empty((0, 8))])


def test_a_later_chunk_of_another_width():
    with pytest.raises(ValueError, match="X has 5 features, but StreamPCA is expecting 8"):
        StreamPCA(2).partial_fit(ROWS).partial_fit(ROWS[:, :5])


def test_weights():
    for weights, message in [
        (np.ones(59), r"got shape \(59,\)"),
        (-np.ones(60), r"must not be negative, got -1\.0 at row 0"),
        (np.full(60, np.nan), "not finite at row 0"),
        (np.zeros(60), "Every row has weight zero"),
    ]:
        with pytest.raises(ValueError, match=message):
            StreamPCA(2).fit(ROWS, sample_weight=weights)


def test_merging_what_does_not_belong_together():
    left = SlowSubspace(2).fit(ROWS)
    with pytest.raises(ValueError, match="with lag=1, the other with lag=2"):
        left.merge(SlowSubspace(2, lag=2).fit(ROWS))
    with pytest.raises(ValueError, match="8 features, the other 5"):
        left.merge(SlowSubspace(2).fit(ROWS[:, :5]))


@pytest.mark.parametrize("solver", ["dense", "flow"])
def test_a_new_sequence_is_true_or_false(solver):
    model = SlowSubspace(2, alpha=0.5, solver=solver).partial_fit(ROWS[:30])
    with pytest.raises(TypeError, match="new_sequence must be True or False, got 'no'"):
        model.partial_fit(ROWS[30:], new_sequence="no")
    assert model.n_samples_seen_ == 30
    if solver == "dense":
        with pytest.raises(TypeError, match="new_sequence must be True or False"):
            model.merge(model, new_sequence=1)
