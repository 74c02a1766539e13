"""Printed characters, rotated and scaled: what learned invariances are tested on."""

from collections.abc import Sequence
from math import ceil, pi, sqrt
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Any, Literal, NamedTuple

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
from eigenstream.kernels.views import sample_views
from eigenstream.processes._fonts import POLARITIES, Polarity, font, glyph
from eigenstream.processes.base import generators, seed_sequence

Invariance = Literal["rotation", "scale", "both"]
Labels = NDArray[np.str_]

#: What each invariance moves: angles up to +-rotation, magnifications in an interval.
MOTIONS: dict[str, dict[str, Any]] = {
    "rotation": {"rotation": pi},
    "scale": {"magnification": (0.5, 1.5)},
    "both": {"rotation": pi, "magnification": (0.5, 1.5)},
}

# Turned far enough, 6 is 9, and b d n m h i are q p u w y l (or near); scaled, some capitals are
# the small letter. One of each such couple is left out, as many as the papers' counts ask for.
_DIGITS = {"rotation": digits[:9], "scale": digits, "both": digits[:9]}
_TURNING = "".join(c for c in ascii_lowercase if c not in "pquwyl")
_SCALING = ascii_uppercase + "".join(c for c in ascii_lowercase if c not in "cosuvwxz")
_LETTERS = {"rotation": _TURNING, "scale": _SCALING, "both": _TURNING}


def characters(
    symbols: str = digits,
    n_per_class: int = 100,
    *,
    size: int = 28,
    height: float = 18.0,
    fonts: Sequence[str | Path] = ("DejaVuSerif-Bold",),
    rotation: float = 0.0,
    magnification: tuple[float, float] = (1.0, 1.0),
    polarity: Polarity = "black_on_white",
    supersample: int = 6,
    unit_norm: bool = True,
    random_state: Any = None,
) -> tuple[Float64s, Labels]:
    """Draw printed characters, each at a random angle and magnification.

    Parameters
    ----------
    symbols : str
        The classes, one character each.
    n_per_class : int
        How many examples of each.
    size : int
        An image has ``size`` x ``size`` pixels, its character centred by its box.
    height : float
        How many pixels high a ``0`` of the font stands at magnification 1.
    fonts : sequence
        Bundled names or paths of font files; each example takes one at random.
    rotation : float
        Angles are uniform on [-rotation, rotation], in radians.
    magnification : (float, float)
        Magnifications are uniform on this interval.
    polarity : "black_on_white" or "white_on_black"
    supersample : int
        Drawn this many times larger and averaged down.
    unit_norm : bool
        Whether to divide each image by its euclidean norm; else gray values are in [0, 1].
    random_state : int, generator or None

    Returns
    -------
    images : array (n, size * size)
    labels : array of str (n,)
        In the order of ``symbols``, class after class.

    Examples
    --------
    >>> images, labels = characters("0A", 3, size=8, height=5, rotation=3.14, random_state=0)
    >>> images.shape, labels.tolist()
    ((6, 64), ['0', '0', '0', 'A', 'A', 'A'])
    """
    n_per_class = check_whole(n_per_class, "n_per_class")
    faces = _faces(symbols, fonts, height, supersample)
    n = len(symbols) * n_per_class
    angles, magnifications, choice = _motions(n, rotation, magnification, random_state)
    which = choice.integers(len(fonts), size=n)
    codes = np.repeat(np.arange(len(symbols)), n_per_class)
    style: dict[str, Any] = {"size": size, "polarity": polarity, "supersample": supersample}
    images = _drawn(symbols, faces, _Poses(codes, which, angles, magnifications), **style)
    return _finished(images, unit_norm), np.array(list(symbols))[codes]


def digit_set(
    invariance: Invariance, n_per_class: int = 100, *, random_state: Any = None, **options: Any
) -> tuple[Float64s, Labels]:
    """Draw the digits that test an invariance: 0-8 for rotation or both, 0-9 for scale.

    [SLOW] section 6 tests on 100 states of each class, [HPCA] section 7 on 100 (rotation),
    30 (scale) and 200 (both). ``options`` go to :func:`characters`.

    >>> images, labels = digit_set("rotation", 2, size=14, height=9, random_state=0)
    >>> images.shape, "9" in labels
    ((18, 196), False)
    """
    check_choice(invariance, "invariance", tuple(MOTIONS))
    recipe = MOTIONS[invariance] | {"random_state": random_state} | options
    return characters(_DIGITS[invariance], n_per_class, **recipe)


