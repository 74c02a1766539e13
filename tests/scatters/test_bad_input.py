"""Scatters take whatever holds real numbers, and refuse the rest before anything is added."""

import numpy as np
import pytest
import scipy.sparse as sp

from eigenstream import ClassScatter, Contrast, PairScatter, VarianceScatter, VelocityScatter

ROWS = np.random.default_rng(0).standard_normal((300, 4))
LABELS = np.repeat([0, 1, 2], 100)


def contrast():
    return Contrast(VarianceScatter(4, lag=1), VelocityScatter(4), (0.5, 0.5))


EMPTY = {
    "variance": lambda: VarianceScatter(4),
    "velocity": lambda: VelocityScatter(4, lag=2),
    "contrast": contrast,
    "classes": lambda: ClassScatter(4, same=True),
}


def update(scatter, rows):
    return scatter.update(rows, *([LABELS] if isinstance(scatter, ClassScatter) else []))


def with_value(value):
    rows = ROWS.copy()
    rows[12, 3] = value
    return rows


@pytest.mark.parametrize("empty", EMPTY.values(), ids=EMPTY)
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (with_value(np.nan), "contains? NaN at row 12, column 3"),
        (sp.csr_array(with_value(-np.inf)), "contains? infinity at row 12, column 3"),
        (np.ma.masked_equal(with_value(999.0), 999.0), "contains? NaN at row 12, column 3"),
        (ROWS + 1j, "must hold real numbers, got dtype complex128"),
        (sp.csr_array(ROWS + 1j), "must hold real numbers, got dtype complex128"),
        (ROWS.astype(str), "must hold real numbers"),
        ("rows.csv", "read it first"),
        (ROWS[:, :3], r"shape \(n, 4\)"),
        (ROWS[0], r"shape \(n, 4\)"),
    ],
    ids=["NaN", "sparse", "masked", "complex", "sparse complex", "text", "file", "narrow", "flat"],
)
def test_refused_rows_change_nothing(empty, rows, message):
    scatter = update(empty(), ROWS)
    before, count = scatter.matrix(), scatter.n_rows
    with pytest.raises((ValueError, TypeError), match=message):
        update(scatter, rows)
    np.testing.assert_array_equal(scatter.matrix(), before)
    assert scatter.n_rows == count


@pytest.mark.parametrize(
    ("labels", "groups", "message"),
    [
        (LABELS[:3], None, "labels must hold one name a row, 300 in all"),
        ([None] * 300, None, "labels contain None at row 0"),
        (LABELS, LABELS[:3], "groups must hold one name a row"),
    ],
)
def test_a_label_for_every_row(labels, groups, message):
    scatter = ClassScatter(4, same=True).update(ROWS, LABELS)
    before = scatter.matrix()
    with pytest.raises(ValueError, match=message):
        scatter.update(ROWS, labels, groups=groups)
    np.testing.assert_array_equal(scatter.matrix(), before)


def test_pairs_of_numbers():
    pairs = ROWS.reshape(150, 2, 4)
    scatter = PairScatter(4).update(pairs.tolist())
    np.testing.assert_array_equal(scatter.matrix(), PairScatter(4).update(pairs).matrix())
    with pytest.raises(ValueError, match="pairs contains NaN at row 6, column 3"):
        scatter.update(with_value(np.nan).reshape(150, 2, 4))
    assert scatter.n_rows == 150
