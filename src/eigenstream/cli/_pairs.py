"""``eigenstream fit pairs``: learn from a table of pairs of rows that are equal or not."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from eigenstream.cli import _data
from eigenstream.cli._keeping import KeepingOptions, stoppable
from eigenstream.cli._learning import (
    LearningOptions,
    count,
    features_of,
    finished,
    found_subspace,
    number,
    opened,
)
from eigenstream.cli._options import ReadingOptions, SavingOptions, grouped
from eigenstream.cli._waiting import waiting

__all__ = ["fit_pairs", "pairs_of"]

#: How a table may say that the rows of a pair are of one class, and that they are not.
EQUAL = ("1", "+1", "equal", "same", "true", "yes", "positive")
UNEQUAL = ("-1", "0", "unequal", "different", "false", "no", "negative")
OPPOSITES = dict(zip(EQUAL + UNEQUAL, UNEQUAL + EQUAL, strict=True))


@dataclass
class Items:
    """What the pairs are of."""

    items: Annotated[
        list[str], typer.Option(help="The rows that the pairs are of: a file; may be repeated.")
    ]
    names: Annotated[
        str | None, typer.Option(help="The column of the items that holds their names.")
    ] = None


@grouped
def fit_pairs(
    pairs: Annotated[
        Path,
        typer.Argument(
            help="A table of three columns: two numbers of rows (from 0) or names, and equal or "
            "unequal (also same and different, 1 and -1, yes and no)."
        ),
    ],
    *,
    listed: Items,
    d: Annotated[str, typer.Option("-d", "--d", help="How many features at most, or all.")] = "2",
    eta: Annotated[
        str,
        typer.Option(help="The weight of unequal pairs: auto, margin_risk or a number above 0."),
    ] = "auto",
    learning: LearningOptions,
    reading: ReadingOptions,
    saving: SavingOptions,
    keeping: KeepingOptions,
) -> None:
    """Find the features in which equal pairs are near and unequal ones far apart."""
    from eigenstream import PairSubspace, open_stream
    from eigenstream._provenance import forget_source
    from eigenstream._streams import note_columns

    items, names = listed.items, listed.names
    more: dict[str, Any] = {} if names is None else {"labels": _data.column(names)}
    stream = opened(items, reading, saving, learning.missing, **more)
    estimator = PairSubspace(
        count(d),
        eta=number(eta, "--eta", ("auto", "margin_risk"), "a number above 0"),
        solver=learning.solver,
        features=features_of(learning.features, stream, learning.seed),
        missing="raise" if learning.missing == "raise" else "skip",
        random_state=learning.seed,
    )
    keeper = keeping.keeper([str(pairs), *items, *stream.sources], saving.out)
    begun = perf_counter()
    with _data.Watched(stream) as watched:
        rows, index, signs = pairs_of(watched, pairs)
    estimator.set_params(preprocessor=rows)
    if keeper is None:
        with waiting("learning"):
            estimator.fit(index, signs)
    else:
        told_apart = open_stream(index).with_labels(signs)
        with stoppable(keeper), _data.Watched(told_apart) as pairs_read:
            estimator.fit(pairs_read, None, checkpoint=keeper)
    # The items are the user's; the model is what was learned from them.
    estimator.set_params(preprocessor=None)
    forget_source(estimator)
    note_columns(estimator, stream)
    seconds = perf_counter() - begun
    with waiting("solving"):
        said = found_subspace(estimator, stream, seconds, keeper, "pairs")
    finished(estimator, stream, saving, seconds, said)


def pairs_of(stream: Any, path: Path) -> tuple[Any, NDArray[np.int64], NDArray[np.int64]]:
    """Return all rows of a stream, and the pairs of them that a table names, with their signs."""
    from eigenstream.streams import columns_of

    first, second, kind = columns_of(path, 3, "pairs", OPPOSITES)
    signs = _signs(kind, path)
    rows, called = _items(stream)
    index = np.stack([_places(one, called, len(rows), path) for one in (first, second)], 1)
    return rows, index, signs


def _items(stream: Any) -> tuple[Any, Sequence[Any] | None]:
    """Return all items, with NaN where a policy leaves them out, and their names."""
    rows, names = [], []
    for chunk in stream.chunks():
        part = chunk.rows
        if chunk.weights is not None:
            part = np.where(chunk.weights[:, None] > 0, part, np.nan)
        rows.append(part)
        if chunk.labels is not None:
            names.extend(chunk.labels.tolist())
    return np.concatenate(rows), names or None


def _places(
    found: NDArray[Any], names: Sequence[Any] | None, n_items: int, path: Path
) -> NDArray[np.int64]:
    """Return the numbers of the rows that one member of each pair names."""
    if names is None:
        if found.dtype.kind not in "iu":
            odd = next(one for one in found.tolist() if not isinstance(one, int))
            raise ValueError(
                f"{path} names {odd!r:.40}, and the items have no names: give whole numbers of "
                "rows, from 0, or say which column holds the names with --names."
            )
        bad = np.flatnonzero((found < 0) | (found >= n_items))
        if bad.size:
            raise ValueError(
                f"{path} names row {found[bad[0]]} in pair {bad[0]}, and the items have rows 0 to "
                f"{n_items - 1}."
            )
        return found.astype(np.int64)
    places = {str(name): place for place, name in enumerate(names)}
    if len(places) < len(names):
        texts = list(map(str, names))
        twice = next(one for at, one in enumerate(texts) if one in texts[:at])
        raise ValueError(f"two items are called {twice!r}: names must tell them apart.")
    listed = [str(one) for one in found.tolist()]
    unknown = next((at for at, one in enumerate(listed) if one not in places), None)
    if unknown is not None:
        raise ValueError(
            f"{path} names {listed[unknown]!r:.40} in pair {unknown}, and no item is called so."
        )
    return np.array([places[one] for one in listed], np.int64)


def _signs(kind: NDArray[Any], path: Path) -> NDArray[np.int64]:
    """Return +1 for equal and -1 for unequal pairs."""
    words = [str(one).strip().lower().removesuffix(".0") for one in kind.tolist()]
    odd = next((at for at, one in enumerate(words) if one not in (*EQUAL, *UNEQUAL)), None)
    if odd is not None:
        raise ValueError(
            f"{path} says {kind[odd].item()!r:.40} of pair {odd}: equal or unequal is due (or same "
            "and different, 1 and -1, yes and no)."
        )
    return np.array([1 if one in EQUAL else -1 for one in words], np.int64)
