from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenstream.evaluation import one_shot_error


def enumerated(Z, labels):
    """The mean error over every choice of one example a class, each classified by hand."""
    classes = np.unique(labels)
    errors = []
    for examples in product(*[np.flatnonzero(labels == c) for c in classes]):
        queries = [q for q in range(len(Z)) if q not in examples]
        wrong = 0
        for q in queries:
            distances = [((Z[q] - Z[e]) ** 2).sum() for e in examples]
            own = distances[int(np.flatnonzero(classes == labels[q])[0])]
            others = [d for d, c in zip(distances, classes, strict=True) if c != labels[q]]
            wrong += not own < min(others)
        errors.append(wrong / len(queries))
    return np.mean(errors)


@st.composite
def labelled_grids(draw):
    n = draw(st.integers(3, 9))
    d = draw(st.integers(1, 3))
    numbers = draw(st.lists(st.integers(-3, 3), min_size=n * d, max_size=n * d))
    labels = draw(st.lists(st.integers(0, 3), min_size=n - 3, max_size=n - 3))
    return np.array(numbers, dtype=float).reshape(n, d), np.array([0, 0, 1, *labels])


@given(labelled_grids())
@settings(max_examples=150, deadline=None)
def test_counting_equals_enumeration(case):
    Z, labels = case
    assert one_shot_error(Z, labels).error == pytest.approx(enumerated(Z, labels), abs=1e-12)


def blobs(n, classes=5, gap=1.0, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % classes
    return rng.normal(size=(n, 3)) + gap * rng.normal(size=(classes, 3))[labels], labels


def test_draws_agree_within_their_standard_error():
    Z, labels = blobs(203)
    found = one_shot_error(Z, labels, n_draws=2000, random_state=0)
    assert found.n_draws == 2000
    assert found.standard_error == pytest.approx(found.spread / 2000**0.5)
    assert abs(found.sampled - found.error) < 4 * found.standard_error
    again = one_shot_error(Z, labels, n_draws=2000, random_state=0)
    assert again == found


def test_without_draws_nothing_is_sampled():
    found = one_shot_error(*blobs(20))
    assert (found.sampled, found.spread, found.standard_error, found.n_draws) == (
        None,
        None,
        None,
        0,
    )
    one = one_shot_error(*blobs(20), n_draws=1, random_state=0)
    assert one.sampled is not None
    assert one.standard_error is None


def test_ties_are_errors():
    found = one_shot_error(np.zeros((6, 2)), [0, 0, 0, 1, 1, 1], n_draws=5)
    assert found.error == pytest.approx(1.0, abs=1e-15)
    assert found.sampled == 1.0


def test_bad_input():
    Z = np.arange(8.0).reshape(4, 2)
    with pytest.raises(ValueError, match="at least two classes"):
        one_shot_error(Z, [1, 1, 1, 1])
    with pytest.raises(ValueError, match="Every class has a single example"):
        one_shot_error(Z, [1, 2, 3, 4])
    with pytest.raises(ValueError, match="n_draws must be a whole number of at least 1"):
        one_shot_error(Z, [1, 1, 2, 2], n_draws=0)
