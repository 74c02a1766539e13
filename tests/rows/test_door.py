"""Rows that are known to be sound skip scikit-learn's validation, and are what it would give."""

import numpy as np
import pytest

from eigenstream import CompetitiveLearning, OjaNeuron, Perceptron, StreamPCA
from eigenstream.core.checks import check_finite
from eigenstream.rows.door import known_rows

ROWS = np.random.default_rng(0).standard_normal((40, 3))
SIDES = (ROWS @ [1.0, 2.0, 3.0] > 0) * 1


def learned(model):
    return model.fit(ROWS, SIDES) if isinstance(model, Perceptron) else model.fit(ROWS)


def answer(model, rows):
    return (model.predict if hasattr(model, "predict") else model.transform)(rows)


EACH = pytest.mark.parametrize(
    "model",
    [Perceptron(random_state=0), OjaNeuron(random_state=0), StreamPCA(2), CompetitiveLearning(3)],
    ids=lambda one: type(one).__name__,
)

#: Other forms of the same rows: those in the first line are known, the others are converted.
FORMS = {
    "by columns": (np.asfortranarray, True),
    "every second": (lambda rows: np.repeat(rows, 2, axis=0)[::2], True),
    "the other byte order": (lambda rows: rows.astype(">f8"), False),
    "lists": (lambda rows: rows.tolist(), False),
    "objects": (lambda rows: rows.astype(object), False),
    "a subclass": (lambda rows: rows.view(np.ma.MaskedArray), False),
}


@EACH
@pytest.mark.parametrize("name", FORMS)
def test_other_forms_of_the_same_rows(model, name):
    form, known = FORMS[name]
    model = learned(model)
    assert known_rows(model, form(ROWS)) is known
    # Responses are sums of three products, added up in the order of the memory.
    np.testing.assert_allclose(answer(model, form(ROWS)), answer(model, ROWS), rtol=0, atol=1e-14)


def test_large_numbers_whose_squares_do_not_overflow_are_taken():
    """Their sum of squares does: that is no offence."""
    check_finite(np.full((10**4, 3), 1e150))
    check_finite(np.full((10**4, 3), 1e20, np.float32))
    with pytest.raises(ValueError, match=r"up to 1e\+151, whose squares overflow"):
        check_finite(np.array([[0.0, -1e151]]))
