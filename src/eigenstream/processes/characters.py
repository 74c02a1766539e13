"""Printed characters, rotated and scaled, to test learned invariances."""

from collections.abc import Sequence
from math import pi
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenstream._checks import (
    check_choice,
    check_finite,
    check_number,
    check_pair,
    check_whole,
    real_array,
)
from eigenstream._linalg import Float64s
from eigenstream.processes._drawing import (
    FONT,
    STYLE,
    Poses,
    Style,
    drawn,
    faces_of,
    finished,
    moved,
)
from eigenstream.processes.base import generators, seed_sequence

Invariance = Literal["rotation", "scale", "both"]
Labels = NDArray[np.str_]

#: The ranges of angles and magnifications for each invariance.
MOTIONS: dict[str, dict[str, Any]] = {
    "rotation": {"rotation": pi},
    "scale": {"magnification": (0.5, 1.5)},
    "both": {"rotation": pi, "magnification": (0.5, 1.5)},
}

# Some rotated or scaled characters look alike, such as 6 and 9. One of each such couple is omitted,
# which gives the numbers of classes in the papers.
_DIGITS = {"rotation": digits[:9], "scale": digits, "both": digits[:9]}
_TURNING = "".join(c for c in ascii_lowercase if c not in "pquwyl")
_SCALING = ascii_uppercase + "".join(c for c in ascii_lowercase if c not in "cosuvwxz")
_LETTERS = {"rotation": _TURNING, "scale": _SCALING, "both": _TURNING}