def letter_set(
    invariance: Invariance, n_per_class: int = 100, *, random_state: Any = None, **options: Any
) -> tuple[Float64s, Labels]:
    """Draw the letters that train an invariance from pairs: 20 classes, for scale 44.

    [HPCA] section 7 takes 100 examples of each class (rotation), 30 (scale) and 200 (both).
    ``options`` go to :func:`characters`.

    >>> images, labels = letter_set("scale", 1, size=14, height=9, random_state=0)
    >>> images.shape
    (44, 196)
    """
    check_choice(invariance, "invariance", tuple(MOTIONS))
    recipe = MOTIONS[invariance] | {"random_state": random_state} | options
    return characters(_LETTERS[invariance], n_per_class, **recipe)


def turning_characters(
    symbols: str = _TURNING,
    n_frames: int = 4000,
    *,
    hold: float = 40.0,
    speed: float = 1.0,
    size: int = 28,
    height: float = 18.0,
    font: str | Path = "DejaVuSerif-Bold",
    polarity: Polarity = "black_on_white",
    supersample: int = 6,
    unit_norm: bool = True,
    random_state: Any = None,
) -> tuple[Float64s, Labels]:
    """Film one character after another, each turning steadily until the next takes its place.

    [HPCA] section 7 proposes to learn from such a film without labels. Each character stays for a
    geometric time, ``hold`` frames on average, then a random one of the others follows; it turns by
    the same angle each frame, uniform on [-speed, speed]. Nothing in the frames says when it is
    replaced.

    Parameters
    ----------
    symbols : str
        At least two characters; by default the letters of ``letter_set("rotation")``.
    n_frames : int
    hold : float
        Mean number of frames that one stays.
    speed : float
        The largest angle between two frames, in radians.
    size, height, font, polarity, supersample, unit_norm, random_state
        As for :func:`characters`.

    Returns
    -------
    frames : array (n_frames, size * size)
        In the order of time.
    labels : array of str (n_frames,)
        To judge by, not to learn from.

    Examples
    --------
    >>> frames, labels = turning_characters("ab", 9, hold=3, size=8, height=5, random_state=0)
    >>> frames.shape, "".join(labels)
    ((9, 64), 'baabbbaab')
    """
    n_frames = check_whole(n_frames, "n_frames")
    hold = check_number(hold, "hold", least=1)
    speed = check_number(speed, "speed", above=0)
    faces = _faces(symbols, (font,), height, supersample)
    if len(symbols) < 2:
        raise ValueError(
            f"symbols must be two characters at least, to take turns; got {symbols!r}."
        )
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
    poses = _Poses(shown, np.zeros(n_frames, np.intp), angles, np.ones(n_frames))
    style: dict[str, Any] = {"size": size, "polarity": polarity, "supersample": supersample}
    frames = _drawn(symbols, faces, poses, **style)
    return _finished(frames, unit_norm), np.array(list(symbols))[shown]


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
    """Rotate and scale given gray images about their centres, each by a motion of its own.

    Parameters
    ----------
    images : array (n, height, width)
        Finite gray values.
    size : int, optional
        The result has ``size`` x ``size`` pixels; by default, the width of the images.
    rotation, magnification, supersample, unit_norm, random_state
        As for :func:`characters`.
    fill : float
        The gray value outside the given images.

    Returns
    -------
    array (n, size * size)

    Examples
    --------
    >>> bar = np.zeros((1, 5, 5))
    >>> bar[0, 2] = 1.0
    >>> still = move_images(bar, supersample=1, unit_norm=False)
    >>> bool((still.reshape(5, 5) == bar[0]).all())
    True
    """
    given = real_array(images, "images").astype(np.float64, copy=False)
    if given.ndim != 3:
        raise ValueError(
            f"images must have shape (n, height, width), got {given.shape}; "
            "reshape rows of pixels first."
        )
    side = given.shape[2] if size is None else check_whole(size, "size")
    supersample = check_whole(supersample, "supersample")
    check_finite(given.reshape(len(given), -1), name="images")
    angles, magnifications, _ = _motions(len(given), rotation, magnification, random_state)
    out = np.empty((len(given), side * side))
    for k, image in enumerate(given):
        one = slice(k, k + 1)
        spacing = 1.0 / (supersample * magnifications[one])
        out[one] = _moved(image - fill, side, supersample, angles[one], spacing)
    out += fill
    return _finished(out, unit_norm)


