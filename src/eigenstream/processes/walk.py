"""Random views of a periodic image ([SLOW] section 6)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil, pi, sqrt

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from eigenstream.core.checks import check_finite, check_number, check_whole, real_array
from eigenstream.core.linalg import Float64s, Floats, brief
from eigenstream.core.types import Array, DType, RandomState
from eigenstream.kernels.views import bounded_walk, sample_views
from eigenstream.processes.base import BLOCK, Process, check_dtype, fill, generators, seed_sequence

#: The smallest and the largest scale of a view.
SCALES = (0.5, 1.5)

#: A function of a generator and a count that returns increments.
Law = Callable[[np.random.Generator, int], ArrayLike]


@dataclass(frozen=True, eq=False)
class ViewStates:
    """Positions, angles and scales of views.

    Attributes
    ----------
    positions : array of shape (m, 2)
        Row and column in pixels, wrapped into the image.
    angles : array of shape (m,)
        Angles in [-pi, pi).
    scales : array of shape (m,)
        A view with a scale above 1 covers an area larger than its size.
    """

    positions: Float64s
    angles: Float64s
    scales: Float64s

    __repr__ = brief

    def __len__(self) -> int:
        """Return the number of views."""
        return len(self.angles)


class ImageViews(Process):
    """Independent views of a periodic gray image: uniform positions, angles and scales.

    This is the stationary law of :class:`ImageWalk`, except for scales. The walk clips its scale,
    so its scale is at a bound with positive probability.

    Parameters
    ----------
    image : array-like of shape (height, width)
        Finite gray values; the image continues periodically beyond its borders.
    size : int, default=28
        A view has ``size`` x ``size`` pixels; the image must be at least as large.
    random_state : int, generator or None, default=None
        The seed. None draws one seed; every reading gives the same views.

    Examples
    --------
    >>> from eigenstream.processes import page_image
    >>> page = page_image(64, random_state=0)
    >>> views = ImageViews(page, size=8, random_state=0)
    >>> np.linalg.norm(views.take(5), axis=1)
    array([1., 1., 1., 1., 1.])
    """

    def __init__(
        self, image: ArrayLike, *, size: int = 28, random_state: RandomState = None
    ) -> None:
        self.size = check_whole(size, "size")
        pixels = real_array(image, "image").astype(np.float64, copy=False)
        if pixels.ndim != 2 or min(pixels.shape) < self.size:
            raise ValueError(
                f"image has shape {pixels.shape}. Pass one gray image of at least {self.size} x "
                f"{self.size} pixels."
            )
        check_finite(pixels, name="image")
        self.shape = pixels.shape
        self.n_features = self.size**2
        # The farthest corner of a view, its bilinear neighbour, and one pixel for rounding.
        self._margin = ceil((self.size - 1) / sqrt(2) * SCALES[1]) + 2
        self._padded = np.pad(pixels, self._margin, mode="wrap")
        self._seed = seed_sequence(random_state)

    def _state_blocks(self) -> Iterator[Float64s]:
        """Yield ``BLOCK`` rows (row, column, angle, scale) at a time, without end."""
        where, turn, zoom = generators(self._seed, 3)
        while True:
            places = where.uniform(0.0, self.shape, (BLOCK, 2))
            angles, scales = turn.uniform(-pi, pi, BLOCK), zoom.uniform(*SCALES, BLOCK)
            yield np.column_stack([places, angles, scales])

    def _blocks(self, dtype: DType) -> Iterator[Floats]:
        for states in self._state_blocks():
            yield self._sampled(states, dtype)

    def states(self, m: int) -> ViewStates:
        """Return the states of the first ``m`` views.

        Parameters
        ----------
        m : int
            The number of views.

        Returns
        -------
        ViewStates
            Their positions, angles and scales.
        """
        table = np.empty((check_whole(m, "m", least=0), 4))
        fill(table, self._state_blocks())
        return ViewStates(table[:, :2].copy(), table[:, 2].copy(), table[:, 3].copy())

    def view(self, states: ViewStates, dtype: DTypeLike = np.float64) -> Array:
        """Return the views at the given states, one in each row.

        Parameters
        ----------
        states : ViewStates
            The positions, angles and scales.
        dtype : dtype, default=float64
            The type of the views: float32 or float64.

        Returns
        -------
        array of shape (m, size * size)
            The views.
        """
        table = np.column_stack([states.positions, states.angles, states.scales])
        table = table.astype(np.float64)
        # The kernel does not check its coordinates.
        check_finite(table, name="states (row, column, angle, scale)")
        table[:, :2] %= self.shape
        low, high = SCALES
        if not ((table[:, 3] >= low) & (table[:, 3] <= high)).all():
            raise ValueError(f"A scale is outside [{low:g}, {high:g}].")
        return self._sampled(table, check_dtype(dtype))

    def _sampled(self, states: Float64s, dtype: DType) -> Floats:
        out = np.empty((len(states), self.n_features), dtype=dtype)
        rows, columns, angles, scales = states.T.copy()
        rows, columns = rows + self._margin, columns + self._margin
        sample_views(self._padded, rows, columns, angles, scales, self.size, True, out)
        return out


class ImageWalk(ImageViews):
    """Views of a periodic gray image by random walks of position, rotation and scale.

    View t is ``image(x_t + s_t R(r_t) p)`` for p on a centred grid of ``size`` x ``size`` points
    one pixel apart. It is sampled bilinearly and divided by its Euclidean norm if that is positive.
    The walk starts at position (0, 0), angle 0 and scale 1. ``take`` and
    ``chunks`` always start at the first view.

    Parameters
    ----------
    image : array-like of shape (height, width)
        Finite gray values; the image continues periodically beyond its borders.
    size : int, default=28
        A view has ``size`` x ``size`` pixels; the image must be at least as large.
    rotation : float, default=pi
        Increments of the angle are uniform on [-rotation, rotation].
    scale : float, default=0.01
        Increments of the scale are uniform on [-scale, scale].
    translation : float or callable, default=0.5
        The standard deviation of the normal increments of the position, in pixels. A function
        ``(rng, n) -> increments`` of shape (n, 2) draws other increments.
    random_state : int, generator or None, default=None
        The seed. None draws one seed; every reading gives the same views.

    Examples
    --------
    >>> from eigenstream.processes import page_image
    >>> page = page_image(64, random_state=0)
    >>> walk = ImageWalk(page, size=8, random_state=0)
    >>> walk.take(1000).shape
    (1000, 64)
    >>> [chunk.shape for chunk in walk.chunks(10, rows=4)]
    [(4, 64), (4, 64), (2, 64)]
    >>> start = walk.states(1)
    >>> start.positions, start.angles, start.scales
    (array([[0., 0.]]), array([0.]), array([1.]))
    """

    def __init__(
        self,
        image: ArrayLike,
        *,
        size: int = 28,
        rotation: float = pi,
        scale: float = 0.01,
        translation: float | Law = 0.5,
        random_state: RandomState = None,
    ) -> None:
        super().__init__(image, size=size, random_state=random_state)
        self.rotation = check_number(rotation, "rotation", least=0)
        self.scale = check_number(scale, "scale", least=0)
        if not callable(translation):
            translation = check_number(translation, "translation", least=0)
        self.translation = translation

    def stationary(self) -> ImageViews:
        """Return independent views of the same image at uniform positions, angles and scales.

        Their mean is suitable for centring. A walk with small steps explores the image slowly, so
        the mean of its first views is biased.

        Returns
        -------
        ImageViews
            The process of independent views.
        """
        margin = self._margin
        seed = np.random.SeedSequence(self._seed.entropy, spawn_key=(*self._seed.spawn_key, 3))
        return ImageViews(
            self._padded[margin:-margin, margin:-margin], size=self.size, random_state=seed
        )

    def _state_blocks(self) -> Iterator[Float64s]:
        where, turn, zoom = generators(self._seed, 3)
        position, angle, scale = np.zeros(2), 0.0, 1.0
        first = True
        while True:
            moves = self._moves(where)
            turns = turn.uniform(-self.rotation, self.rotation, BLOCK)
            zooms = zoom.uniform(-self.scale, self.scale, BLOCK)
            if first:  # the first view is the initial state
                moves[0], turns[0], zooms[0], first = 0.0, 0.0, 0.0, False
            positions = np.mod(position + np.cumsum(moves, axis=0), self.shape)
            angles = np.mod(angle + np.cumsum(turns) + pi, 2 * pi) - pi
            scales = np.empty(BLOCK)
            bounded_walk(scale, zooms, *SCALES, scales)
            position, angle, scale = positions[-1], angles[-1], scales[-1]
            yield np.column_stack([positions, angles, scales])

    def _moves(self, rng: np.random.Generator) -> Float64s:
        if not callable(self.translation):
            return rng.normal(0.0, self.translation, (BLOCK, 2))
        steps = np.array(self.translation(rng, BLOCK), dtype=np.float64)
        if steps.shape != (BLOCK, 2):
            raise ValueError(
                f"translation(rng, {BLOCK}) has shape {steps.shape}, not ({BLOCK}, 2)."
            )
        check_finite(steps, name="increments of translation")
        return steps
