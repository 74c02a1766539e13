"""Links of estimators to their pages, shared parts of docstrings, and constraints of parameters."""

import re
import sys
from collections.abc import Callable, Mapping
from functools import cache
from inspect import cleandoc
from numbers import Integral, Real
from typing import Any, ClassVar, TypeVar

from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions

from eigenstream.core.types import Constraints

C = TypeVar("C")

#: The folder of the reference on the site.
REFERENCE = "https://eigenstream.github.io/eigenstream/reference/generated"


class Documented(BaseEstimator):
    """Base of the estimators, with links to reference pages and constraints of parameters."""

    _doc_link_module = "eigenstream"
    _parameter_constraints: ClassVar[Constraints] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        """Add the constraints of the parameters of a class to those of its bases."""
        super().__init_subclass__(**options)
        if own := vars(cls).get("_parameter_constraints"):
            cls._parameter_constraints = super(cls, cls)._parameter_constraints | own

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        """Return the names of the parameters. Reading a signature takes 5 % of a small fit."""
        names: list[str] = super()._get_param_names()
        return names

    @property
    def _doc_link_template(self) -> str:
        package, room = type(self).__module__.split(".")[:2]
        public = type(self).__name__ in sys.modules[package].__all__
        return f"{REFERENCE}/{package if public else f'{package}.{room}'}.{{estimator_name}}.html"


class Transforming(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Base of transformers: names of features, and float32 features of float32 rows."""

    def __sklearn_tags__(self) -> Tags:
        """Describe the estimator to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def documented_by(entries: Mapping[str, str]) -> Callable[[C], C]:
    """Return a decorator that puts entries where a docstring names them, as <a, b>.

    >>> @documented_by(
    ...     {"width": "width : int\\n    Of a row.", "height": "height : int"}
    ... )
    ... class Box:
    ...     '''Parameters
    ...     ----------
    ...     <width, height>
    ...     '''
    >>> print(Box.__doc__)
    Parameters
        ----------
        width : int
            Of a row.
        height : int
    <BLANKLINE>
    """

    def filled(match: re.Match[str]) -> str:
        names = match[2].replace("\n", "").replace(" ", "").split(",")
        lines = "\n".join(entries[name] for name in names).splitlines()
        return "\n".join(f"{match[1]}{line}" for line in lines)

    def documented(kind: C) -> C:
        described: Any = kind
        if described.__doc__:  # python -OO removes docstrings
            # From Python 3.13 on, the compiler removes the indentation.
            named = r"^( *)<([a-z0-9_, \n]+)>$"
            described.__doc__ = re.sub(named, filled, described.__doc__, flags=re.M)
        return kind

    return documented


def documented(kind: C) -> C:
    """Put entries of the docstrings of the bases of a class where its docstring names them.

    >>> class Box:
    ...     '''Base of boxes.
    ...
    ...     Parameters
    ...     ----------
    ...     width : int
    ...         Of a row.
    ...     '''
    >>> @documented
    ... class Small(Box):
    ...     '''Parameters
    ...     ----------
    ...     <width>
    ...     '''
    >>> "width : int" in Small.__doc__
    True
    """
    entries: dict[str, str] = {}
    bases: Any = kind
    for base in reversed(bases.__mro__[1:]):
        matches = re.finditer(r"^(\w+) : .+(?:\n +.+)*", cleandoc(base.__doc__ or ""), re.M)
        entries |= {match[1]: match[0] for match in matches}
    return documented_by(entries)(kind)


COUNT = Interval(Integral, 1, None, closed="left")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")


def words(*choices: str) -> StrOptions:
    """Return the constraint of a parameter that is one of several words.

    >>> words("raise", "skip").is_satisfied_by("skip")
    True
    """
    return StrOptions(set(choices))
