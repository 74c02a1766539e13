"""Every solver against the matrices of plain NumPy, in seconds, and the constants of solvers."""

import numpy as np
import pytest

import oracles
from eigenstream import (
    ClassSubspace,
    ContrastSubspace,
    Kernel,
    PairSubspace,
    Sketch,
    SlowSubspace,
    StreamPCA,
)
from eigenstream.rows.rows import StreamRows
from eigenstream.streams import open_stream
from eigenstream.subspace.solvers import dense, frame

N, WIDTH, ALPHA = 3000, 40, 0.6
RNG = np.random.default_rng(0)
MIXING = np.linalg.qr(RNG.standard_normal((WIDTH, WIDTH)))[0] * np.r_[3.0, 2.0, np.ones(WIDTH - 2)]
ROWS = oracles.autoregressive(np.r_[0.99, 0.97, np.full(WIDTH - 2, 0.3)], N, RNG) @ MIXING.T
ROWS, LABELS = ROWS - ROWS.mean(axis=0), np.arange(N) // 50 % 3
ROWS += 2.0 * RNG.standard_normal((3, WIDTH))[LABELS]
PAIRS = RNG.integers(0, N, (2000, 2))
ALIKE = np.where(LABELS[PAIRS[:, 0]] == LABELS[PAIRS[:, 1]], 1, -1)
#: The smallest share of the optimum. The sketch and the flow estimate.
SHARES = {
    "dense": ("dense", 1 - 1e-9),
    "krylov": ("krylov", 1 - 1e-9),
    "kernel": (Kernel("linear"), 1 - 1e-9),
    "sketch": ("sketch", 0.98),
    "two passes": (Sketch(passes=2), 0.98),
    "flow": ("flow", 0.95),
}


def second_moment(rows):
    return rows.T @ rows / len(rows)


