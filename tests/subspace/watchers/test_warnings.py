"""Warnings of watchers: once, in ``fit`` and in ``partial_fit``, in any unit of the weights."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenstream import SlowSubspace, StreamPCA
from watched import messages

N = 6000


def noise(columns=3, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((N, columns))
    rows[1:] += 0.7 * rows[:-1]
    return rows


def spiked():
    rows = np.random.default_rng(0).standard_normal((N, 5)) * [5.0, 4.0, 3.0, 2.0, 1.0]
    rows[[100, 2000], 4] += [3000.0, -3000.0]
    return rows


def slow_and_noisy():
    slow = np.sin(np.arange(N) / 300.0) + 0.1 * noise(1)[:, 0]
    return (slow + np.random.default_rng(1).standard_normal(N))[:, None]


#: Rows that one watcher warns of, and its words.
CASES = {
    "in one direction only": np.column_stack([noise(), np.arange(float(N))]),
    "of huge size": spiked(),
    "variance between sequences": noise() + 20.0 * (np.arange(N) // (N // 10) % 2)[:, None],
    "implied time scale": slow_and_noisy(),
    "": noise(),
}


def sequences(words, values):
    """Return rows, or weights, in ten sequences if the warning is about these."""
    return np.split(values, 10) if "sequences" in words else values


def told(words, found):
    """Return the warnings of a kind, or all of them, without numbers."""
    return [re.sub(r"\d[\d.e+-]*", "#", each) for each in found if words in each]


@pytest.mark.parametrize("words", CASES)
def test_each_case_has_its_warning(words):
    found = messages(lambda: SlowSubspace(1).fit(sequences(words, CASES[words])))
    assert len(told(words, found)) == bool(words)


@settings(max_examples=25, deadline=None)
@given(
    words=st.sampled_from(list(CASES)),
    exponent=st.floats(-9, 9),
    equal=st.booleans(),
    seed=st.integers(0, 9),
)
def test_the_unit_of_sample_weight_changes_no_warning(words, exponent, equal, seed):
    rows = sequences(words, CASES[words])
    weights = np.ones(N) if equal else np.random.default_rng(seed).uniform(0.5, 2.0, N)
    found = [
        messages(
            lambda unit=unit: SlowSubspace(1).fit(
                rows, sample_weight=sequences(words, unit * weights)
            )
        )
        for unit in (1.0, 10.0**exponent)
    ]
    assert told(words, found[0]) == told(words, found[1])


@pytest.mark.parametrize("words", [words for words in CASES if "implied" not in words])
def test_partial_fit_warns_once_when_a_result_is_read(words):
    parts = np.split(CASES[words], 10)
    model = SlowSubspace(1)
    for part in parts:
        model.partial_fit(part, new_sequence="sequences" in words)
    found = messages(lambda: model.components_)
    assert len(told(words, found)) == bool(words)
    # More rows of the same kind, and more results, do not repeat the warning.
    for part in parts * 3:
        model.partial_fit(part, new_sequence=True)
    assert not told(words, messages(lambda: model.components_))


def test_small_chunks_make_few_reports(monkeypatch):
    reports, report = [], StreamPCA._report

    def noted(self):
        reports.append(self._learner.n_rows)
        report(self)

    monkeypatch.setattr(StreamPCA, "_report", noted)
    model = StreamPCA(1)
    for row in noise()[:40]:
        _ = model.partial_fit(row[None, :]).components_
    assert reports == [1, 2, 4, 8, 16, 32]


def test_merged_models_warn_once():
    clock = CASES["in one direction only"]
    first, second = (SlowSubspace(1).partial_fit(part) for part in np.split(clock, 2))
    assert len(messages(lambda: first.components_)) == 1
    merged = first.merge(second)
    assert not messages(lambda: merged.components_)
