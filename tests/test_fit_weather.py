"""Real weather with holes of hours and of days: every policy, for whatever learns from streams."""

import numpy as np
import pytest
from sklearn.base import clone

from eigenstream import (
    Adaline,
    AdalineRegressor,
    ClassSubspace,
    OjaNeuron,
    Perceptron,
    RBFNetwork,
    SangerNetwork,
    SlowSubspace,
    StreamPCA,
    ThresholdClassifier,
)
from eigenstream.streams import open_stream

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

#: What learns from rows alone, and what also needs labels (the airport) or a number (the
#: temperature three columns further on); few passes, since what is asked is whether they agree.
ALONE = [
    StreamPCA(2),
    StreamPCA(2, solver="krylov"),
    SlowSubspace(2),
    SlowSubspace(2, alpha=0.5, solver="sketch", random_state=0),
    OjaNeuron(max_iter=2, random_state=0),
    SangerNetwork(2, max_iter=2, random_state=0),
    RBFNetwork(20, gamma="median", random_state=0),
]
TAUGHT = [
    ClassSubspace(2, eta=1.0),
    Perceptron(max_iter=2, random_state=0),
    Adaline(max_iter=2, random_state=0),
    ThresholdClassifier(),
]

#: Rows of each airport that are read: enough for holes of hours and of days.
ROWS = 1500


@pytest.fixture(scope="module")
def weather(data_folder):
    """By airport: columns that are seldom empty, in units of their own spread."""
    with np.load(data_folder / "nyc_weather.npz", allow_pickle=False) as file:
        values, names = file["values"].astype(float), file["airports"].tolist()
    columns = np.flatnonzero(np.isnan(values).mean(axis=(0, 1)) < 0.2)
    kept = values[:, :ROWS, columns]
    kept = (kept - np.nanmean(kept, (0, 1))) / np.nanstd(kept, (0, 1))
    assert np.isnan(kept).any()
    return dict(zip(names, kept, strict=True))


def filled(rows):
    """The slow way: each hole on the straight line between the values on its two sides."""
    rows = rows.copy()
    at = np.arange(len(rows))
    for column in rows.T:
        known = np.flatnonzero(np.isfinite(column))
        inside = slice(known[0], known[-1] + 1)
        column[inside] = np.interp(at[inside], known, column[known])
    return rows


def answers(model, rows):
    return model.predict(rows) if hasattr(model, "predict") else model.transform(rows)


def check_agree(found, due, rows):
    left, right = answers(found, rows), answers(due, rows)
    if left.dtype.kind == "f":
        # Sums of some thousand rows in another order.
        np.testing.assert_allclose(left, right, atol=1e-8 * max(np.abs(right).max(), 1.0))
    else:
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("own", [*ALONE, *TAUGHT], ids=repr)
def test_a_hole_is_refused_with_its_place(own, weather):
    labels = np.repeat(list(weather), ROWS)
    stream = open_stream(weather, chunk_rows=100).with_labels(labels)
    with pytest.raises(ValueError, match=r"EWR has NaN .* at row \d+, column \d"):
        clone(own).fit(stream)


@pytest.mark.parametrize("own", ALONE, ids=repr)
def test_rows_alone(own, weather):
    filling = {name: filled(rows) for name, rows in weather.items()}
    lists = {"skip": list(weather.values()), "interpolate": list(filling.values())}
    for policy, sequences in lists.items():
        found = clone(own).fit(open_stream(weather, missing=policy, chunk_rows=100))
        rows = np.concatenate(sequences)
        complete = rows[np.isfinite(rows).all(axis=1)]
        if isinstance(own, StreamPCA | SlowSubspace):
            due = clone(own).set_params(missing="skip").fit(sequences)
        else:
            due = clone(own).fit(complete)
        check_agree(found, due, complete[:50])


@pytest.mark.parametrize("own", TAUGHT, ids=repr)
def test_rows_with_labels(own, weather):
    labels = np.repeat(list(weather), ROWS)
    filling = {name: filled(rows) for name, rows in weather.items()}
    for policy, given in (("skip", weather), ("interpolate", filling)):
        stream = open_stream(weather, missing=policy, chunk_rows=100).with_labels(labels)
        rows = np.concatenate(list(given.values()))
        complete = np.isfinite(rows).all(axis=1)
        due = clone(own).fit(rows[complete], labels[complete])
        check_agree(clone(own).fit(stream), due, rows[complete][:50])


def test_numbers_that_lack_values(weather):
    """The column to be learned has holes, too: such rows weigh nothing, and are not invented."""
    rows = weather["JFK"]
    found = AdalineRegressor(max_iter=2, random_state=0).fit(
        open_stream(rows, labels=0, missing="skip", chunk_rows=100)
    )
    complete = np.isfinite(rows).all(axis=1)
    due = AdalineRegressor(max_iter=2, random_state=0).fit(rows[complete, 1:], rows[complete, 0])
    np.testing.assert_array_equal(found.coef_, due.coef_)
