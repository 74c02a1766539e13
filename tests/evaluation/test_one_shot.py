from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings

import oracles
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


@given(oracles.labelled_grids(most=9))
@settings(max_examples=150, deadline=None)
def test_counting_equals_enumeration(case):
    Z, labels = case
    assert one_shot_error(Z, labels) == pytest.approx(enumerated(Z, labels), abs=1e-12)


def test_ties_are_errors():
    error = one_shot_error(np.zeros((6, 2)), [0, 0, 0, 1, 1, 1])
    assert error == pytest.approx(1.0, abs=1e-15)
