"""The first sentences of a page: the result, its doubt and the next step."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from eigenstream.core.types import Estimator
from eigenstream.prototypes import CompetitiveLearning, SelfOrganizingMap
from eigenstream.reports._drawings import column_names, in_time, known
from eigenstream.subspace import HeldOutVariance, pair_risks
from eigenstream.subspace.estimators.base import SubspaceEstimator
from eigenstream.subspace.inference.diagnostics import deviations

#: Columns that the first sentence names.
MOST_NAMED = 3


def summary(estimator: Estimator, dt: float, unit: str, held_out: Any = None) -> str:
    """Return three sentences about a fitted estimator. ``held_out`` is a ROC curve, if known."""
    if isinstance(estimator, SelfOrganizingMap):
        error = known(estimator, "topographic_error_")
        sure = "Call fit to know how well the map is ordered."
        if error is not None:
            sure = f"For {error:.1%} of the rows the two nearest units are not neighbours."
        return (
            f"{len(estimator.prototypes_)} units stand for the rows. {sure} "
            "Look for ridges of the U-matrix, which separate groups of rows."
        )
    if isinstance(estimator, CompetitiveLearning):
        counts = estimator.counts_
        share = counts.max() / max(counts.sum(), 1e-300)
        dead = len(estimator.dead_)
        return (
            f"The largest of {len(counts)} prototypes stands for {share:.0%} of the rows. "
            f"{dead or 'No'} prototype{'s' * (dead != 1)} won no rows. "
            "Compare the quantisation error with other numbers of prototypes on other rows."
        )
    if hasattr(estimator, "pair_distance"):
        return _of_pairs(estimator, held_out)
    if hasattr(estimator, "loss_curve_"):
        losses = estimator.loss_curve_
        state = "has converged" if known(estimator, "converged_") else "had not converged"
        return (
            f"The mean loss fell from {losses[0]:.3g} to {losses[-1]:.3g} in {len(losses)} "
            f"pass{'es' * (len(losses) != 1)}. Learning {state}. "
            "Compare the score on rows that were not learned from."
        )
    if in_time(estimator):
        return _in_time(estimator, dt, unit)
    return ""


def _of_pairs(estimator: Estimator, held_out: Any) -> str:
    risk = pair_risks(estimator).risk
    finding = f"The learned distance confuses {risk:.1%} of the training pairs, with equal weights."
    if held_out is None:
        return (
            f"{finding} Held-out classes are not known: pass rows and labels to report. "
            "Training pairs overestimate the quality."
        )
    return (
        f"{finding} {held_out.sentence} "
        "Set the threshold for a stated rate of errors by calibrate_threshold, on other pairs."
    )


def _in_time(estimator: Estimator, dt: float, unit: str) -> str:
    """Return the sentences about principal, slow or self-predicting features."""
    columns = known(estimator, "components_")
    named = ""
    if columns is not None and known(estimator, "features") is None:
        weights = np.nan_to_num(np.abs(columns[0] * deviations(estimator)))
        order = np.argsort(-weights, kind="stable")[:MOST_NAMED]
        names = column_names(estimator)
        *listed, last = [names[k] for k in order]
        named = f", mostly of {', '.join(listed)}{' and ' * bool(listed)}{last},"
    share = known(estimator, "explained_variance_ratio_")
    bars, test = known(estimator, "result_.uncertainty"), known(estimator, "result_.held_out")
    if share is not None:
        finding = (
            f"The first component{named} holds {share[0]:.1%} of the variance, and "
            f"{len(share)} together hold {share.sum():.1%}."
        )
    else:
        finding = f"The slowest feature{named} {_duration(estimator, bars, dt, unit)}."
    return " ".join([finding, *_doubt(estimator, bars, test)])


def _duration(estimator: Estimator, bars: Any, dt: float, unit: str) -> str:
    scales = known(estimator, "timescales_")
    if scales is None or not len(scales):
        return "has no known time scale, because the solver only estimates"
    if np.isnan(scales[0]):
        return "is not distinguishable from noise"
    text = f"has a time scale of {dt * scales[0]:.3g} {unit}"
    times = known(bars, "timescales")
    if times is not None and np.isfinite(times.low[0]):
        low, high = dt * times.low[0], dt * times.high[0]
        text += f" (95 % interval {low:.3g} to {high:.3g})"
    return text


def _doubt(estimator: Estimator, bars: Any, test: Any) -> Iterator[str]:
    """Yield how sure the features are, and what to do next."""
    if isinstance(test, HeldOutVariance):
        yield test.sentence
    elif test is not None and test.chance.any():
        chance = np.flatnonzero(test.chance) + 1
        listed = ", ".join(map(str, chance[:5])) + ", ..." * (len(chance) > 5)
        yield f"Not distinguishable from noise: feature{'s' * (len(chance) > 1)} {listed}."
        yield "Use more rows, fewer columns or a shorter lag."
        return
    elif test is None:
        yield "The features are not tested on other rows."
    elif np.isfinite(test.other_half).all():
        own, other = test.in_sample[0], test.other_half[0]
        yield (
            f"Learned on half of the rows, it has an autocorrelation of {other:.3f} on the other "
            f"half, against {own:.3f} on all rows."
        )
        if test.inflated[0]:
            yield "Do not report its time scale: use more rows, fewer columns or a shorter lag."
            return
    if bars is None:
        yield "There are no intervals: fit with blocks=20 (--blocks 20) to get them."
    elif bars.warning:
        yield "The intervals are too narrow, because the recording is short: use more rows."
    else:
        degrees = np.degrees(bars.angles[0])
        yield f"Its direction is known to {degrees:.2g} degrees."
        lag = known(estimator, "lag")
        yield "Compare other lags by lag_path." if lag else "Compare other numbers of components."


def warnings_of(estimator: Estimator) -> list[str]:
    """Return the warnings of a fit, also of a model from a file."""
    learner = vars(estimator).get("_learner")
    if not isinstance(estimator, SubspaceEstimator) or learner is None:
        return []
    ready = learner.ahead()
    each = [watcher.warnings(estimator, ready, None) for watcher in ready.watchers.values()]
    said = [known(estimator, f"result_.{name}.warning") for name in ("uncertainty", "held_out")]
    return [*chain.from_iterable(each), *filter(None, said)]
