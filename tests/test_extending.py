"""The examples of the developer's guide: a solver, an estimator and a file format."""

from pathlib import Path
from runpy import run_path

import numpy as np
import pytest

from eigenstream import SlowSubspace, StreamPCA, open_stream
from eigenstream.streams import StreamError

FOLDER = Path(__file__).parents[1] / "examples" / "extending"
ROWS = np.random.default_rng(0).standard_normal((500, 6)) * [1, 5, 1, 3, 1, 1]


@pytest.mark.parametrize("name", ["solver", "estimator", "file_format"])
def test_an_example_has_at_most_60_lines(name):
    assert len((FOLDER / f"{name}.py").read_text().splitlines()) <= 60


def test_a_solver():
    solver = run_path(str(FOLDER / "solver.py"))["Columns"]()
    whole = StreamPCA(2, solver=solver).fit(ROWS)
    np.testing.assert_array_equal(whole.components_, np.eye(6)[[1, 3]])
    np.testing.assert_allclose(whole.eigenvalues_, ROWS.var(axis=0)[[1, 3]])
    parts = StreamPCA(2, solver=solver).partial_fit(ROWS[:200]).partial_fit(ROWS[200:300])
    merged = parts.merge(StreamPCA(2, solver=solver).fit(ROWS[300:]))
    np.testing.assert_allclose(merged.eigenvalues_, whole.eigenvalues_)
    with pytest.raises(ValueError, match="not supported by solver='columns'"):
        SlowSubspace(2, solver=solver).fit(ROWS)


@pytest.mark.parametrize("solver", ["dense", "krylov"])
def test_an_estimator(solver):
    kind = run_path(str(FOLDER / "estimator.py"))["FastSubspace"]
    fast = kind(2, lag=3, solver=solver).fit([ROWS[:100], ROWS[100:]])
    steps = np.concatenate([part[3:] - part[:-3] for part in (ROWS[:100], ROWS[100:])])
    values = np.linalg.eigvalsh(steps.T @ steps / len(steps))
    np.testing.assert_allclose(fast.eigenvalues_, values[:-3:-1])
    assert fast.transform(ROWS).shape == (500, 2)
    if solver == "dense":
        chunks = kind(2, lag=3).partial_fit(ROWS[:50]).partial_fit(ROWS[50:100])
        merged = chunks.merge(kind(2, lag=3).fit(ROWS[100:]), new_sequence=True)
        np.testing.assert_allclose(merged.eigenvalues_, fast.eigenvalues_)


def test_a_file_format(tmp_path):
    module = run_path(str(FOLDER / "file_format.py"))
    samples = np.round(100 * ROWS).astype("<i2")
    file = tmp_path / "night.rec"
    content = np.array([module["MAGIC"], 6], "<i4").tobytes() + samples.tobytes()
    file.write_bytes(content)
    stream = open_stream(module["Recording"](file), columns=["channel 1", "channel 3"])
    learned = SlowSubspace(1, lag=2).fit(stream)
    expected = SlowSubspace(1, lag=2).fit(samples[:, [1, 3]])
    np.testing.assert_allclose(learned.components_, expected.components_)
    stream = open_stream(module["Recording"](file), rows=slice(100, 400, 3))
    part = np.concatenate([chunk.rows for chunk in stream])
    np.testing.assert_array_equal(part, samples[100:400:3])
    file.write_bytes(content[:-1])
    with pytest.raises(StreamError, match="ends within row 499"):
        module["Recording"](file)