def _motions(
    n: int, rotation: float, magnification: tuple[float, float], random_state: Any
) -> tuple[Float64s, Float64s, np.random.Generator]:
    """Draw n angles and magnifications, and hand over a generator for whatever else is drawn."""
    rotation = check_number(rotation, "rotation", least=0)
    low, high = check_pair(magnification, "magnification")
    low = check_number(low, "the smallest magnification", above=0)
    high = check_number(high, "the largest magnification", least=low)
    turn, zoom, rest = generators(seed_sequence(random_state), 3)
    return turn.uniform(-rotation, rotation, n), zoom.uniform(low, high, n), rest


def _faces(symbols: str, fonts: Sequence[str | Path], height: float, supersample: int) -> list[Any]:
    """Open the fonts to draw the symbols with; refuse what cannot be drawn."""
    height = check_number(height, "height", above=0)
    supersample = check_whole(supersample, "supersample")
    if len(set(symbols)) != len(symbols) or not symbols:
        raise ValueError(f"symbols must be distinct characters, at least one, got {symbols!r}.")
    if not fonts:
        raise ValueError("fonts is empty: give at least one bundled name or font file.")
    return [_face_of_height(name, height * supersample) for name in fonts]


class _Poses(NamedTuple):
    """Of every image: which symbol, in which face, turned and magnified how."""

    codes: NDArray[np.intp]
    faces: NDArray[np.intp]
    angles: Float64s
    magnifications: Float64s


def _drawn(
    symbols: str,
    faces: list[Any],
    poses: _Poses,
    *,
    size: int,
    polarity: Polarity,
    supersample: int,
) -> Float64s:
    """Return an image of each pose."""
    size = check_whole(size, "size")
    check_choice(polarity, "polarity", POLARITIES)
    images = np.empty((len(poses.codes), size * size))
    for c, symbol in enumerate(symbols):
        for f, face in enumerate(faces):
            mine = np.flatnonzero((poses.codes == c) & (poses.faces == f))
            if len(mine):
                spacing = 1.0 / poses.magnifications[mine]
                ink = glyph(symbol, face)
                images[mine] = _moved(ink, size, supersample, poses.angles[mine], spacing)
    if polarity == "black_on_white":
        np.subtract(1.0, images, out=images)
    return images


def _moved(
    source: Float64s, size: int, supersample: int, angles: Float64s, spacing: Float64s
) -> Float64s:
    """Return turned views of a source, centred on it, zero outside it; one a row.

    A view samples the source on a grid ``supersample`` times finer than its own pixels and
    averages; ``spacing`` is that grid's step in pixels of the source.
    """
    fine = size * supersample
    out = np.empty((len(angles), size * size))
    if not len(angles):
        return out
    # The canvas must hold the farthest corner of every view, and a neighbour for the bilinear.
    reach = (fine - 1) / sqrt(2) * float(spacing.max())
    height, width = source.shape
    margin = max(0, ceil(reach - (min(height, width) - 1) / 2)) + 2
    canvas = np.pad(source, margin)
    block = max(1, 2**21 // fine**2)  # 16 MB of fine pixels at a time
    for start in range(0, len(angles), block):
        turn, step = angles[start : start + block], spacing[start : start + block]
        row = np.full(len(turn), (canvas.shape[0] - 1) / 2)
        column = np.full(len(turn), (canvas.shape[1] - 1) / 2)
        views = np.empty((len(turn), fine * fine))
        sample_views(canvas, row, column, turn, step, fine, False, views)
        views = views.reshape(len(turn), size, supersample, size, supersample).mean(axis=(2, 4))
        out[start : start + block] = views.reshape(len(turn), -1)
    return out


def _finished(images: Float64s, unit_norm: bool) -> Float64s:
    """Divide each image by its norm, if asked to; a blank image stays as it is."""
    if unit_norm:
        norms = np.linalg.norm(images, axis=1, keepdims=True)
        np.divide(images, norms, out=images, where=norms > 0)
    return images


def _face_of_height(name: str | Path, pixels: float) -> Any:
    """Open a font at the size at which its ``0`` stands so many pixels high."""
    probe = 1000.0
    _, top, _, bottom = font(name, probe).getbbox("0")
    if bottom <= top:
        raise ValueError(f"the font {str(name)!r} has no digit 0 to measure its height by.")
    return font(name, probe * pixels / (bottom - top))