def fit_and_matrix(kind, solver):
    """Return a fitted model and its matrix T."""
    away = ROWS - ROWS.mean(axis=0)
    if kind == "variance":
        return StreamPCA(2, solver=solver).fit(ROWS), second_moment(away)
    if kind == "slow":
        later = ROWS[1:] - ROWS[1:].mean(axis=0)
        matrix = ALPHA * second_moment(later) - (1 - ALPHA) * second_moment(np.diff(ROWS, axis=0))
        return SlowSubspace(2, alpha=ALPHA, solver=solver).fit(ROWS), matrix
    if kind == "contrast":
        sets = RNG.permutation(ROWS[::2]), RNG.standard_normal((N // 2, WIDTH))
        matrices = [second_moment(part - part.mean(axis=0)) for part in sets]
        model = ContrastSubspace(2, alpha=0.5, solver=solver).fit(sets[0], background=sets[1])
        return model, matrices[0] - 0.5 * matrices[1]
    if kind == "pairs":
        apart = ROWS[PAIRS[:, 0]] - ROWS[PAIRS[:, 1]]
        model = PairSubspace(2, criterion="difference", eta=1.0, solver=solver, preprocessor=ROWS)
        matrix = second_moment(apart[ALIKE < 0]) - second_moment(apart[ALIKE > 0])
        return model.fit(PAIRS, ALIKE), matrix
    # All pairs of rows, from sums within and between classes.
    within = [ROWS[k == LABELS] - ROWS[k == LABELS].mean(axis=0) for k in range(3)]
    same = sum(2.0 * len(part) * part.T @ part for part in within)
    n_same = sum(len(part) * (len(part) - 1) for part in within)
    unlike = 2.0 * N * away.T @ away - same
    matrix = unlike / (N * (N - 1) - n_same) - same / n_same
    return ClassSubspace(2, criterion="difference", eta=1.0, solver=solver).fit(
        ROWS, LABELS
    ), matrix


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", SHARES)
@pytest.mark.parametrize("kind", ["variance", "slow", "contrast", "pairs", "classes"])
@pytest.mark.usefixtures("small_blocks")
def test_the_subspace_is_near_that_of_the_matrix(kind, name):
    if kind in ("variance", "slow") and name == "kernel":
        pytest.skip("kernels are for pairs and sets")
    if kind not in ("variance", "slow") and name == "flow":
        pytest.skip("the flow learns from rows without labels")
    solver, least = SHARES[name]
    model, matrix = fit_and_matrix(kind, solver)
    if name in ("sketch", "two passes"):
        assert isinstance(model._learner.sums, frame.Frame)
    basis = np.linalg.qr(model.components_.T)[0]
    reached = np.trace(basis.T @ matrix @ basis) / np.linalg.eigvalsh(matrix)[-2:].sum()
    assert least < reached < 1.0 + 1e-9


def test_parts_of_a_further_pass_add_up_to_the_frame():
    sketched = SlowSubspace(2, alpha=0.5, solver=Sketch(passes=2))
    rows = np.random.default_rng(1).standard_normal((400, 700))
    sketched.partial_fit(rows)
    again = sketched._learner.with_all_rows().sums.again(sketched._learner.terms)
    parts = [again.split(3) for _ in range(3)]
    for name, form in again.forms.items():
        np.testing.assert_allclose(sum(part.forms[name] for part in parts), form)
    for name, trace in again.traces.items():
        assert sum(part.traces[name] for part in parts) == pytest.approx(trace)


@pytest.mark.filterwarnings("ignore:the sum of the ratios")
def test_parts_of_a_further_pass_of_ratios_keep_the_shrinkage():
    sketched = SlowSubspace(2, criterion="ratio", shrinkage=0.2, solver=Sketch(passes=2))
    learner = sketched.fit(np.random.default_rng(1).standard_normal((400, 700)))._learner
    part = learner.sums.again(learner.terms).split(2)
    assert part.again(learner.terms).shrinkage == 0.2


def test_class_means_add_a_bounded_number_of_directions():
    rng = np.random.default_rng(0)
    labels = np.arange(1000) % 200
    rows = rng.standard_normal((200, 300))[labels] + 0.1 * rng.standard_normal((1000, 300))
    learner = ClassSubspace(2, criterion="difference", eta=1.0, solver="sketch").fit(rows, labels)
    sums = learner._learner.with_all_rows().sums
    assert sums.highest + sums.lowest < len(sums.basis)
    assert len(sums.basis) <= sums.highest + sums.lowest + frame.MOST_CLOSING


@pytest.mark.parametrize(("times", "warns"), [(0.8, False), (1.3, True)])
def test_the_flow_warns_of_a_row_of_huge_size(times, warns, recwarn):
    rng = np.random.default_rng(0)
    n, size = 200, times * 50.0
    rows = rng.choice([-1.0, 1.0], (n, 3))
    # The square of the row is `size` times the mean of all squares.
    rows[50] *= np.sqrt(size * (n - 1) / (n - size))
    StreamPCA(1, solver="flow", center=False).fit(rows)
    assert warns == any("times the mean" in str(one.message) for one in recwarn)


@pytest.mark.parametrize(("share", "fits"), [(1.01, True), (0.99, False)])
def test_matrices_and_few_rows_fit_a_quarter_of_the_memory(share, fits, monkeypatch):
    for n_rows, values in ((None, 1000 * 1000), (250, 1000 * 1000), (251, 1000 * 1000), (100, 4e5)):
        memory = share * 4 * 4 * 8 * values
        monkeypatch.setattr(dense, "physical_memory", lambda memory=memory: memory)
        assert dense.fits_dense(1000, n_rows) == fits


@pytest.mark.parametrize(("share", "fits"), [(1.01, True), (0.99, False)])
def test_rows_of_a_stream_take_a_quarter_of_the_memory(share, fits, monkeypatch):
    rows = np.ones((100, 5), np.float32)  # their copies in float64 take twice the memory
    monkeypatch.setattr("eigenstream.rows.rows.physical_memory", lambda: share * 4 * 8 * 500)
    stream = StreamRows(open_stream(rows))
    if fits:
        assert len(stream.in_memory("fit").chunk) == 100
    else:
        with pytest.raises(ValueError, match="a quarter of the memory"):
            stream.in_memory("fit")
