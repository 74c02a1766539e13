"""Bad input: refusals say what, where and how to mend it, and leave the learner as it was."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import oracles
from eigenstream import OjaNeuron, PairSubspace, RBFNetwork, SlowSubspace, StreamPCA
from eigenstream.features import GradientOrientation

ROWS = oracles.slow_sources(m=60)


def with_value(value, row, column):
    rows = ROWS.copy()
    rows[row, column] = value
    return rows


REFUSED_ROWS = [
    (ROWS[0], "Expected 2D array, got 1D array"),
    (ROWS[None], "dim 3"),
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
        (StreamPCA(0), "n_components must be a whole number of at least 1, got 0"),
        (StreamPCA(-3), "at least 1"),
        (StreamPCA(1.5), r"share of the variance\) must be a number in \(0, 1\), got 1\.5"),
        (StreamPCA("most"), "n_components must be a whole number"),
        (StreamPCA(True), "n_components must be a whole number"),
        (StreamPCA(9), "n_components=9 is more than the number of features, 8"),
        (SlowSubspace(9), "n_components=9 is more than the number of features, 8"),
        (SlowSubspace(0.5), "n_components must be a whole number"),
        (StreamPCA(2, solver="qr"), "solver must be one of 'auto', 'dense'"),
        (StreamPCA(2, missing="ignore"), "missing must be one of 'raise', 'skip'"),
        (StreamPCA(8, solver="krylov"), "below the number of features, 8"),
        (StreamPCA(0.5, solver="krylov"), "solver='dense'"),
        (SlowSubspace(2, alpha=0), r"alpha must be a number in \(0, 1\], got 0"),
        (SlowSubspace(2, alpha=1.1), r"got 1\.1"),
        (SlowSubspace(2, alpha=float("nan")), "got nan"),
        (SlowSubspace(2, alpha="best"), "'auto', 'bound', got 'best'"),
        (SlowSubspace(2, lag=0), "lag must be a whole number of at least 1"),
        (SlowSubspace(2, lag=60), "n_samples=60.*lag=60 takes at least 61 rows"),
        (SlowSubspace(2, criterion="sum"), "criterion must be one of"),
        (SlowSubspace(2, criterion="ratio", solver="krylov"), "solver='dense'"),
        (StreamPCA(2, center="no"), "center must be True or False, got 'no'"),
        (SlowSubspace(2, features="rbf"), "features must be a transformer.*got 'rbf'"),
        (StreamPCA(2, forgetting=0.01), r"forgetting=0\.01 is for solver='flow'"),
        (StreamPCA(2, solver="flow", hook="print"), "hook must be a function.*got 'print'"),
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


def test_a_short_sequence_in_a_stream_is_reported():
    model = SlowSubspace(2, lag=3).partial_fit(ROWS).partial_fit(ROWS[:2], new_sequence=True)
    model.partial_fit(ROWS[2:3])
    with pytest.warns(UserWarning, match=r"has 3 row\(s\) and gave no velocity at lag=3"):
        model.partial_fit(ROWS, new_sequence=True)
    expected = SlowSubspace(2, lag=3).fit([ROWS, ROWS])
    np.testing.assert_allclose(model.components_, expected.components_, atol=1e-10)


def test_one_row_is_too_few_for_a_velocity():
    with pytest.raises(ValueError, match=r"n_samples=1.*at least 2 rows"):
        SlowSubspace(2).fit(ROWS[:1])


def test_a_later_chunk_of_another_width():
    with pytest.raises(ValueError, match="X has 5 features, but StreamPCA is expecting 8"):
        StreamPCA(2).partial_fit(ROWS).partial_fit(ROWS[:, :5])


def test_columns_of_text_are_named():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"time": [1.0, 2.0], "city": ["Rome", "Oslo"]})
    with pytest.raises(ValueError, match="not numbers: 'city'"):
        StreamPCA(1).fit(frame)


def test_weights():
    for weights, message in [
        (np.ones(59), r"60 in all; got shape \(59,\)"),
        (-np.ones(60), r"must not be negative, got -1\.0 at row 0"),
        (np.full(60, np.nan), "not finite at row 0"),
        (np.zeros(60), "no row is left to learn from"),
    ]:
        with pytest.raises(ValueError, match=message):
            StreamPCA(2).fit(ROWS, sample_weight=weights)


def test_results_before_learning():
    for model in (StreamPCA(2), SlowSubspace(2)):
        with pytest.raises(NotFittedError):
            model.transform(ROWS)
        with pytest.raises(NotFittedError):
            _ = model.components_
        assert not hasattr(model, "components_")
    waiting = SlowSubspace(2, lag=3).partial_fit(ROWS[:2])
    with pytest.raises(NotFittedError, match=r"seen 2 row\(s\), none with a past 3"):
        _ = waiting.components_


def test_matrix_free_fits_cannot_go_on_or_merge():
    model = StreamPCA(2, solver="krylov").fit(ROWS)
    with pytest.raises(ValueError, match="reads the data many times"):
        model.partial_fit(ROWS)
    with pytest.raises(ValueError, match="keeps no scatters"):
        model.set_params(solver="auto").partial_fit(ROWS)
    with pytest.raises(ValueError, match="merge is not for solver="):
        model.merge(model)
    slow = SlowSubspace(2, alpha=0.5, solver="krylov").fit(ROWS)
    with pytest.raises(ValueError, match="path needs the scatters"):
        slow.path([0.5])


def test_merging_what_does_not_belong_together():
    left = SlowSubspace(2).fit(ROWS)
    with pytest.raises(ValueError, match="only scatters of one kind merge"):
        left.merge(SlowSubspace(2, lag=2).fit(ROWS))
    with pytest.raises(ValueError, match="only scatters of one kind merge"):
        left.merge(SlowSubspace(2).fit(ROWS[:, :5]))


def test_features_to_invert():
    model = StreamPCA(2).fit(ROWS)
    with pytest.raises(ValueError, match=r"shape \(n, 2\).*got \(3, 5\)"):
        model.inverse_transform(np.ones((3, 5)))
    with pytest.raises(ValueError, match="Z contains NaN at row 0, column 1"):
        model.inverse_transform(np.array([[1.0, np.nan]]))


def test_rows_to_project_cannot_be_skipped():
    rows = with_value(np.nan, 12, 3)
    for model in (StreamPCA(2, missing="skip"), SlowSubspace(2, missing="skip")):
        with pytest.raises(ValueError, match=r"row 12, column 3\. Remove or impute such rows\.$"):
            model.fit(rows).transform(rows)


def test_no_alphas():
    with pytest.raises(ValueError, match="alphas is empty"):
        SlowSubspace(2).fit(ROWS).path([])
    with pytest.raises(ValueError, match=r"got 2\.0"):
        SlowSubspace(2).fit(ROWS).path(np.array([0.5, 2.0]))


@pytest.mark.parametrize(
    "learn",
    [
        lambda: SlowSubspace(6, alpha=0.01).fit(ROWS),
        lambda: SlowSubspace(6, alpha=0.01).partial_fit(ROWS).components_,
        lambda: SlowSubspace(6, alpha=0.01).fit(ROWS).merge(SlowSubspace(6).fit(ROWS)).alpha_,
        lambda: SlowSubspace(6, criterion="ratio").fit(ROWS[:3]).eigenvalues_,
        lambda: SlowSubspace(6, alpha="bound").fit_transform(ROWS),
    ],
)
def test_warnings_point_at_the_users_line(learn):
    with pytest.warns(UserWarning, match="are positive|velocities span|vacuous") as caught:
        learn()
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize("solver", ["dense", "flow"])
def test_a_new_sequence_is_true_or_false(solver):
    model = SlowSubspace(2, alpha=0.5, solver=solver).partial_fit(ROWS[:30])
    with pytest.raises(TypeError, match="new_sequence must be True or False, got 'no'"):
        model.partial_fit(ROWS[30:], new_sequence="no")
    assert model.n_samples_seen_ == 30
    if solver == "dense":
        for whole in (model, model.contrast_, model.contrast_.reward):
            with pytest.raises(TypeError, match="new_sequence must be True or False"):
                whole.merge(whole, new_sequence=1)
        for learner in (model.contrast_, model.contrast_.penalty):
            with pytest.raises(TypeError, match="new_sequence must be True or False"):
                learner.update(ROWS, new_sequence=None)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("rows.npy", r"name of a file, 'rows.npy', and rows are due.*open_stream.*np\.load"),
        (Path("rows.npy"), "name of a file"),
        ((chunk for chunk in [ROWS]), r"X is a generator, and rows are due.*open_stream"),
        (
            {f"run {k}": ROWS for k in range(400)},
            r"400 entries \('run 0', 'run 1'.*list\(X",
        ),
    ],
    ids=["text", "path", "generator", "dict"],
)
@pytest.mark.parametrize(
    "learner", [StreamPCA(2), SlowSubspace(2), OjaNeuron(), RBFNetwork(3), GradientOrientation()]
)
def test_what_has_to_be_read_first_is_named(learner, given, message):
    with pytest.raises(TypeError, match=message) as caught:
        clone(learner).fit(given)
    assert len(str(caught.value)) < 300
    with pytest.raises(TypeError, match="pairs is"):
        PairSubspace(2).fit(given, [1, -1])
    with pytest.raises(TypeError, match="preprocessor is"):
        PairSubspace(2, preprocessor=given).fit([[0, 1], [1, 2]], [1, -1])


@pytest.mark.parametrize("learner", [StreamPCA(2), SlowSubspace(2), OjaNeuron(), RBFNetwork(3)])
@pytest.mark.parametrize("names", [["1.csv", "2.csv"], (Path("1.csv"),)], ids=["list", "tuple"])
def test_names_of_several_files_are_told_from_rows(learner, names):
    with pytest.raises(TypeError, match=r"of names, '1\.csv' first.*open_stream\(X\)"):
        clone(learner).fit(names)


def test_lists_of_series_may_mean_two_things():
    series = [ROWS[:, 0], ROWS[:, 1]]
    with pytest.raises(ValueError, match=r"list of 1-D arrays, which may be rows or sequences"):
        StreamPCA(1).fit(series)
    with pytest.raises(ValueError, match="may be rows or sequences"):
        SlowSubspace(1).partial_fit([ROWS[:9, 0], ROWS[:, 1]])
    one = SlowSubspace(1, alpha=0.9).fit([x[:, None] for x in series])
    assert one.n_samples_seen_ == 120


@pytest.mark.parametrize("solver", ["dense", "flow"])
@pytest.mark.parametrize("rows", [np.full((20, 8), np.nan), ROWS[:20]], ids=["missing", "weight 0"])
def test_rows_without_weight_are_said_to_have_none(solver, rows):
    model = SlowSubspace(2, alpha=0.5, solver=solver, missing="skip")
    with pytest.raises(ValueError, match="no row is left to learn from"):
        clone(model).fit(rows, sample_weight=np.zeros(20))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.partial_fit(rows, sample_weight=np.zeros(20))
    with pytest.raises(NotFittedError, match="all of which have a weight of zero or a missing"):
        _ = model.components_


@pytest.mark.parametrize("solver", ["dense", "krylov", "flow"])
@pytest.mark.parametrize("learner", [StreamPCA(1), SlowSubspace(1, alpha=0.9)], ids=repr)
@pytest.mark.filterwarnings("ignore:only 0 of the 1 eigenvalues")
def test_rows_whose_squares_vanish_are_refused(learner, solver):
    """All results would be zero, and say so as if it were the truth."""
    model = clone(learner).set_params(solver=solver).fit(ROWS)
    before = model.components_.copy()
    with pytest.raises(ValueError, match="squares vanish"):
        model.fit(ROWS * 1e-200)
    np.testing.assert_array_equal(model.components_, before)
    small = clone(model).fit(ROWS * 1e-70)
    np.testing.assert_allclose(small.components_, before, atol=1e-6)
    if solver != "krylov":
        stream = clone(model).partial_fit(ROWS * 1e-200)
        with pytest.raises(ValueError, match="squares vanish"):
            _ = stream.components_
        assert np.isfinite(stream.partial_fit(ROWS).components_).all()
    assert np.isfinite(clone(model).fit(0 * ROWS).components_).all()
