"""Printed characters, rotated and scaled, to test learned invariances."""

from collections.abc import Sequence
from math import pi
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from eigenstream.core.checks import check_choice, check_number, check_pair, check_whole
from eigenstream.core.linalg import Float64s
from eigenstream.core.types import Facts, RandomState
from eigenstream.processes._drawing import FONT, STYLE, Poses, Style, drawn, faces_of
from eigenstream.processes.base import generators, seed_sequence

Invariance = Literal["rotation", "scale", "both"]
Labels = NDArray[np.str_]

#: The ranges of angles and magnifications for each invariance.
MOTIONS: dict[str, Facts] = {
    "rotation": {"rotation": pi},
    "scale": {"magnification": (0.5, 1.5)},
    "both": {"rotation": pi, "magnification": (0.5, 1.5)},
}

# Some rotated or scaled characters look alike, such as 6 and 9. One of each such couple is omitted,
# which gives the numbers of classes in the papers.
_DIGITS = {"rotation": digits[:9], "scale": digits, "both": digits[:9]}
TURNING = "".join(c for c in ascii_lowercase if c not in "pquwyl")
_SCALING = ascii_uppercase + "".join(c for c in ascii_lowercase if c not in "cosuvwxz")
_LETTERS = {"rotation": TURNING, "scale": _SCALING, "both": TURNING}


def characters(
    symbols: str = digits,
    n_per_class: int = 100,
    *,
    fonts: Sequence[str | Path] = (FONT,),
    rotation: float = 0.0,
    magnification: tuple[float, float] = (1.0, 1.0),
    style: Style = STYLE,
    random_state: RandomState = None,
) -> tuple[Float64s, Labels]:
    """Draw printed characters, each at a random angle and magnification.

    Parameters
    ----------
    symbols : str, default=digits
        The classes, one character each.
    n_per_class : int, default=100
        The number of examples of each class.
    fonts : sequence, default=one font of matplotlib
        Bundled names or paths of font files; each example uses a random font.
    rotation : float, default=0.0
        Angles are uniform on [-rotation, rotation], in radians.
    magnification : (float, float), default=(1.0, 1.0)
        Magnifications are uniform on this interval.
    style : Style
        The size and colours of the images.
    random_state : int, generator or None, default=None
        The seed.

    Returns
    -------
    images : array of shape (n, size * size)
    labels : array of str, shape (n,)
        Sorted by class, in the order of ``symbols``.

    Examples
    --------
    >>> small = Style(size=8, height=5)
    >>> images, labels = characters(
    ...     "0A", 3, rotation=3.14, style=small, random_state=0
    ... )
    >>> images.shape, labels.tolist()
    ((6, 64), ['0', '0', '0', 'A', 'A', 'A'])
    """
    n_per_class = check_whole(n_per_class, "n_per_class")
    faces = faces_of(symbols, fonts, style)
    n = len(symbols) * n_per_class
    angles, magnifications, choice = motions(
        n, rotation=rotation, magnification=magnification, random_state=random_state
    )
    which = choice.integers(len(fonts), size=n)
    codes = np.repeat(np.arange(len(symbols)), n_per_class)
    images = drawn(symbols, faces, Poses(codes, which, angles, magnifications), style)
    return images, np.array(list(symbols))[codes]


def digit_set(
    invariance: Invariance,
    n_per_class: int = 100,
    *,
    fonts: Sequence[str | Path] = (FONT,),
    style: Style = STYLE,
    random_state: RandomState = None,
) -> tuple[Float64s, Labels]:
    """Draw the digits that test an invariance: 0-8 for rotation or both, 0-9 for scale.

    The papers use 100 examples of each class ([1]_ section 6), or 100 for rotation, 30 for scale
    and 200 for both ([2]_ section 7).

    Parameters
    ----------
    invariance : {"rotation", "scale", "both"}
        The motions of the digits.
    n_per_class : int, default=100
        The number of examples of each class.
    fonts : sequence, default=one font of matplotlib
        Bundled names or paths of font files; each example uses a random font.
    style : Style
        The size and colours of the images.
    random_state : int, generator or None, default=None
        The seed.

    Returns
    -------
    images : array of shape (n, size * size)
    labels : array of str, shape (n,)

    References
    ----------
    .. [1] A. Maurer, "Unsupervised Slow Subspace-Learning from Stationary Processes", Algorithmic
           Learning Theory, 2006.
    .. [2] A. Maurer, "Generalization Bounds for Subspace Selection and Hyperbolic PCA", Subspace,
           Latent Structure and Feature Selection, 2006.

    Examples
    --------
    >>> images, labels = digit_set(
    ...     "rotation", 2, style=Style(size=14, height=9), random_state=0
    ... )
    >>> images.shape, "".join(labels)
    ((18, 196), '001122334455667788')
    """
    return _set(_DIGITS, invariance, n_per_class, fonts, style, random_state)


def letter_set(
    invariance: Invariance,
    n_per_class: int = 100,
    *,
    fonts: Sequence[str | Path] = (FONT,),
    style: Style = STYLE,
    random_state: RandomState = None,
) -> tuple[Float64s, Labels]:
    """Draw the letters for learning an invariance from pairs: 20 classes, or 44 for scale.

    The paper uses 100 examples of each class for rotation, 30 for scale and 200 for both ([1]_
    section 7).

    Parameters
    ----------
    invariance : {"rotation", "scale", "both"}
        The motions of the letters.
    n_per_class : int, default=100
        The number of examples of each class.
    fonts : sequence, default=one font of matplotlib
        Bundled names or paths of font files; each example uses a random font.
    style : Style
        The size and colours of the images.
    random_state : int, generator or None, default=None
        The seed.

    Returns
    -------
    images : array of shape (n, size * size)
    labels : array of str, shape (n,)

    References
    ----------
    .. [1] A. Maurer, "Generalization Bounds for Subspace Selection and Hyperbolic PCA", Subspace,
           Latent Structure and Feature Selection, 2006.

    Examples
    --------
    >>> images, labels = letter_set(
    ...     "scale", 1, style=Style(size=14, height=9), random_state=0
    ... )
    >>> images.shape
    (44, 196)
    """
    return _set(_LETTERS, invariance, n_per_class, fonts, style, random_state)


def _set(
    classes: dict[str, str],
    invariance: str,
    n_per_class: int,
    fonts: Any,
    style: Style,
    seed: RandomState,
) -> tuple[Float64s, Labels]:
    check_choice(invariance, "invariance", tuple(MOTIONS))
    options = MOTIONS[invariance] | {"fonts": fonts, "style": style, "random_state": seed}
    return characters(classes[invariance], n_per_class, **options)


def motions(
    n: int,
    *,
    rotation: float = 0.0,
    magnification: tuple[float, float] = (1.0, 1.0),
    random_state: RandomState = None,
) -> tuple[Float64s, Float64s, np.random.Generator]:
    """Draw n angles and magnifications; also return a generator for further draws."""
    rotation = check_number(rotation, "rotation", least=0)
    low, high = check_pair(magnification, "magnification")
    low = check_number(low, "the smallest magnification", above=0)
    high = check_number(high, "the largest magnification", least=low)
    turn, zoom, generator = generators(seed_sequence(random_state), 3)
    return turn.uniform(-rotation, rotation, n), zoom.uniform(low, high, n), generator
