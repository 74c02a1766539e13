"""The first sentences of a page: the result, its doubt and the next step."""

import warnings
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from eigenstream.core.types import Estimator
from eigenstream.prototypes import CompetitiveLearning, SelfOrganizingMap
from eigenstream.reports._drawings import attribute, column_names, units_of_weights
from eigenstream.subspace import ClassSubspace, ContrastSubspace, pair_risks
from eigenstream.subspace.estimators.base import SubspaceEstimator
from eigenstream.subspace.pairs.decisions import PairDecisions

#: Columns that the first sentence names.
MOST_NAMED = 3


def summary(
    estimator: Estimator, dt: float, unit: str, held_out: Any = None, score: float | None = None
) -> str:
    """Return sentences about the result, its doubt and the next step.

    ``held_out`` is the ROC curve of held-out classes, and ``score`` that of the rows of the page.
    """
    sentences: Iterator[str] = iter(())
    if isinstance(estimator, SelfOrganizingMap):
        sentences = _of_map(estimator)
    elif isinstance(estimator, CompetitiveLearning):
        sentences = _of_prototypes(estimator)
    elif isinstance(estimator, PairDecisions):
        sentences = _of_pairs(estimator, held_out)
    elif attribute(estimator, "loss_curve_") is not None:
        sentences = _of_neurons(estimator, score)
    elif isinstance(estimator, SubspaceEstimator):
        sentences = _of_subspace(estimator, dt, unit)
    elif attribute(estimator, "components_") is not None:
        sentences = _of_hebbian(estimator)
    return " ".join(sentences)


def _of_map(som: SelfOrganizingMap) -> Iterator[str]:
    yield f"{len(som.prototypes_)} units stand for the rows."
    error = attribute(som, "topographic_error_")
    if error is None:
        yield "Call fit to know how well the map is ordered."
    else:
        yield f"For {error:.1%} of the rows the two nearest units are not neighbours."
    yield "Look for ridges of the U-matrix, which separate groups of rows."


def _of_prototypes(estimator: CompetitiveLearning) -> Iterator[str]:
    counts, n_dead = estimator.counts_, len(estimator.dead_)
    share = counts.max() / max(counts.sum(), 1e-300)
    yield f"The largest of {len(counts)} prototypes stands for {share:.0%} of the rows."
    if len(counts) < estimator.n_prototypes:
        yield f"Too few rows differ for n_prototypes={estimator.n_prototypes}."
    yield f"Prototypes without rows: {n_dead}." if n_dead else "Every prototype has rows."
    yield "Compare the quantisation error with other numbers of prototypes on other rows."


def _of_neurons(estimator: Estimator, score: float | None) -> Iterator[str]:
    losses = estimator.loss_curve_
    passes = f"{len(losses)} pass{'es' * (len(losses) != 1)}"
    yield f"The mean loss went from {losses[0]:.3g} to {losses[-1]:.3g} in {passes}."
    yield f"Learning {'has' if attribute(estimator, 'converged_') else 'has not'} converged."
    if score is not None:
        kind = "accuracy" if is_classifier(estimator) else "R²"
        yield f"On the rows of this page the {kind} is {score:.3f}."
    yield "Compare the score on rows that were not learned from."


def _of_hebbian(estimator: Estimator) -> Iterator[str]:
    if attribute(estimator, "explained_variance_ratio_") is not None:
        yield _variance(estimator)
    else:
        yield "Call fit to know the variance of the components."
    yield "The components are not tested on other rows."
    yield "Compare them with the components of StreamPCA."


def _variance(estimator: Estimator) -> str:
    """Return a sentence about the variance along the components."""
    columns, share = _columns(estimator), estimator.explained_variance_ratio_
    named = f", mostly of {columns}," if columns else ""
    rest = f", and {len(share)} together hold {share.sum():.1%}" * (len(share) > 1)
    return f"The first component{named} holds {share[0]:.1%} of the variance{rest}."


def _of_pairs(estimator: Estimator, held_out: Any) -> Iterator[str]:
    if columns := _columns(estimator):
        yield f"The distance depends mostly on {columns}."
    yield (
        f"It decides {pair_risks(estimator).risk:.1%} of the training pairs wrongly, if same and "
        "different pairs weigh equally."
    )
    if held_out is not None:
        yield held_out.sentence
    elif isinstance(estimator, ClassSubspace):
        yield "Training pairs overestimate the quality: pass rows and labels to report."
    else:
        yield "Training pairs overestimate the quality: call score on other pairs."
    yield "Set the threshold for a stated rate of errors by calibrate_threshold, on other pairs."


