"""Cross-validation from sums that are learned once for each sequence."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from eigenstream.core.checks import check_lags, check_number, check_whole
from eigenstream.core.linalg import Float64s, brief
from eigenstream.core.types import Estimator

Part = TypeVar("Part")


def without_each(
    parts: Sequence[Part],
    merge: Callable[[Sequence[Part]], Part],
    before: Part | None = None,
    after: Part | None = None,
) -> Iterator[tuple[Part | None, Part | None]]:
    """Yield, for each part, the merge of all parts before it and of all parts after it.

    There are about ``2 n`` merges, and ``log2(n)`` merged parts exist at a time.

    >>> list(without_each("abc", "".join))
    [(None, 'bc'), ('a', 'c'), ('ab', None)]
    """
    if len(parts) == 1:
        yield before, after
        return
    half = len(parts) // 2
    first, second = parts[:half], parts[half:]
    later = list(second) if after is None else [*second, after]
    earlier = list(first) if before is None else [before, *first]
    yield from without_each(first, merge, before, merge(later))
    yield from without_each(second, merge, merge(earlier), after)


@dataclass(frozen=True, eq=False)
class SumScores:
    """Scores of held-out sequences for several lags, alphas and numbers of components.

    Attributes
    ----------
    lags : array of shape (n_lags,)
        The lags compared.
    alphas : tuple
        The alphas compared. None stands for ``criterion="ratio"``.
    n_components : array of shape (n_counts,)
        The numbers of components compared.
    scores : array of shape (n_lags, n_alphas, n_counts, n_sequences)
        ``SlowSubspace.score`` of each held-out sequence. Scores at different lags are not
        comparable.
    """

    lags: NDArray[np.int64]
    alphas: tuple[Any, ...]
    n_components: NDArray[np.int64]
    scores: Float64s

    __repr__ = brief

    @property
    def mean(self) -> Float64s:
        """The mean over the held-out sequences."""
        return np.asarray(self.scores.mean(axis=-1))

    @property
    def standard_error(self) -> Float64s:
        """The standard error of the mean. It neglects that training sets overlap."""
        n = self.scores.shape[-1]
        return np.asarray(self.scores.std(axis=-1, ddof=1) / np.sqrt(n))

    def best(self, lag: int | None = None) -> dict[str, Any]:
        """Return the parameters with the largest mean score at a lag.

        Parameters
        ----------
        lag : int, default=None
            One of ``lags``. It is optional if there is only one.

        Returns
        -------
        dict
            The parameters lag, n_components and alpha.
        """
        lags = self.lags.tolist()
        lag = lags[0] if lag is None and len(lags) == 1 else lag
        if lag not in lags:
            advice = "Scores at different lags are not comparable. Pass one of them as lag."
            raise ValueError(f"lag={lag} is none of {lags}. {advice}")
        place = lags.index(lag)
        alpha, count = np.unravel_index(self.mean[place].argmax(), self.mean[place].shape)
        parameters = {"lag": lag, "n_components": int(self.n_components[count])}
        return (
            parameters if self.alphas[alpha] is None else parameters | {"alpha": self.alphas[alpha]}
        )


def cross_validate_sums(
    estimator: Estimator,
    sequences: Sequence[Any],
    *,
    n_components: Any = None,
    alphas: Any = None,
    lags: Any = None,
) -> SumScores:
    """Hold out each sequence in turn, for several parameters at once, reading the rows once.

    The scores equal those of separate fits to the other sequences, to rounding. Each lag, alpha
    and held-out sequence takes one eigenproblem for all numbers of components.

    Parameters
    ----------
    estimator : SlowSubspace
        The other parameters of the fits. It is not changed.
    sequences : list of arrays of shape (n, n_features)
        At least two sequences, longer than the largest lag. ``time_blocks(X, n_blocks, gap=...)``
        cuts one recording.
    n_components : list of int, default=None
        By default that of the estimator.
    alphas : list of float or "auto", default=None
        By default that of the estimator. "auto" takes an eigenproblem for each number of
        components.
    lags : list of int, default=None
        By default that of the estimator. Each lag stores two D x D matrices for each sequence.

    Returns
    -------
    SumScores

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream import SlowSubspace
    >>> from eigenstream.evaluation import time_blocks
    >>> from eigenstream.processes import Autoregressive
    >>> process = Autoregressive(
    ...     [0.95, 0.9, 0.0, 0.0], noise=0.1, random_state=0
    ... )
    >>> folds = time_blocks(process.take(20_000), 5, gap=200)
    >>> found = cross_validate_sums(
    ...     SlowSubspace(),
    ...     folds,
    ...     n_components=[1, 2, 3],
    ...     alphas=[0.2, 0.5],
    ...     lags=[1, 5],
    ... )
    >>> found.scores.shape, found.best(lag=5)
    ((2, 2, 3, 5), {'lag': 5, 'n_components': 2, 'alpha': 0.5})
    """
    if not hasattr(estimator, "lag") or not isinstance(sequences, list) or len(sequences) < 2:
        raise ValueError(
            "cross_validate_sums needs a SlowSubspace and a list of at least two sequences. Cut a "
            "recording by time_blocks."
        )
    lags = [estimator.lag] if lags is None else check_lags(lags, "lags")
    counts = [estimator.n_components] if n_components is None else n_components
    counts = [check_whole(n, "n_components") for n in counts]
    ratio = estimator.criterion == "ratio"
    alphas = [estimator.alpha] if alphas is None else alphas
    alphas = [None] if ratio else [_alpha(alpha) for alpha in alphas]
    most = max(counts)
    clone(estimator).set_params(lag=max(lags))._sequences(sequences)  # are they long enough?
    scores = np.empty((len(lags), len(alphas), len(counts), len(sequences)))
    for i, lag in enumerate(lags):
        candidate = clone(estimator).set_params(lag=lag, n_components=most)
        parts = [clone(candidate).partial_fit(rows) for rows in sequences]
        for k, sides in enumerate(without_each(parts, _merged)):
            rest = _merged([part for part in sides if part is not None])
            with warnings.catch_warnings():  # candidates may have negative eigenvalues
                warnings.simplefilter("ignore", UserWarning)
                for j, alpha in enumerate(alphas):
                    scores[i, j, :, k] = _scores(rest, parts[k], alpha, counts)
    return SumScores(np.array(lags), tuple(alphas), np.array(counts), scores)


def _merged(parts: Sequence[Any]) -> Any:
    return reduce(lambda a, b: a.merge(b, new_sequence=True), parts)


def _alpha(alpha: Any) -> Any:
    return alpha if alpha == "auto" else check_number(alpha, "alpha", above=0, most=1)


def _scores(rest: Any, held_out: Any, alpha: Any, counts: list[int]) -> list[float]:
    """Return the score of a held-out estimator's rows for each number of components."""
    if alpha == "auto":  # it depends on the number of components
        solved = [(rest.solved_with(n_components=n, alpha="auto"), [n]) for n in counts]
    else:
        solved = [(rest if alpha is None else rest.solved_with(alpha=alpha), counts)]
    return [score for model, own in solved for score in model._score_of(held_out, own)]
