"""Cross-validation from sums: the scores of separate fits."""

from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenstream import SlowSubspace
from eigenstream.evaluation import SumScores, cross_validate_sums
from eigenstream.evaluation.sums import without_each


@given(st.text(min_size=1, max_size=40))
def test_each_part_is_left_out_in_order(text):
    found = [(a or "", b or "") for a, b in without_each(text, "".join)]
    assert found == [(text[:k], text[k + 1 :]) for k in range(len(text))]


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 2**16),
    st.lists(st.integers(30, 90), min_size=2, max_size=5),
    st.sampled_from(["difference", "ratio"]),
    st.booleans(),
    st.lists(st.sampled_from([0.2, 0.6, 1.0, "auto"]), min_size=1, max_size=3),
    st.lists(st.integers(1, 4), min_size=1, max_size=2, unique=True),
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_equals_separate_fits(seed, lengths, criterion, scale, alphas, lags):
    rng = np.random.default_rng(seed)
    mixing = rng.standard_normal((4, 4))
    runs = [rng.standard_normal((n, 4)).cumsum(axis=0) @ mixing + 3.0 for n in lengths]
    slow = SlowSubspace(criterion=criterion, scale=scale)
    counts = [1, 3, 4]
    found = cross_validate_sums(slow, runs, n_components=counts, alphas=alphas, lags=lags)
    for i, lag in enumerate(found.lags):
        for j, alpha in enumerate(found.alphas):
            for c, n in enumerate(counts):
                more = {} if alpha is None else {"alpha": alpha}
                one = SlowSubspace(n, lag=int(lag), criterion=criterion, scale=scale, **more)
                refitted = [
                    one.fit(runs[:k] + runs[k + 1 :]).score(run) for k, run in enumerate(runs)
                ]
                np.testing.assert_allclose(found.scores[i, j, c], refitted, rtol=1e-7, atol=1e-9)


def test_one_sequence_is_not_enough():
    with pytest.raises(ValueError, match="time_blocks"):
        cross_validate_sums(SlowSubspace(), [np.ones((9, 2))])


def test_the_mean_and_its_error_are_those_of_the_sequences():
    runs = np.split(np.random.default_rng(0).standard_normal((400, 3)).cumsum(axis=0), 4)
    found = cross_validate_sums(SlowSubspace(2), runs)
    scores = found.scores[0, 0, 0]
    assert found.mean[0, 0, 0] == pytest.approx(reduce(float.__add__, map(float, scores)) / 4)
    assert found.standard_error[0, 0, 0] == pytest.approx(scores.std(ddof=1) / 2)


def test_a_sequence_without_a_velocity_has_no_score():
    rows = np.random.default_rng(0).standard_normal((300, 3)).cumsum(axis=0)
    sequences = [rows[:100], rows[100:105], rows[105:]]
    with pytest.raises(ValueError, match=r"sequence 1 has n_samples=5.*at least 6 rows"):
        cross_validate_sums(SlowSubspace(1), sequences, lags=[1, 5])
    found = cross_validate_sums(SlowSubspace(1), sequences, lags=[1, 4])
    assert np.isfinite(found.scores).all()


def test_the_best_parameters_of_one_lag_need_no_lag():
    scores = SumScores(np.array([5]), (None,), np.array([1, 2]), np.array([[[[1.0], [3.0]]]]))
    assert scores.best() == scores.best(5) == {"lag": 5, "n_components": 2}
    several = SumScores(np.array([1, 5]), (None,), np.array([1]), np.ones((2, 1, 1, 1)))
    for lag in (None, 3):
        with pytest.raises(ValueError, match=r"none of \[1, 5\]"):
            several.best(lag)
