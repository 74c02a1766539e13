"""R = J B^T and Q = J J^T of a run, every n steps: those of the sequential rule, however kept."""

import numpy as np
import pytest
from sklearn.base import clone

from eigenstream import CompetitiveLearning
from eigenstream.learners.prototypes._recording import Recorder

EPS = float(np.finfo(float).eps)
N = 300


def rows_of(width):
    rng = np.random.default_rng(0)
    centres = 4 * rng.standard_normal((6, width))
    # An offset that is none of the prototypes' differences is in R and Q all the same.
    return 3.0 + centres[rng.integers(6, size=N)] + rng.standard_normal((N, width))


def course(J, rows, share, rate):
    """The prototypes after every step, as a textbook takes it."""
    J, found = np.array(J), []
    for x in rows:
        p = share(((x - J) ** 2).sum(axis=1))
        J = J + rate * p[:, None] * (x - J)
        found.append(J)
    return np.array(found)


SHARES = {
    "winner": lambda squares: np.eye(len(squares))[squares.argmin()],
    "soft": lambda squares: (p := np.exp((squares.min() - squares) / 50.0)) / p.sum(),
    "rank": lambda squares: np.exp(-squares.argsort().argsort() / 2.0),
}
WIDTHS = {"winner": "auto", "soft": 5.0, "rank": 2.0}

#: Prototypes and features: steps on the rows, and in blocks.
SIZES = {"rows": (16, 30), "blocks": (18, 1000)}


def model_of(assignment, size, every, rows, m=2):
    K, D = SIZES[size]
    directions = np.linalg.qr(np.random.default_rng(1).standard_normal((D, 5)))[0].T[:m]
    return CompetitiveLearning(
        K,
        assignment=assignment,
        width=WIDTHS[assignment],
        learning_rate=0.05,
        init=rows[:K] + 0.1,
        record_every=every,
        directions=directions if m else None,
    )


@pytest.mark.parametrize("every", [1, 7, 64, 150])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("assignment", SHARES)
def test_every_record_is_that_of_the_sequential_rule(assignment, size, every):
    rows = rows_of(SIZES[size][1])
    model = model_of(assignment, size, every, rows)
    found = clone(model).fit(rows).order_parameters_
    J = course(model.init, rows, SHARES[assignment], 0.05)
    J = np.concatenate([[model.init], J])[::every]
    np.testing.assert_allclose(found.alphas * rows.shape[1], np.arange(0, N + 1, every))
    # 64 roundings a step of numbers of the size of squared rows; of products of two such errors
    # no more than that again for each of both factors.
    near = 64 * N * EPS * (rows**2).sum(axis=1).max()
    np.testing.assert_allclose(found.R, J @ model.directions.T, rtol=0, atol=near)
    far = 2 * near * np.abs(rows).max() * np.sqrt(rows.shape[1])
    np.testing.assert_allclose(found.Q, J @ J.transpose(0, 2, 1), rtol=0, atol=far)
    np.testing.assert_array_equal(found.Q, found.Q.transpose(0, 2, 1))


def test_these_runs_are_recorded_in_every_way():
    """Followed by the steps, computed in their loop, and in a pause between blocks."""
    ways = {}
    for size, (K, D) in SIZES.items():
        for every in (1, 150):
            one = Recorder(
                every,
                np.eye(2, D),
                n_prototypes=K,
                n_features=D,
                block_size=64 if K > 16 else 0,
            )
            ways[size, every] = one.follows, one.pauses
    assert ways == {
        ("rows", 1): (True, False),
        ("rows", 150): (False, False),
        ("blocks", 1): (True, False),
        ("blocks", 150): (False, True),
    }


@pytest.mark.parametrize("every", [1, 40, 150])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "given",
    [{}, {"init": "data"}, {"init": "k-means", "init_size": 50}, {"init": "data", "reseed": 30}],
    ids=str,
)
def test_any_chunks_and_a_file_between_leave_the_same_records(given, size, every):
    rows = rows_of(SIZES[size][1])
    model = model_of("winner", size, every, rows).set_params(random_state=0, **given)
    whole = clone(model).fit(rows)
    parts = clone(model)
    for chunk in np.split(rows, [1, 2, 70, 71, 130, 231]):
        parts.partial_fit(chunk)
        parts = type(parts).restored(parts.get_params(), parts.state())
    for one, other in zip(parts.order_parameters_, whole.order_parameters_, strict=True):
        np.testing.assert_array_equal(one, other)
    # The last record is of the prototypes there are.
    at = round(whole.order_parameters_.alphas[-1] * rows.shape[1])
    if at == N:
        J = whole.prototypes_
        near = 64 * N * EPS * (rows**2).sum(axis=1).max()
        np.testing.assert_allclose(whole.order_parameters_.Q[-1], J @ J.T, rtol=0, atol=near)


def test_what_is_followed_is_computed_anew_so_that_rounding_does_not_add_up():
    width, steps = 30, 12_000
    rows = 1e3 + np.random.default_rng(0).standard_normal((steps, width))
    model = CompetitiveLearning(16, init=rows[:16], learning_rate=0.01, record_every=1).fit(rows)
    assert steps > 5 * model._learner._recorder.ends[0]
    J = model.prototypes_
    # As many roundings as steps since the last renewal, of numbers as large as squared rows.
    near = 8 * model._learner._recorder.ends[0] * EPS * (rows**2).sum(axis=1).max()
    np.testing.assert_allclose(model.order_parameters_.Q[-1], J @ J.T, rtol=0, atol=near)
    assert model.order_parameters_.R.shape == (steps + 1, 16, 0)


@pytest.mark.parametrize("size", SIZES)
def test_to_record_changes_no_prototype_where_no_block_is_cut(size):
    rows = rows_of(SIZES[size][1])
    recorded = model_of("winner", size, 1, rows).fit(rows)
    plain = model_of("winner", size, 1, rows, m=0).set_params(record_every=None).fit(rows)
    np.testing.assert_array_equal(recorded.prototypes_, plain.prototypes_)


def test_records_in_a_state_that_are_of_another_shape_are_refused():
    rows = rows_of(30)
    model = model_of("winner", "rows", 1, rows).fit(rows)
    state = model.state() | {"learner.overlaps_R": np.zeros((3, 4))}
    with pytest.raises(ValueError, match="overlaps_R of shape"):
        type(model).restored(model.get_params(), state)
