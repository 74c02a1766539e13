"""Drift: the angle of windows to a reference, its spread and the rate of false alarms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenstream import ClassSubspace, SlowSubspace, StreamPCA, SubspaceDrift
from eigenstream.evaluation import subspace_angles
from eigenstream.processes import Autoregressive
from eigenstream.streams import open_stream

NORMAL = np.random.default_rng(0).standard_normal((24_000, 4)) * [4.0, 3.0, 2.0, 1.0]
PCA = StreamPCA(2).fit(NORMAL[:8000])


def rotated(rows, angle):
    """Rows whose second and third column turn by an angle."""
    turn = np.eye(4)
    turn[1:3, 1:3] = [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
    return rows @ turn


@settings(max_examples=5, deadline=None)
@given(st.integers(1, 700), st.integers(100, 400), st.integers(7, 20))
def test_chunks_do_not_matter(chunk, window, blocks):
    rows = NORMAL[8000:8600]
    how = {"window": window, "blocks": blocks, "false_alarm_rate": 0.1}
    whole = [*SubspaceDrift(PCA, **how).watch(rows)]
    parts = [*SubspaceDrift(PCA, **how).watch(open_stream(rows, chunk_rows=chunk))]
    assert [one.rows for one in whole] == [window * (k + 1) for k in range(600 // window)]
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one.angle, other.angle, rtol=1e-8)
        np.testing.assert_allclose(one.spread, other.spread, rtol=1e-6)
        assert one.p_value == pytest.approx(other.p_value, abs=0.01)


def test_the_angle_is_that_of_the_subspaces():
    (record,) = SubspaceDrift(PCA, window=2000).watch(NORMAL[8000:10_000])
    window = StreamPCA(2).fit(NORMAL[8000:10_000])
    angles = subspace_angles(window.components_.T, PCA.components_.T)
    assert record.angle == pytest.approx(np.linalg.norm(angles))


def test_the_spread_is_the_angle_without_drift():
    """The rate of false alarms over 1000 streams is in docs/how-to/error-bars.md."""
    records = [*SubspaceDrift(PCA, window=400).watch(NORMAL[8000:])]
    angles, spreads = (
        np.array([getattr(r, name) for r in records]) for name in ("angle", "spread")
    )
    assert len(records) == 40
    assert np.sqrt((angles**2).mean() / (spreads**2).mean()) == pytest.approx(1.0, abs=0.25)
    p = np.sort([record.p_value for record in records])
    assert np.abs(p - np.linspace(0, 1, 40)).max() < 0.2


def test_a_switch_raises_an_alarm():
    rows = np.concatenate([NORMAL[8000:12_000], rotated(NORMAL[12_000:16_000], 0.3)])
    drift = SubspaceDrift(PCA, window=2000)
    assert [one.alarm for one in drift.watch(rows)] == [False, False, True, True]
    assert [one.rows for one in drift.history] == [2000, 4000, 6000, 8000]


def test_slow_subspaces_are_watched():
    process = Autoregressive([0.9, 0.8, 0.1, 0.0], random_state=0)
    rows = process.take(30_000)
    drift = SubspaceDrift(SlowSubspace(2, scale=True).fit(rows[:20_000]), window=5000)
    assert not any(one.alarm for one in drift.watch(rows[20_000:]))
    assert all(one.alarm for one in drift.watch(rows[20_000:][:, [2, 0, 1, 3]]))


def test_wrong_arguments_raise_one_error():
    with pytest.raises(TypeError, match="StreamPCA"):
        SubspaceDrift(ClassSubspace(1, eta=1.0).fit(NORMAL[:9], np.arange(9) % 2), window=100)
    with pytest.raises(ValueError, match="window"):
        SubspaceDrift(PCA, window=10)
    with pytest.raises(ValueError, match="false_alarm_rate"):
        SubspaceDrift(PCA, window=100, blocks=5)
