"""Constructor parameters: refused where they make no sense, and where nothing would read them."""

from functools import cache
from inspect import signature
from numbers import Number
from typing import Any, cast

from sklearn.utils import check_random_state

from eigenstream._checks import check_number
from eigenstream.learners.online import check_options

#: For each parameter with a limited use: the parameter that decides on it, and the values of that
#: one with which it is read.
Uses = dict[str, tuple[str, tuple[str, ...]]]

#: What ``check_options`` looks at.
OPTIONS = tuple(signature(check_options).parameters)


def check_online(estimator: Any) -> None:
    """Refuse parameters of online learning that make no sense, whatever the solver."""
    given = vars(estimator)
    check_options(**{name: given[name] for name in OPTIONS if name in given})
    if given.get("oversampling") is not None:
        check_number(given["oversampling"], "oversampling", least=1)
    # A seed may always be given: where nothing is drawn it is kept. This looks at it only.
    check_random_state(given["random_state"])


def check_used(estimator: Any, uses: Uses) -> None:
    """Refuse parameters that are not at their defaults and that nothing would read.

    >>> from eigenstream import StreamPCA
    >>> check_used(StreamPCA(2, block_size=8), {"block_size": ("solver", ("flow",))})
    Traceback (most recent call last):
        ...
    ValueError: block_size=8 is for solver='flow': solver='auto' makes no use of it. Use
    solver='flow', or leave block_size out.
    """
    given, kind = vars(estimator), cast(Any, type(estimator))
    for name, (other, values) in uses.items():
        if name not in given or given[other] in values:
            continue
        if not _is_default(given[name], _defaults(kind)[name]):
            listed = " or ".join(f"{other}={value!r}" for value in values)
            raise ValueError(
                f"{name}={given[name]!r} is for {listed}: {other}={given[other]!r} makes no use "
                f"of it. Use {listed}, or leave {name} out."
            )


@cache
def _defaults(kind: Any) -> dict[str, Any]:
    """Return the defaults that the signature of a class states."""
    parameters = signature(kind).parameters
    return {name: parameter.default for name, parameter in parameters.items()}


def _is_default(value: Any, default: Any) -> bool:
    """Tell whether a value is the default, or the same number or text; no array is."""
    return value is default or (isinstance(value, str | Number) and value == default)
