"""``fit`` that takes a stream as it takes an array, with checkpoints on the way."""

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from typing import Any, TypeVar, cast

from eigenstream._checkpoints import KEEPING, keeper_of
from eigenstream._documented import documented_by
from eigenstream._provenance import forget_source
from eigenstream._streams._passes import Course
from eigenstream._streams.base import is_stream, note_columns, refuse_keeping

__all__ = ["fits_streams", "fits_streams_by"]

Method = TypeVar("Method", bound=Callable[..., Any])

#: What scikit-learn keeps in an estimator itself, whatever it has learned.
KEPT = ("_skl", "_sklearn", "_callback")


def fits_streams(method: Method) -> Method:
    """Let ``fit(X, y)`` take a stream: its rows are read into memory and learned as an array.

    >>> from eigenstream import Perceptron
    >>> from eigenstream.streams import open_stream
    >>> stream = open_stream([[0.0, 1.0], [1.0, 0.0]]).with_labels(["a", "b"])
    >>> Perceptron(random_state=0).fit(stream).predict([[0.0, 2.0]]).tolist()
    ['a']
    """

    def at_once(self: Any, course: Course) -> None:
        method(course.learned, *course.all_rows(f"fit of {type(self).__name__}"))

    return _fitting(method, at_once)


def fits_streams_by(name: str) -> Callable[[Method], Method]:
    """Let ``fit(X, y)`` take a stream: the method of this name learns from it.

    It gets the course of the fit, whose stream has the labels where ``y`` gives them. The estimator
    takes over what ``course.learned`` has learned, another one of its kind.
    """

    def decorated(method: Method) -> Method:
        return _fitting(method, lambda self, course: getattr(self, name)(course))

    return decorated


def _fitting(method: Method, learn: Callable[[Any, Course], None]) -> Method:
    """Return the method, for arrays; it hands streams to ``learn``, and takes over what learned."""
    asked = signature(method)
    first = list(asked.parameters)[1]

    @wraps(method)
    def fit(self: Any, *given: Any, **named: Any) -> Any:
        kept = {name: named.pop(name) for name in KEEPING if name in named}
        X = given[0] if given else named.get(first)
        keeper = keeper_of(kept.get("checkpoint"), kept.get("every"), kept.get("resume", False))
        if not is_stream(X):
            if keeper is not None:
                refuse_keeping(X)
            found = method(self, *given, **named)
            forget_source(self)
            return found
        others = dict(asked.bind_partial(self, *given, **named).arguments)
        del others["self"], others[first]
        y, stream = others.pop("y", None), cast(Any, X)
        if y is not None:
            stream = stream.with_labels(y)
        _refuse_weights(others)
        course = Course(self, stream, keeper)
        if not course.complete:
            learn(self, course)
        _take_over(self, course.end())
        if not course.complete:
            note_columns(self, X)
        return self

    fit.takes_streams = True  # type: ignore[attr-defined]
    return documented_by(KEEPING)(cast(Method, fit))


def _refuse_weights(others: Mapping[str, Any]) -> None:
    if others.get("passes", 1) != 1:
        raise ValueError(
            f"passes={others['passes']} is for arrays here: a stream of pairs, or of labelled rows,"
            " is learned in one pass. Pass its rows as an array, or leave passes out."
        )
    given = [name for name, value in others.items() if name != "passes" and value is not None]
    if given:
        raise ValueError(
            f"{given[0]} cannot be given with a stream, whose rows have no weights of their own: "
            "leave it out, or pass its chunks to partial_fit one by one."
        )


def _take_over(estimator: Any, learned: Any) -> None:
    """Let an estimator be what another one of the same parameters has learned."""
    own = vars(estimator)
    params = estimator.get_params(deep=False)
    kept = {k: v for k, v in own.items() if k in params or k.startswith(KEPT)}
    own.clear()
    own.update({k: v for k, v in vars(learned).items() if k not in params} | kept)
