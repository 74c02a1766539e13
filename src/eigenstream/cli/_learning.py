"""What the commands of ``fit`` share: options, maps in front, a pass, and the words for it."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from time import perf_counter
from typing import Annotated, Any

import typer

from eigenstream.cli import _data
from eigenstream.cli._keeping import pace, stoppable
from eigenstream.cli._options import ReadingOptions, SavingOptions, shape_of
from eigenstream.cli._reporting import Noted, check_page, page_written
from eigenstream.cli._steps import PreparingOptions
from eigenstream.cli._waiting import waiting

__all__ = [
    "Found",
    "LearningOptions",
    "RepeatedOptions",
    "Turns",
    "count",
    "features_of",
    "finished",
    "fitted",
    "found_subspace",
    "number",
    "opened",
]

#: What a fit has found: as numbers for machines, and in words.
Found = tuple[dict[str, Any], dict[str, str]]


@dataclass
class LearningOptions:
    """How it is learned."""

    solver: Annotated[
        str, typer.Option(help="How to learn: auto, dense, krylov, flow, sketch, where it applies.")
    ] = "auto"
    features: Annotated[
        str | None,
        typer.Option(
            help="A map in front: rbf:500 (that many prototypes; rbf:500:0.5 with gamma) or "
            "gradients (of images; gradients:7 for 7 x 7 cells)."
        ),
    ] = None
    missing: _data.Missing = "raise"
    seed: Annotated[int, typer.Option(min=0, help="Of what is drawn at random.")] = 0


def features_of(text: str | None, stream: Any, seed: int) -> Any:
    """Return the feature map that --features asks for.

    >>> features_of("rbf:500", None, 0)
    RBFNetwork(gamma='median', random_state=0)
    """
    if text is None:
        return None
    from eigenstream import RBFNetwork
    from eigenstream.features import GradientOrientation

    kind, _, rest = text.partition(":")
    size, _, sharpness = rest.partition(":")
    try:
        if kind == "rbf" and size:
            gamma: Any = "median" if not sharpness or sharpness == "median" else float(sharpness)
            if int(size) > 0 and (gamma == "median" or 0 < gamma < inf):
                return RBFNetwork(int(size), gamma=gamma, random_state=seed)
        if kind == "gradients" and not sharpness:
            shape = stream.row_shape if len(stream.row_shape or ()) == 2 else None
            cells = {"cells": int(size)} if size else {}
            return GradientOrientation(shape=shape, **cells)
    except ValueError:
        pass
    raise ValueError(
        f"--features must be rbf:500, rbf:500:0.5, gradients or gradients:7, got {text!r}."
    )


def count(text: str, shares: bool = False) -> Any:
    """Return how many components are asked for.

    >>> count("3"), count("all"), count("0.95", shares=True)
    (3, None, 0.95)
    """
    if text == "all":
        return None
    try:
        return int(text)
    except ValueError:
        pass
    try:
        if shares:
            return float(text)
    except ValueError:
        pass
    share = ", a share as 0.95" if shares else ""
    raise ValueError(f"-d must be a whole number{share} or all, got {text!r}.")


def number(text: str, option: str, words: tuple[str, ...], extent: str = "a number") -> Any:
    """Return a number, or one of some words.

    >>> number("auto", "--eta", ("auto",)), number("0.5", "--eta", ("auto",))
    ('auto', 0.5)
    """
    if text in words:
        return text
    try:
        return float(text)
    except ValueError:
        listed = ", ".join(words)
        raise ValueError(f"{option} must be {listed} or {extent}, got {text!r}.") from None


def opened(
    data: list[str],
    reading: ReadingOptions,
    saving: SavingOptions,
    missing: str,
    preparing: PreparingOptions | None = None,
    **more: Any,
) -> Any:
    """Return the stream, behind its steps, once it is clear that the model can be written."""
    out, page = saving.out, saving.report
    if out is not None:
        _data.check_output(out, data, (".eigs",))
    check_page(page, saving.shape, data, option=saving.pixels)
    stream = reading.opened(data, missing, **more)
    if preparing is not None:
        stream = preparing.prepared(stream)
    if out is not None:
        _data.check_output(out, list(stream.sources), (".eigs",))
    check_page(page, saving.shape, list(stream.sources), stream.n_features, saving.pixels)
    return stream if page is None else Noted(stream)


def fitted(
    estimator: Any,
    stream: Any,
    saving: SavingOptions,
    keeper: Any,
    found: Callable[[Any, Any, float, Any], Found],
    turn: Callable[[], str] = str,
    **how: Any,
) -> None:
    """Learn from a stream, keeping what is learned on the way, and finish.

    ``found(estimator, stream, seconds, keeper)`` says what came out; ``turn()``, where a pass
    begins, what is to be shown of it. What else there is goes to ``fit``.
    """
    begun = perf_counter()
    with stoppable(keeper):
        with _data.Watched(stream, turn=turn) as watched:
            estimator.fit(watched, checkpoint=keeper, **how)
        seconds = perf_counter() - begun
        with waiting("solving"):
            said = found(estimator, stream, seconds, keeper)
        finished(estimator, stream, saving, seconds, said)


def finished(
    estimator: Any, stream: Any, saving: SavingOptions, seconds: float, said: Found
) -> None:
    """Save what was learned in so many seconds, write its page, and say what and where it is."""
    if saving.out is not None:
        _data.saved(estimator, saving.out)
    if saving.report is not None:
        size = shape_of(saving.shape, saving.pixels)
        with waiting("writing the report"):
            page_written(estimator, stream, saving.report, size, seconds)
    found, facts = said
    saving.told(estimator, found, facts, found.get("eigenvalues"))


def found_subspace(
    estimator: Any,
    stream: Any,
    seconds: float,
    keeper: Any,
    unit: str = "rows",
    passes: int | None = None,
) -> Found:
    """Return what components were learned, in so many passes, as numbers and in words."""
    found = {
        "sources": list(stream.sources),
        "rows": estimator.n_samples_seen_,
        "rows_skipped": estimator.n_samples_skipped_,
        "passes": passes,
        "columns": estimator.n_features_in_,
        "solver": estimator.solver_,
        "eigenvalues": estimator.eigenvalues_,
        "alpha": getattr(estimator, "alpha_", None),
        "explained": getattr(estimator, "explained_variance_ratio_", None),
        "eta": getattr(estimator, "eta_", None),
        "risk": getattr(estimator, "risk_", None),
        "threshold": getattr(estimator, "threshold_", None),
        "seconds": seconds,
    }
    return found, _words(found, keeper, unit)


def _words(found: dict[str, Any], keeper: Any, unit: str) -> dict[str, str]:
    """Return what was found in words."""
    skipped, passes = found["rows_skipped"], found["passes"] or 1
    again = f", in {passes} passes" if passes > 1 else ""
    facts = {
        "sources": _data.names_of(found["sources"]),
        unit: f"{found['rows']:,}" + (f", {skipped:,} left out" if skipped else "") + again,
        "columns": str(found["columns"]),
        "solver": found["solver"],
        "time": pace(found["seconds"], found["rows"] * passes, unit, keeper),
    }
    if found["alpha"] is not None:
        facts["alpha"] = f"{found['alpha']:.6g}"
    if found["explained"] is not None:
        facts["explained"] = f"{100 * float(found['explained'].sum()):.1f} % of the variance"
    if found["eta"] is not None:
        facts["eta"] = f"{found['eta']:.6g}"
    if found["risk"] is not None:
        facts["risk"] = f"{100 * found['risk']:.1f} % of pairs misjudged, the kinds weighing alike"
        facts["threshold"] = f"pairs nearer than {found['threshold']:.6g} count as equal"
    return facts


@dataclass
class RepeatedOptions(LearningOptions):
    """How it is learned, and how often from the same rows."""

    passes: Annotated[
        int,
        typer.Option(
            help="How many times the rows are learned from, with --solver sketch: each pass comes "
            "nearer to the best answer. Standard input allows one."
        ),
    ] = 1


@dataclass
class Turns:
    """What says, where a pass begins, which one of several it is, if it is to learn.

    >>> from eigenstream import StreamPCA
    >>> turns = Turns(StreamPCA(2), None, 2)
    >>> turns(), turns(), turns.made
    (', pass 1 of 2', ', pass 2 of 2', 2)
    """

    estimator: Any
    keeper: Any
    passes: int
    _done: int | None = None

    def __call__(self) -> str:
        """Say it, of the pass that begins."""
        estimator, keeper = self.estimator, self.keeper
        of_map = estimator.features is not None and not hasattr(estimator, "features_")
        if self.passes < 2 or of_map:
            return ""
        # The first one here is that in which the checkpoint stands.
        before = 0 if keeper is None else keeper.passes
        self._done = before if self._done is None else self._done + 1
        return f", pass {self._done + 1} of {self.passes}"

    @property
    def made(self) -> int:
        """How many passes there were: fewer than asked for where nothing was left to be found."""
        return self.passes if self._done is None else self._done + 1
