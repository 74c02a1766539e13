"""The classes that can be saved, and the required form of their attributes."""

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np

#: The classes that can be saved, by name. Loading a file creates objects of these classes only.
CLASSES: dict[str, type] = {}

#: Attributes of every fitted estimator.
FITTED = {
    "n_features_in_": "int=D",
    "feature_names_in_": "names D?",
    "provenance_": "dict?",
    "preprocessing_": "Preprocessing?",
    "feature_grid_": "FeatureGrid?",
    "_sklearn_output_config": "dict[str]?",
    "_guard": "-",
}


def storable(**layout: str) -> Callable[[Any], Any]:
    """Return a decorator that registers a class for saving, with the form of each attribute.

    A subclass adds its own attributes to those of its bases. Parameters of estimators need no form.
    The forms are:

    - ``"f8 units D+1"``: an array, with its type and one size for each axis. The type ``float`` is
      float32 or float64, and ``names`` is numbers or text. A size is a number or a name. A name has
      the same value in the whole object. Upper-case names also hold for objects inside it.
    - ``"int"``: a count. ``"int=D"`` sets the size D.
    - ``"number"``: an int or a float.
    - ``"Schedule"``: an object of a class or its subclasses, including ``str``, ``bool`` and
      ``dict``.
    - ``"list[Schedule]"``, ``"tuple[...]"`` and ``"dict[...]"``: a container of values of a form.
    - ``"any"``: any value that can be saved.
    - ``"form | None"``: one of several forms.
    - ``"form?"``: the attribute may be absent.
    - ``"-"``: the attribute is not saved.

    After loading, the method ``_loaded`` of the class is called if there is one. It restores
    attributes that are not saved, and raises ValueError for inconsistent values.

    >>> @storable(center="f8 D", n_rows="int")
    ... class Counted: ...
    >>> CLASSES.pop("Counted").__name__
    'Counted'
    """

    def register(cls: Any) -> Any:
        cls._layout = layout
        if not inspect.isabstract(cls):
            CLASSES[cls.__name__] = cls
        return cls

    return register


def layout_of(cls: type) -> dict[str, str]:
    """Return the form of each attribute, beginning with those of the bases."""
    forms: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        forms |= vars(base).get("_layout", {})
    return forms


def check_form(form: str, value: object, sizes: dict[str, int], place: str) -> None:
    """Raise if a value does not have a form; add the sizes that it sets to ``sizes``.

    >>> check_form("f8 n 2", np.zeros((3, 3)), {}, "rows")
    Traceback (most recent call last):
        ...
    ValueError: rows is an array of shape (3, 3) and type float64. Expected: f8 n 2.
    """
    for option in re.split(r" \| (?![^\[]*\])", form.removesuffix("?")):
        trial = dict(sizes)
        if _fits(option, value, trial):
            sizes.update(trial)
            return
    what = f"{value!r:.60}"
    if isinstance(value, np.ndarray):
        what = f"an array of shape {value.shape} and type {value.dtype}"
    sizes_text = ", ".join(f"{name}={size}" for name, size in sizes.items() if name in form)
    sizes_text = f" with {sizes_text}" if sizes_text else ""
    raise ValueError(f"{place} is {what}. Expected: {form}{sizes_text}.")


def _fits(form: str, value: Any, sizes: dict[str, int]) -> bool:
    if inner := re.fullmatch(r"(list|tuple|dict)\[(.+)\]", form):
        if type(value).__name__ != inner[1]:
            return False
        parts = value.values() if isinstance(value, dict) else value
        return all(_fits(inner[2], part, sizes) for part in parts)
    kind, *axes = form.split()
    if axes:
        return (
            isinstance(value, np.ndarray)
            and _is_type(kind, value.dtype)
            and value.ndim == len(axes)
            and all(map(_is_size, axes, value.shape, [sizes] * len(axes)))
        )
    kind, _, name = kind.partition("=")
    if kind == "int":
        fits = type(value) is int and value >= 0
        return fits and (not name or _is_size(name, value, sizes))
    if kind == "number":
        return type(value) in (int, float)
    if kind == "None":
        return value is None
    return kind == "any" or any(base.__name__ == kind for base in type(value).__mro__)


def _is_type(kind: str, dtype: Any) -> bool:
    if kind == "names":
        return dtype.kind in "biufUO"
    return str(dtype) in ("float32", "float64") if kind == "float" else dtype == np.dtype(kind)


def _is_size(axis: str, n: int, sizes: dict[str, int]) -> bool:
    if axis.isdigit():
        return n == int(axis)
    name, _, added = axis.partition("+")
    return sizes.setdefault(name, n - int(added or 0)) == n - int(added or 0)
