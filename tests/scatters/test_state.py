"""Law 7 for scatters and contrasts: save anywhere in the stream, restore, go on to the last bit."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from eigenstream.contrast import Contrast
from eigenstream.scatters import (
    ClassScatter,
    PairScatter,
    VarianceScatter,
    VelocityScatter,
    restored,
)
from eigenstream.testing import check_state

ROWS = np.random.default_rng(3).standard_normal((200, 3)) * [1.0, 10.0, 0.1] + 5.0
WEIGHTS = np.random.default_rng(4).integers(0, 3, 200).astype(float)


def streams():
    yield VarianceScatter(3)
    yield VarianceScatter(3, center=False, lag=3)
    yield VelocityScatter(3, lag=3)
    yield Contrast(VarianceScatter(3, lag=3), VelocityScatter(3, lag=3), (0.3, 0.7))
    yield Contrast(VarianceScatter(3), weights=None)


@pytest.mark.parametrize("form", [np.float64, np.float32, "sparse"])
@given(cut=st.integers(0, 200), weighted=st.booleans(), broken=st.booleans())
def test_streams_go_on_from_a_state(form, cut, weighted, broken):
    rows = sp.csr_array(ROWS) if form == "sparse" else ROWS.astype(form)
    first, later = (WEIGHTS[:cut], WEIGHTS[cut:]) if weighted else (None, None)
    for empty in streams():
        begun = empty.update(rows[:cut], sample_weight=first)
        check_state(
            begun,
            lambda s: s.update(rows[cut:], sample_weight=later, new_sequence=broken),
        )


@given(cut=st.integers(1, 99))
def test_pairs_go_on_from_a_state(cut):
    pairs = ROWS.reshape(100, 2, 3)
    index = np.random.default_rng(5).integers(0, 200, (500, 2))

    def go_on(scatter):
        scatter.update(pairs[cut:]).update_indexed(ROWS, index)

    check_state(PairScatter(3).update(pairs[:cut]), go_on)
    pair_contrast = Contrast(PairScatter(3).update(pairs[:cut]), PairScatter(3))
    check_state(pair_contrast, lambda contrast: go_on(contrast.penalty))


@pytest.mark.parametrize("names", ["numbers", "text"])
@given(cut=st.integers(0, 200), tasks=st.booleans(), weighted=st.booleans())
def test_classes_go_on_from_a_state(names, cut, tasks, weighted):
    rng = np.random.default_rng(6)
    labels = np.sort(rng.integers(0, 9, 200))  # new classes come in late
    labels = labels if names == "numbers" else np.array([f"class {k}" for k in labels])
    groups = rng.integers(0, 2, 200) if tasks else None

    def feed(scatter, part):
        return scatter.update(
            ROWS[part],
            labels[part],
            groups=None if groups is None else groups[part],
            sample_weight=WEIGHTS[part] if weighted else None,
        )

    begun = ClassScatter(3, same=False)
    if cut:
        feed(begun, slice(0, cut))
    check_state(begun, lambda scatter: feed(scatter, slice(cut, None)) if cut < 200 else None)


@pytest.mark.parametrize("form", [np.float64, np.float32, np.uint8, "sparse"])
@given(cut=st.integers(1, 199), weighted=st.booleans())
def test_classes_of_few_rows_go_on_from_a_state(form, cut, weighted):
    """Wide rows, so that some classes are kept as their rows, and one is not."""
    rng = np.random.default_rng(6)
    wide = np.abs(rng.standard_normal((200, 60)) * 20 + 40)
    rows = sp.csr_array(wide) if form == "sparse" else wide.astype(form)
    labels = rng.choice([0, 1, 1, 1, 1, 2, 3], 200)

    def feed(scatter, part):
        weights = WEIGHTS[part] if weighted else None
        return scatter.update(rows[part], labels[part], sample_weight=weights)

    begun = feed(ClassScatter(60, same=False), slice(0, cut))
    check_state(begun, lambda scatter: feed(scatter, slice(cut, None)))


def test_class_scatters_made_at_once_are_saved_too():
    labels = np.arange(200) % 7
    whole = ClassScatter.of(ROWS, labels, same=True)
    check_state(whole, lambda scatter: scatter.matrix())
    np.testing.assert_array_equal(restored(whole.state()).matrix(), whole.matrix())


def test_a_state_of_an_unknown_kind_is_refused():
    with pytest.raises(
        ValueError, match="no scatter is of the kind 'skew'; there are classes, pairs,"
    ):
        restored({"kind": "skew"})
