"""alpha="auto" of the sketch where it holds the sums whole: one pass, exact, like the scatters."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import eigh

import oracles
from eigenstream import SlowSubspace, load, open_stream, save
from eigenstream._linalg import principal_angles
from eigenstream.learners.sketch import OperatorSketch
from eigenstream.models import Checkpoint
from eigenstream.models.checkpoints import Interrupted
from eigenstream.solvers import base
from eigenstream.solvers.base import above
from eigenstream.testing import assert_same_state, chunked
from stopping import stops_behind

D = 200


def slow_rows(n=900, width=D, seed=0, slow=6, size=1.0):
    """Sources slow to several degrees, of some size, among fast ones."""
    rng = np.random.default_rng(seed)
    memory = np.r_[1.0 - np.geomspace(0.01, 0.2, slow), rng.uniform(-0.4, 0.4, width - slow)]
    rows = oracles.autoregressive(memory, n, rng)
    rows[:, :slow] *= size
    return rows @ np.linalg.qr(rng.standard_normal((width, width)))[0] + 3.0


ROWS = slow_rows()


def assert_exact(model, dense, rtol=1e-10):
    """The answer is that of the scatters, to rounding."""
    assert model.solver_ == "sketch"
    np.testing.assert_allclose(model.alpha_, dense.alpha_, rtol=rtol)
    np.testing.assert_allclose(model.mean_, dense.mean_, rtol=0, atol=10 * rtol)
    top = dense.eigenvalues_.max()
    np.testing.assert_allclose(
        model.eigenvalues_, dense.eigenvalues_, rtol=0, atol=100 * rtol * top
    )
    assert principal_angles(model.components_.T, dense.components_.T).max() < 1e-6
    assert model.n_samples_seen_ == dense.n_samples_seen_


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("lag", [1, 3])
@pytest.mark.parametrize("width", [200, 400])
def test_one_pass_is_exact(width, lag, center):
    rows = slow_rows(1200, width)
    how = {"lag": lag, "center": center}
    assert_exact(
        SlowSubspace(4, solver="sketch", **how).fit(rows),
        SlowSubspace(4, solver="dense", **how).fit(rows),
    )


def given(kind):
    """Rows as they may come, with what else goes to fit."""
    if kind == "sequences with weights":
        weights = np.random.default_rng(1).uniform(0.0, 2.0, 900)
        weights[::50] = 0.0
        return np.split(ROWS, [100, 103, 500]), np.split(weights, [100, 103, 500])
    if kind == "missing values":
        holes = ROWS.copy()
        holes[::97, 3] = np.nan
        return holes, None
    if kind == "sparse":
        return sp.csr_array(np.where(ROWS > 2.0, ROWS, 0.0)), None
    return np.split(ROWS, 3), None


@pytest.mark.parametrize(
    "kind", ["sequences", "sequences with weights", "missing values", "sparse"]
)
def test_rows_of_any_kind(kind):
    X, weights = given(kind)
    model, dense = (
        SlowSubspace(3, solver=solver, missing="skip").fit(X, sample_weight=weights)
        for solver in ("sketch", "dense")
    )
    assert_exact(model, dense)
    assert model.n_samples_skipped_ == dense.n_samples_skipped_


def test_single_precision_is_added_up_in_double():
    """Law 5: what is learned of float32 rows is what is learned of the same numbers in float64."""
    rows = (ROWS + 1e3).astype(np.float32)
    single, double = (SlowSubspace(3, solver="sketch").fit(X) for X in (rows, rows.astype(float)))
    assert_exact(single, SlowSubspace(3, solver="dense").fit(rows.astype(float)), rtol=1e-7)
    np.testing.assert_array_equal(single.components_, double.components_)
    assert single.alpha_ == double.alpha_


@pytest.mark.filterwarnings("ignore:.*rounding may decide")
@pytest.mark.parametrize(
    "name", ["constant", "zero", "a line", "repeated", "few", "sizes of twelve decades", "far away"]
)
def test_degenerate_rows_give_what_the_scatters_give(name):
    lines, sizes = np.outer(np.arange(300.0), np.arange(D)), np.geomspace(1e-6, 1e6, D)
    rows = {"constant": np.full((300, D), 3.7), "zero": np.zeros((300, D)), "a line": lines}
    rows |= {"repeated": np.repeat(ROWS[:5], 60, axis=0), "few": ROWS[:40]}
    rows |= {"sizes of twelve decades": ROWS * sizes, "far away": ROWS + 1e6}
    model, dense = (SlowSubspace(3, solver=one).fit(rows[name]) for one in ("sketch", "dense"))
    assert model.alpha_ == pytest.approx(dense.alpha_, rel=1e-7)
    contrast = dense.contrast_
    T = contrast.matrix((dense.alpha_, 1.0 - dense.alpha_))
    noise = contrast.rounding * np.linalg.norm(T, 2) + contrast.floor((1.0, 1.0))
    np.testing.assert_allclose(model.eigenvalues_, dense.eigenvalues_, rtol=1e-7, atol=noise)


def forgotten(rows, lag, rate, d):
    """Return alpha by plain sums over all terms, of which older ones weigh less."""
    now, past = rows[lag:], rows[:-lag]
    weights = (1.0 - rate) ** np.arange(len(now) - 1.0, -1.0, -1.0)
    weights /= weights.sum()
    centred = now - weights @ now
    A = (centred * weights[:, None]).T @ centred
    B = ((now - past) * weights[:, None]).T @ (now - past)
    return above(1.0 / (1.0 + eigh(A, B, eigvals_only=True)[-d]))


@pytest.mark.parametrize("rate", [1e-3, 0.01])
def test_forgetting_is_that_of_every_term(rate):
    rows = np.concatenate([ROWS, slow_rows(700, seed=2)])
    model = SlowSubspace(3, solver="sketch", forgetting=rate, lag=2).fit(rows)
    assert model.alpha_ == pytest.approx(forgotten(rows, 2, rate, 3), rel=1e-9)


# ---- any chunking ------------------------------------------------------------------------------


@pytest.mark.parametrize("cuts", [[1, 2, 5, 350], range(0, 900, 7), [899]])
def test_any_chunking_is_the_same_to_the_last_bit(cuts):
    whole, grown = SlowSubspace(3, solver="sketch").fit(ROWS), SlowSubspace(3, solver="sketch")
    for part in chunked(ROWS, cuts):
        grown.partial_fit(part)
    assert grown.alpha_ == whole.alpha_
    np.testing.assert_array_equal(grown.components_, whole.components_)
    np.testing.assert_array_equal(grown.eigenvalues_, whole.eigenvalues_)


def test_reading_on_the_way_changes_nothing():
    model = SlowSubspace(3, solver="sketch")
    for k, part in enumerate(chunked(ROWS, range(0, 900, 130))):
        model.partial_fit(part)
        if k > 1:
            assert_exact(model, SlowSubspace(3, solver="dense").fit(ROWS[: model.n_samples_seen_]))
    assert model.alpha_ == SlowSubspace(3, solver="sketch").fit(ROWS).alpha_


@pytest.mark.parametrize("cuts", [[450], [3, 700], [100, 200, 300, 899]])
@pytest.mark.parametrize("new_sequence", [False, True])
def test_parts_merge_exactly(cuts, new_sequence):
    """Law 1: however the rows are cut, and in whatever order parts are merged."""
    parts = np.split(ROWS, cuts)
    fitted = [SlowSubspace(3, solver="sketch").partial_fit(part) for part in parts]
    ahead, back = fitted[0], fitted[-1]
    for one in fitted[1:]:
        ahead = ahead.merge(one, new_sequence=new_sequence)
    for one in fitted[-2::-1]:
        back = one.merge(back, new_sequence=new_sequence)
    dense = SlowSubspace(3, solver="dense")
    for part in parts:
        dense.partial_fit(part, new_sequence=new_sequence)
    assert_exact(ahead, dense)
    assert_exact(back, dense)


def test_what_is_saved_goes_on_to_the_last_bit(tmp_path):
    model = SlowSubspace(3, solver="sketch").partial_fit(ROWS[:450])
    save(model, tmp_path / "half.eigs")
    copy = load(tmp_path / "half.eigs")
    assert_same_state(copy._learner.state(), model._learner.state())
    for one in (model, copy):
        one.partial_fit(ROWS[450:])
    assert_same_state(copy._learner.state(), model._learner.state())
    assert copy.alpha_ == model.alpha_ == SlowSubspace(3, solver="sketch").fit(ROWS).alpha_


# ---- what the frame cannot find ----------------------------------------------------------------


@pytest.mark.parametrize(("width", "size", "seed"), [(150, 0.03, 1), (250, 0.1, 0), (250, 0.03, 1)])
def test_sources_much_smaller_than_fast_ones_are_found(width, size, seed):
    """A frame may miss them in any number of passes."""
    rng = np.random.default_rng(seed)
    rows = slow_rows(4000, width, seed, slow=3, size=size) - 3.0
    turn = np.linalg.qr(rng.standard_normal((width, width)))[0]
    rows = rows @ (turn * np.exp(rng.standard_normal(width))) @ turn.T
    dense, model = (
        SlowSubspace(3, solver="dense").fit(rows),
        SlowSubspace(3, solver="sketch").fit(rows),
    )
    assert_exact(model, dense, rtol=1e-8)


# ---- passes ------------------------------------------------------------------------------------


class Counted:
    """Rows that count how often they are read."""

    def __init__(self):
        self.stream, self.n = open_stream(ROWS, chunk_rows=300), 0

    def __getattr__(self, name):
        return getattr(self.stream, name)

    def chunks(self, *given, **named):
        self.n += 1
        return self.stream.chunks(*given, **named)


@pytest.mark.parametrize("passes", [1, 2, 5])
def test_rows_are_read_once_whatever_is_asked_for(passes):
    rows = Counted()
    model = SlowSubspace(3, solver="sketch").fit(rows, passes=passes)
    assert rows.n == 1
    np.testing.assert_array_equal(
        model.components_, SlowSubspace(3, solver="sketch").fit(ROWS).components_
    )


@pytest.mark.parametrize("rows_first", [300, 900])
def test_a_fit_that_was_stopped_goes_on_and_reads_once(rows_first, tmp_path):
    """Within the first pass, and where it has just ended."""
    keeper = stops_behind(Checkpoint(tmp_path / "c.eigs", every=100), rows_first)
    stream = open_stream(ROWS, chunk_rows=100)
    model = SlowSubspace(3, solver="sketch")
    with pytest.raises(Interrupted):
        model.fit(stream, passes=3, checkpoint=keeper)
    model.fit(stream, passes=3, checkpoint=tmp_path / "c.eigs", resume=True)
    whole = SlowSubspace(3, solver="sketch").fit(ROWS)
    assert model.n_samples_seen_ == len(ROWS)
    assert model.alpha_ == whole.alpha_
    np.testing.assert_array_equal(model.components_, whole.components_)


def test_a_further_pass_starts_from_nothing():
    sketch = OperatorSketch(3, weights=None, lag=1)
    sketch.add(ROWS)
    assert sketch.exact
    again = sketch.another_pass()
    assert not again.exact  # of no rows nothing is known
    again.add(ROWS)
    assert again.solution().weights == sketch.solution().weights


# ---- what is refused ---------------------------------------------------------------------------


@pytest.fixture
def small_machine(monkeypatch):
    """Four matrices of 150 x 150 are just a quarter of the memory."""
    monkeypatch.setattr(base, "physical_memory", lambda: 4 * 8 * 150**2 * 4.0)


@pytest.mark.usefixtures("small_machine")
@pytest.mark.parametrize("passes", [1, 2])
@pytest.mark.parametrize("solver", ["sketch", "auto"])
def test_sums_that_do_not_fit_are_not_held(solver, passes):
    narrow = SlowSubspace(3, solver="sketch").partial_fit(ROWS[:, :150])
    before = narrow._learner.state()
    words = r"alpha='auto' over 200 columns is not for solver='sketch': .*use solver='krylov'"
    with pytest.raises(ValueError, match=words):
        SlowSubspace(3, solver=solver).partial_fit(ROWS)
    if solver == "sketch":
        with pytest.raises(ValueError, match=words):
            narrow.fit(ROWS, passes=passes)
    elif passes == 1:
        assert SlowSubspace(3).fit(ROWS).solver_ == "krylov"
    assert_same_state(narrow._learner.state(), before)


@pytest.mark.usefixtures("small_machine")
def test_what_is_refused_is_found_as_it_says():
    dense = SlowSubspace(3, solver="dense").fit(ROWS)
    model = SlowSubspace(3, solver="krylov").fit(ROWS)
    assert model.alpha_ == pytest.approx(dense.alpha_, rel=1e-9)


def test_a_frame_is_not_to_be_had():
    with pytest.raises(ValueError, match=r"oversampling=9\.0 is the size of a frame, and alpha"):
        SlowSubspace(3, solver="sketch", oversampling=9.0).fit(ROWS)
    with pytest.raises(
        ValueError, match=r"oversampling=9\.0 is the size of a frame.*there is none"
    ):
        OperatorSketch(3, weights=None, lag=1, oversampling=9.0)


def test_no_number_of_directions_no_alpha():
    for learn in (SlowSubspace.fit, SlowSubspace.partial_fit):
        with pytest.raises(ValueError, match="n_components=None is no number"):
            learn(SlowSubspace(None, solver="sketch"), ROWS)
    with pytest.raises(ValueError, match="give their number"):
        OperatorSketch(None, weights=None, lag=1)


@pytest.mark.parametrize("seed", range(3))
def test_no_frame_would_be_sure_to_find_it(seed):
    """Why: small channels count in alpha as much as others, and next to nothing in any sum."""
    rng = np.random.default_rng(seed)
    rows = slow_rows(6000, 300, seed, slow=3, size=0.03) - 3.0
    turn = np.linalg.qr(rng.standard_normal((300, 300)))[0]
    rows = rows @ (turn * np.exp(rng.standard_normal(300))) @ turn.T
    exact = SlowSubspace(3, solver="sketch").fit(rows).alpha_
    framed = OperatorSketch(3, weights=(exact, 1.0 - exact), lag=1)  # the right ones even
    for _ in range(3):
        framed = framed.another_pass()
        framed.add(rows)
    found = framed.solution()
    read = 1.0 / (1.0 + eigh(found.rewarded, found.penalised, eigvals_only=True)[-3])
    assert above(read) > 1.5 * exact