def _columns(estimator: Estimator) -> str:
    """Return the columns of the first component for a sentence, if their units are known."""
    units = units_of_weights(estimator)
    if units is None or attribute(estimator, "features") is not None:
        return ""
    weights = np.nan_to_num(np.abs(estimator.components_[0] * units))
    order = np.argsort(-weights, kind="stable")[:MOST_NAMED]
    names = column_names(estimator)
    *listed, last = [names[k] for k in order]
    return f"{', '.join(listed)}{' and ' * bool(listed)}{last}"


def _of_subspace(estimator: Estimator, dt: float, unit: str) -> Iterator[str]:
    """Yield sentences about principal, slow, self-predicting or contrasting features."""
    columns, share = _columns(estimator), attribute(estimator, "explained_variance_ratio_")
    named = f", mostly of {columns}," if columns else ""
    bars, test = (
        attribute(estimator, "result_.uncertainty"),
        attribute(estimator, "result_.held_out"),
    )
    if share is not None:
        yield _variance(estimator)
        yield "The components are not tested on other rows." if test is None else test.sentence
    elif isinstance(estimator, ContrastSubspace):
        yield (
            f"The first component{named} has more variance in the rows than in the background, by "
            f"{estimator.eigenvalues_[0]:.3g} at alpha = {estimator.alpha:.3g}."
        )
        yield "Its score on other rows is not known: call score on held-out rows."
        yield "Compare other values of alpha."
        return
    elif test is not None and test.chance.all():
        yield "The features are not distinguishable from noise."
        yield "Check that the rows are in time order. Use more rows, fewer columns or another lag."
        return
    else:
        yield f"The slowest feature{named} {_duration(estimator, bars, dt, unit)}."
        if test is None:
            yield "The features are not tested on other rows."
        elif np.isfinite(test.other_half).all():
            own, other = test.in_sample[0], test.other_half[0]
            yield (
                f"Learned on half of the rows, it has an autocorrelation of {other:.3f} on the "
                f"other half, against {own:.3f} on all rows."
            )
            if test.inflated[0]:
                yield "Do not report its time scale: use more rows, fewer columns or a shorter lag."
                return
    chance = np.flatnonzero(test.chance) + 1 if test is not None else ()
    if len(chance) and share is None:
        listed = ", ".join(map(str, chance[:5])) + ", ..." * (len(chance) > 5)
        yield f"Not distinguishable from noise: feature{'s' * (len(chance) > 1)} {listed}."
    if bars is None:
        solver = "solver='dense' and " * (estimator.solver_ != "dense")
        yield f"There are no intervals: fit with {solver}blocks=20 (--blocks 20) to get them."
    elif bars.warning:
        yield "The intervals are too narrow, because the recording is short: use more rows."
    else:
        first = "Its direction" if share is None else "The direction of the first one"
        yield f"{first} is known to {np.degrees(bars.angles[0]):.2g} degrees."
    if attribute(estimator, "lag"):
        yield "Noise shortens time scales at short lags: compare lags by lag_path."


def _duration(estimator: Estimator, bars: Any, dt: float, unit: str) -> str:
    scales = attribute(estimator, "timescales_")
    if scales is None or not len(scales):
        return f"has no time scale, because solver={estimator.solver_!r} does not compute it"
    if np.isnan(scales[0]):
        return "is not distinguishable from noise"
    text = f"has a time scale of {dt * scales[0]:.3g} {unit} at lag {estimator.lag}"
    times = attribute(bars, "timescales")
    if times is not None and np.isfinite(times.low[0]):
        low, high = dt * times.low[0], dt * times.high[0]
        text += f" (95 % interval {low:.3g} to {high:.3g})"
    return text


def warnings_of(estimator: Estimator) -> list[str]:
    """Return the warnings of a fit, also of a model from a file: it is solved again for them."""
    learner = vars(estimator).get("_learner")
    if not isinstance(estimator, SubspaceEstimator) or learner is None:
        return []
    ready = learner.with_all_rows()
    with warnings.catch_warnings(record=True) as solved:
        warnings.simplefilter("always")
        if estimator.solver_ != "krylov":  # it stores no rows
            estimator._solve(ready)
    each = [watcher.warnings(estimator, ready, None) for watcher in ready.watchers.values()]
    said = [attribute(estimator, f"result_.{name}.warning") for name in ("uncertainty", "held_out")]
    return [
        *(str(entry.message) for entry in solved),
        *chain.from_iterable(each),
        *filter(None, said),
    ]
