"""The table of abilities in the docs is the present one, and each ability is there."""

import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import eigenstream
from members import DATA

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
import abilities

#: The input of an estimator that needs more than rows.
KINDS = {
    "ClassSubspace": "labels",
    "PairSubspace": "pairs",
    "PairMetric": "pairs",
    "Perceptron": "targets",
    "Adaline": "targets",
    "MultilayerPerceptron": "targets",
    "AdalineRegressor": "numbers",
    "MultilayerPerceptronRegressor": "numbers",
}


def prepared(name):
    """Return an estimator, and what it learns from."""
    model = getattr(eigenstream, name)()
    X, y = DATA[KINDS.get(name, "rows")]
    named = {} if y is None else {"y": y}
    return model, X, named | ({"background": X[:50]} if name == "ContrastSubspace" else {})


def learns_sparse(name):
    model, X, named = prepared(name)
    model.fit(sp.csr_array(X.reshape(len(X), -1)), **named)


def learns_weights(name):
    model, X, named = prepared(name)
    model.fit(X, **named, sample_weight=np.arange(len(X)) % 3 + 1.0)


def continues(name):
    model, X, named = prepared(name)
    classes = {"classes": [0, 1]} if KINDS.get(name) == "targets" else {}
    model.partial_fit(X, **named, **classes)


def merges(name):
    (model, X, named), other = prepared(name), prepared(name)[0]
    model.fit(X, **named).merge(other.fit(X, **named))


TRIALS = {
    "sparse rows": learns_sparse,
    "weights": learns_weights,
    "`partial_fit`": continues,
    "`merge`, Dask": merges,
}


def test_the_table_is_the_present_one():
    text = abilities.PAGE.read_text(encoding="utf-8")
    assert text == abilities.page(), "run python docs/abilities.py"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ability", TRIALS)
@pytest.mark.parametrize("name", abilities.NAMES)
def test_estimators_have_the_abilities_of_the_table_and_no_others(name, ability):
    if abilities.COLUMNS[ability](getattr(eigenstream, name)):
        TRIALS[ability](name)
        return
    with pytest.raises((TypeError, ValueError, AttributeError)):
        TRIALS[ability](name)