def characters(
    symbols: str = digits,
    n_per_class: int = 100,
    *,
    fonts: Sequence[str | Path] = (FONT,),
    rotation: float = 0.0,
    magnification: tuple[float, float] = (1.0, 1.0),
    style: Style = STYLE,
    random_state: Any = None,
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
    >>> images, labels = characters("0A", 3, rotation=3.14, style=small, random_state=0)
    >>> images.shape, labels.tolist()
    ((6, 64), ['0', '0', '0', 'A', 'A', 'A'])
    """
    n_per_class = check_whole(n_per_class, "n_per_class")
    faces = faces_of(symbols, fonts, style)
    n = len(symbols) * n_per_class
    angles, magnifications, choice = _motions(n, rotation, magnification, random_state)
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
    random_state: Any = None,
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
    >>> images, labels = digit_set("rotation", 2, style=Style(size=14, height=9), random_state=0)
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
    random_state: Any = None,
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
    >>> images, labels = letter_set("scale", 1, style=Style(size=14, height=9), random_state=0)
    >>> images.shape
    (44, 196)
    """
    return _set(_LETTERS, invariance, n_per_class, fonts, style, random_state)


def _set(
    classes: dict[str, str], invariance: str, n_per_class: int, fonts: Any, style: Style, seed: Any
) -> tuple[Float64s, Labels]:
    check_choice(invariance, "invariance", tuple(MOTIONS))
    how = MOTIONS[invariance] | {"fonts": fonts, "style": style, "random_state": seed}
    return characters(classes[invariance], n_per_class, **how)


def turning_characters(
    symbols: str = _TURNING,
    n_frames: int = 4000,
    *,
    hold: float = 40.0,
    speed: float = 1.0,
    font: str | Path = FONT,
    style: Style = STYLE,
    random_state: Any = None,
) -> tuple[Float64s, Labels]:
    """Draw a film of rotating characters that replace one another.

    Such a film allows learning without labels ([1]_ section 7). Each character stays for a
    geometric time with the mean ``hold``, and then another random character follows. Each
    character rotates by a constant angle per frame, uniform on [-speed, speed].

    Parameters
    ----------
    symbols : str, default=letters of ``letter_set("rotation")``
        At least two characters.
    n_frames : int, default=4000
        The number of frames.
    hold : float, default=40.0
        The mean number of frames of one character.
    speed : float, default=1.0
        The largest angle between two frames, in radians.
    font : str or path, default=a font of matplotlib
        The bundled name or the path of a font file.
    style : Style
        The size and colours of the images.
    random_state : int, generator or None, default=None
        The seed.

    Returns
    -------
    frames : array of shape (n_frames, size * size)
        In temporal order.
    labels : array of str, shape (n_frames,)
        The character in each frame, for evaluation.

    References
    ----------
    .. [1] A. Maurer, "Generalization Bounds for Subspace Selection and Hyperbolic PCA", Subspace,
           Latent Structure and Feature Selection, 2006.

    Examples
    --------
    >>> small = Style(size=8, height=5)
    >>> frames, labels = turning_characters("ab", 9, hold=3, style=small, random_state=0)
    >>> frames.shape, "".join(labels)
    ((9, 64), 'baabbbaab')
    """
    n_frames = check_whole(n_frames, "n_frames")
    hold = check_number(hold, "hold", least=1)
    speed = check_number(speed, "speed", above=0)
    faces = faces_of(symbols, (font,), style)
    if len(symbols) < 2:
        raise ValueError(f"symbols={symbols!r} has fewer than two characters. Pass two or more.")
    when, which, how = generators(seed_sequence(random_state), 3)
    starts = when.random(n_frames) < 1.0 / hold
    starts[0] = True
    scene = np.cumsum(starts) - 1
    steps = which.integers(1, len(symbols), size=scene[-1] + 1)
    steps[0] = which.integers(len(symbols))
    codes = np.cumsum(steps) % len(symbols)
    first, turn = how.uniform(-pi, pi, len(codes)), how.uniform(-speed, speed, len(codes))
    since = np.arange(n_frames) - np.flatnonzero(starts)[scene]
    angles = (first[scene] + turn[scene] * since + pi) % (2.0 * pi) - pi
    shown = codes[scene]
    poses = Poses(shown, np.zeros(n_frames, np.intp), angles, np.ones(n_frames))
    return drawn(symbols, faces, poses, style), np.array(list(symbols))[shown]


def move_images(
    images: ArrayLike,
    *,
    size: int | None = None,
    rotation: float = 0.0,
    magnification: tuple[float, float] = (1.0, 1.0),
    fill: float = 0.0,
    supersample: int = 3,
    unit_norm: bool = True,
    random_state: Any = None,
) -> Float64s:
    """Rotate and scale given gray images about their centres by separate random motions.

    Parameters
    ----------
    images : array-like of shape (n, height, width)
        Finite gray values.
    size : int, default=None
        The result has ``size`` x ``size`` pixels. By default the width of the images.
    rotation : float, default=0.0
        Angles are uniform on [-rotation, rotation], in radians.
    magnification : (float, float), default=(1.0, 1.0)
        Magnifications are uniform on this interval.
    fill : float, default=0.0
        The gray value outside the given images.
    supersample : int, default=3
        The factor by which the resolution is larger before pixels are averaged.
    unit_norm : bool, default=True
        Divide each result by its Euclidean norm.
    random_state : int, generator or None, default=None
        The seed.

    Returns
    -------
    array of shape (n, size * size)

    Examples
    --------
    >>> bar = np.zeros((1, 5, 5))
    >>> bar[0, 2] = 1.0
    >>> still = move_images(bar, supersample=1, unit_norm=False)
    >>> still.reshape(5, 5)[2]
    array([1., 1., 1., 1., 1.])
    """
    given = real_array(images, "images").astype(np.float64, copy=False)
    if given.ndim != 3:
        raise ValueError(f"images has shape {given.shape}. Pass shape (n, height, width).")
    side = given.shape[2] if size is None else check_whole(size, "size")
    supersample = check_whole(supersample, "supersample")
    check_finite(given.reshape(len(given), -1), name="images")
    angles, magnifications, _ = _motions(len(given), rotation, magnification, random_state)
    out = np.empty((len(given), side * side))
    for k, image in enumerate(given):
        one = slice(k, k + 1)
        spacing = 1.0 / (supersample * magnifications[one])
        out[one] = moved(image - fill, side, supersample, angles[one], spacing)
    out += fill
    return finished(out, unit_norm)


def _motions(
    n: int, rotation: float, magnification: tuple[float, float], random_state: Any
) -> tuple[Float64s, Float64s, np.random.Generator]:
    """Draw n angles and magnifications; also return a generator for further draws."""
    rotation = check_number(rotation, "rotation", least=0)
    low, high = check_pair(magnification, "magnification")
    low = check_number(low, "the smallest magnification", above=0)
    high = check_number(high, "the largest magnification", least=low)
    turn, zoom, rest = generators(seed_sequence(random_state), 3)
    return turn.uniform(-rotation, rotation, n), zoom.uniform(low, high, n), rest
