"""The monitor of windows: its scores, its rate, the columns that it names, and its rows."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import eigenstream
from eigenstream import Monitor, RBFNetwork, SlowSubspace, StreamPCA
from eigenstream.monitor.windows import (
    geometry_of,
    hotelling,
    least_windows,
    outlying,
    standardized,
)
from eigenstream.processes import Autoregressive, HeatExchanger
from eigenstream.streams import Standardize, open_stream
from eigenstream.subspace.sums.completion import RIDGE

WINDOW, N_WINDOWS, N_NEW = 200, 99, 4
CUT = WINDOW * N_WINDOWS


def rows_of(seed, n=CUT + N_NEW * WINDOW):
    decays = np.exp(-1 / np.array([25, 8, 3, 2]))
    process = Autoregressive(
        decays, n_features=6, variances=[4, 2, 1, 1], noise=0.1, random_state=seed
    )
    return process.take(n)


@pytest.fixture(scope="module")
def fitted():
    reference = rows_of(0)[:CUT]
    return Monitor(StreamPCA(2).fit(reference), window=WINDOW).fit(reference)


@pytest.fixture
def new():
    return rows_of(0)[CUT:]


@pytest.mark.parametrize("column", range(6))
def test_an_offset_names_its_column_and_size(fitted, new, column):
    deviation = new[:, column].std()
    new[:, column] += 5.0 * deviation
    for record in fitted.watch(new):
        assert record.alarm
        assert record.group == "residual"
        assert record.column == f"x{column}"
        assert record.offset == pytest.approx(5.0 * deviation, rel=0.3)


@pytest.mark.parametrize(("value", "word"), [(np.nan, "missing"), (1.0, "repeated")])
def test_a_dead_or_stuck_sensor_is_health_and_no_error(fitted, new, value, word):
    new[:, 3] = value
    for record in fitted.watch(new):
        assert (record.alarm, record.group, record.column) == (True, "health", "x3")
        assert word in str(record.contributions[0])
        assert (record.offset is None) == (word == "missing")


def test_one_missing_value_changes_little(fitted, new):
    before = next(fitted.watch(new))
    new[5, 1] = np.nan
    after = next(fitted.watch(new))
    for name in ("level", "residual", "spread", "shape"):
        assert after.groups[name] == pytest.approx(before.groups[name], abs=0.03)


def test_the_rate_holds_for_autocorrelated_rows():
    p = []
    for seed in range(30):
        rows = rows_of(seed, 23 * WINDOW)
        monitor = Monitor(StreamPCA(2).fit(rows[: 19 * WINDOW]), window=WINDOW, rate=0.05)
        p += [record.p for record in monitor.fit(rows[: 19 * WINDOW]).watch(rows[19 * WINDOW :])]
    assert min(p) >= 1 / 20
    assert np.mean(np.array(p) <= 0.05 + 1e-9) < 0.05 + 4 * np.sqrt(0.05 * 0.95 / len(p))


def test_scores_without_a_row_equal_their_definition():
    pool = np.random.default_rng(0).standard_normal((12, 3))
    for k in range(12):
        rest = np.delete(pool, k, axis=0)
        away = pool[k] - rest.mean(axis=0)
        assert standardized(pool, 0.0)[k] == pytest.approx(away / rest.std(axis=0, ddof=1))
        assert hotelling(pool)[k] == pytest.approx(away @ np.linalg.solve(np.cov(rest.T), away))


def test_the_prediction_is_that_of_the_factor_model():
    rows = rows_of(1)
    weights = StreamPCA(2).fit(rows).components_.T
    geometry = geometry_of(rows.mean(axis=0), np.cov(rows.T, bias=True), weights)
    model = geometry.loadings @ geometry.loadings.T + np.diag(geometry.unexplained)
    np.testing.assert_allclose(geometry.precision() @ model, np.eye(6), atol=1e-9)
    others = np.arange(1, 6)
    model[others, others] *= 1.0 + RIDGE
    expected = np.linalg.solve(model[np.ix_(others, others)], model[others, 0])
    row = rows[:1].copy()
    row[0, 0] = np.nan
    prediction = (rows[0, 1:] - geometry.mean[1:]) @ expected
    assert geometry.centred(row)[0, 0] == pytest.approx(prediction)


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(1, 300), min_size=1, max_size=8))
def test_chunks_do_not_matter(fitted, sizes):
    new = rows_of(0)[CUT:]
    whole = list(fitted.watch(new))
    again = pickle.loads(pickle.dumps(fitted))
    edges = np.unique(np.clip(np.cumsum(sizes), 0, len(new)))
    parts = [again.update(part) for part in np.split(new, edges) if len(part)]
    assert [record for part in parts for record in part] == whole
    stream = open_stream(new, chunk_rows=sizes[0])
    assert list(fitted.watch(stream)) == whole


def test_a_saved_monitor_continues(fitted, new, tmp_path):
    first = pickle.loads(pickle.dumps(fitted))
    first.update(new[:250])
    eigenstream.save(first, tmp_path / "monitor.eigs")
    again = eigenstream.load(tmp_path / "monitor.eigs")
    assert again.update(new[250:]) == first.update(new[250:])


def test_a_failed_update_changes_nothing(fitted, new):
    monitor = pickle.loads(pickle.dumps(fitted))
    with pytest.raises(ValueError, match="has 5 features, and"):
        monitor.update(new[:, :5])
    assert monitor.update(new) == fitted.update(new)


def test_a_faulty_window_of_the_reference_is_reported():
    rows = rows_of(0)
    reference, new = rows[: CUT + WINDOW], rows[CUT + WINDOW :]
    reference[10 * WINDOW : 11 * WINDOW, 2] += 5 * reference[:, 2].std()
    new[:, 2] += 2 * new[:, 2].std()
    model = StreamPCA(2).fit(reference)
    with pytest.warns(UserWarning, match=r"1 windows of the reference.*begins at row 2,000"):
        hidden = Monitor(model, window=WINDOW).fit(reference)
    assert hidden.outliers_ == (10,)
    with pytest.warns(UserWarning, match="differ strongly"):
        clean = Monitor(model, window=WINDOW, outliers="exclude").fit(reference)
    assert clean.n_windows_ == 99
    assert not any(record.alarm for record in hidden.watch(new))
    assert all(record.alarm for record in clean.watch(new))


def test_honest_references_have_no_outliers():
    counts = 0
    for seed in range(10):
        reference = rows_of(seed)[:CUT]
        counts += len(Monitor(StreamPCA(2).fit(reference), window=WINDOW).fit(reference).outliers_)
    assert counts == 0
    assert outlying(np.arange(100.0)) == ()


@pytest.mark.parametrize(
    ("n_sequences", "window", "n_windows", "advised"),
    [(1, 200, 50, (101, 0.02)), (2, 101, 98, (100, 0.011)), (40, 100, 80, (83, 0.013))],
)
def test_a_short_reference_is_an_error(n_sequences, window, n_windows, advised):
    assert (least_windows(0.01), least_windows(0.05)) == (99, 19)
    reference = np.array_split(rows_of(0)[:10_000], n_sequences)
    model = StreamPCA(2).fit(reference)
    shorter, rate = advised
    with pytest.raises(
        ValueError,
        match=rf"{n_windows} windows of {window} rows.*needs 99.*window={shorter} or rate={rate}",
    ):
        Monitor(model, window=window).fit(reference)
    for remedy in ({"window": shorter}, {"window": window, "rate": rate}):
        Monitor(model, **remedy).fit(reference)


def test_steps_and_slow_subspaces():
    rows = HeatExchanger(start=21_000, growth=0.05, random_state=0).take(30_000)
    stream = open_stream(rows[:20_000])
    model = SlowSubspace(3).fit(stream.through(Standardize()))
    monitor = Monitor(model, window=200).fit(stream)
    alarms = [record.alarm for record in monitor.watch(open_stream(rows[20_000:]))]
    assert not any(alarms[:5])
    assert all(alarms[-10:])


def test_a_constant_column_of_the_reference_may_not_move():
    rows = np.hstack([rows_of(0), np.full((CUT + N_NEW * WINDOW, 1), 7.0)])
    monitor = Monitor(StreamPCA(2).fit(rows[:CUT]), window=WINDOW).fit(rows[:CUT])
    assert [record.alarm for record in monitor.watch(rows[CUT:])].count(True) <= 1
    rows[CUT:, 6] = 7.001
    assert [record.column for record in monitor.watch(rows[CUT:])] == ["x6"] * N_NEW


def test_a_reference_that_is_read_once():
    rows = rows_of(0)
    model = StreamPCA(2).fit(rows[:CUT])
    expected = Monitor(model, window=WINDOW).fit(rows[:CUT])
    once = Monitor(model, window=WINDOW).fit(iter(np.array_split(rows[:CUT], 7)))
    np.testing.assert_allclose(once.scores_, expected.scores_, rtol=1e-6)


def test_windows_do_not_cross_sequences(fitted):
    fitted, rows = pickle.loads(pickle.dumps(fitted)), rows_of(0)
    fitted._n_rows = 0
    parts = np.split(rows[:CUT], [WINDOW // 2, 31 * WINDOW + 9, 63 * WINDOW])
    sequences = [parts[0], *parts]
    windows = [
        sequence[at : at + WINDOW]
        for sequence in sequences
        for at in range(0, len(sequence) - WINDOW + 1, WINDOW)
    ]
    split, joined = (
        Monitor(fitted.estimator, window=WINDOW, rate=0.05).fit(reference)
        for reference in (sequences, np.concatenate(windows))
    )
    assert split.n_windows_ == joined.n_windows_ == len(windows)
    # The geometry comes from all rows, the windows only from complete ones.
    np.testing.assert_allclose(split.scores_, joined.scores_, atol=0.1)
    new = [rows[CUT : CUT + 250], rows[CUT : CUT + 410]]
    records = fitted.update(new)
    assert [record.rows for record in records] == [WINDOW, 250 + WINDOW, 250 + 2 * WINDOW]
    alone = [*fitted.watch(new[0]), *fitted.watch(new[1])]
    assert [one.score for one in records] == [one.score for one in alone]
    assert [one.rows for one in fitted.update(rows[:190])] == [660 + 190]  # 10 rows waited


def test_other_columns_are_an_error(fitted):
    pd = pytest.importorskip("pandas")
    rows = rows_of(0)
    table = pd.DataFrame(rows, columns=list("abcdef"))
    monitor = Monitor(StreamPCA(2).fit(table[:CUT]), window=WINDOW).fit(table[:CUT])
    assert monitor.update(table[CUT:]) == list(monitor.watch(table[CUT:]))
    with pytest.raises(ValueError, match="the learned columns in another order"):
        monitor.update(table[CUT:][["b", "a", "c", "d", "e", "f"]])
    with pytest.raises(TypeError, match="has no directions"):
        Monitor(StreamPCA(1, features=RBFNetwork(9)).fit(rows[:500]), window=9).fit(rows)
    with pytest.raises(TypeError, match="has no directions"):
        Monitor(StreamPCA(1, solver="kernel").fit(rows[:500]), window=9).fit(rows)


@pytest.mark.parametrize(
    "wrong", [{"window": 1}, {"rate": 0.0}, {"rate": 1.0}, {"outliers": "drop"}], ids=str
)
def test_parameters_out_of_range_raise(wrong):
    model = StreamPCA(1).fit(np.random.default_rng(0).standard_normal((50, 2)))
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Monitor(model, **({"window": 10} | wrong)).fit(np.zeros((500, 2)))
