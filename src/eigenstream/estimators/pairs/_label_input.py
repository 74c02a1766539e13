"""From what users pass as labelled rows to checked ones, behind a feature map."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from eigenstream._checks import (
    check_finite,
    check_names,
    check_unmasked,
    check_weights,
    is_sparse,
    warn_user,
)
from eigenstream._memory import chunk_rows
from eigenstream.estimators import _input, _mapping
from eigenstream.estimators._missing import note_skipped
from eigenstream.learners.pairs import LabelledRows
from eigenstream.scatters.classes import keys_of

#: Of what kind names are, by what they name.
Kinds = Mapping[str, str]


class MappedRows:
    """Labelled rows behind a feature map, as often as they are asked for."""

    def __init__(
        self, given: LabelledRows, features: Any, random_state: Any, passes: int = 1
    ) -> None:
        self.given = given
        self.passes = passes
        self._features = features
        self._random_state = random_state

    @property
    def width(self) -> int:
        """The number of features behind the map."""
        return int(_mapping.mapped(self._features, self.given.rows[:1]).shape[1])

    def whole(self) -> LabelledRows:
        """Return all of them, behind the feature map."""
        return self.given.with_rows(_mapping.mapped(self._features, self.given.rows))

    def parts(self, *, shuffled: bool = False) -> Iterator[LabelledRows]:
        """Start a pass over them, behind the feature map; in random order if so wanted."""
        if self._features is None and not shuffled:
            yield self.given
            return
        # Chunk by chunk: what the map makes of all the rows may not fit.
        n, step = len(self.given), chunk_rows(max(self.given.width, self.width))
        order = check_random_state(self._random_state).permutation(n) if shuffled else None
        for start in range(0, n, step):
            part: Any = slice(start, start + step)
            some = self.given.chosen(part if order is None else order[part])
            yield some.with_rows(_mapping.mapped(self._features, some.rows))


def checked(
    estimator: Any, X: Any, y: Any, sample_weight: Any, groups: Any, *, reset: bool
) -> LabelledRows:
    """Return rows with what belongs to them; rows with NaN are refused or weigh nothing."""
    rows = _input.validated(estimator, X, reset=reset)
    labels = checked_labels(estimator, y)
    n = rows.shape[0]
    for name, values in (("y", labels), ("groups", groups)):
        if values is not None and np.shape(values) != (n,):
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {n} rows and "
                f"{name} has shape {np.shape(values)}."
            )
    tasks = None if groups is None else check_names(groups, "groups", n)
    known: Kinds = {} if reset else estimator._kinds
    estimator._kinds = same_kinds(known, kinds_of(labels, tasks))
    weights = None if sample_weight is None else check_weights(sample_weight, n)
    part = _input.clean(rows, weights, estimator.missing, True)
    note_skipped(estimator, part.holes, n, "row", reset=reset)
    if weights is not None:
        _check_weight(labels, tasks, weights)
    kept = part.rows.tocsr() if is_sparse(part.rows) else part.rows
    return LabelledRows(kept, labels, tasks, part.weights)


def kinds_of(labels: Any, groups: Any) -> Kinds:
    """Say of what kind the names are: 1 and "1" are two classes."""
    given = {"y": labels} if groups is None else {"y": labels, "groups": groups}
    words = {"U": "text", "S": "bytes", "O": "objects"}
    return {name: words.get(values.dtype.kind, "numbers") for name, values in given.items()}


def same_kinds(known: Kinds, more: Kinds) -> Kinds:
    """Return the kinds of all names so far, refusing those that cannot mean the same classes."""
    for name in known.keys() & more.keys():
        if known[name] != more[name]:
            raise ValueError(
                f"{name} holds {more[name]}, and held {known[name]} before: they would name other "
                "classes. Use one kind throughout, such as text."
            )
    return {**known, **more}


def _check_weight(labels: Any, groups: Any, weights: Any) -> None:
    """Warn of weights so small that, as repetitions, they leave no pair of one class."""
    heavy = weights > 0
    if not heavy.any():
        return
    _, codes = keys_of(labels[heavy], None if groups is None else groups[heavy])
    if np.bincount(codes).max() > 1 and np.bincount(codes, weights[heavy]).max() <= 1.0:
        warn_user(
            "sample_weight counts as repetitions, and the weights of no class add up to more than "
            "1: there is no pair of one class, and nothing to bring together. Multiply them, such "
            "as by len(sample_weight) / sample_weight.sum()."
        )


def checked_labels(estimator: Any, y: Any) -> NDArray[Any]:
    """Return class labels as one array, refusing what names no classes."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None: give "
            "one class label a row."
        )
    check_unmasked(y, "y")
    labels = column_or_1d(y, warn=True)
    if labels.dtype.kind == "f":
        check_finite(labels[:, None], name="y")
    labels = check_names(labels, "y", len(labels))
    check_classification_targets(labels)
    return np.asarray(labels)


def check_classes(given: LabelledRows) -> None:
    """Refuse labels that imply no pair of different classes."""
    kept = given.weighing
    if len(kept) == 0:
        raise ValueError(
            "no row is left to learn from: all have a weight of zero or a missing value."
        )
    keys, _ = keys_of(kept.labels, kept.groups)
    tasks = [key[0] for key in keys]
    if len(set(tasks)) == len(tasks):
        where = "y names one class" if given.groups is None else "every group names one class"
        raise ValueError(
            f"{where} only ({keys[0][1]!r}), so that no pair is of different classes; give rows of "
            f"at least two (n_samples={len(given)})."
        )
