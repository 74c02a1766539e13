"""Images, videos and sound: every frame, or window of samples, is a row."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from typing import Any

import numpy as np
from PIL import Image, ImageSequence, UnidentifiedImageError

from eigenstream._checks import check_pair, check_whole
from eigenstream.streams._places import File
from eigenstream.streams.base import (
    LARGEST_ROW,
    RowBlock,
    RowTable,
    StreamError,
    Wanted,
    flat,
    needed,
    picked,
    rows_within,
)


def check_size(size: Any) -> tuple[int, int] | None:
    """Return (height, width) asked for, or None for that of the pictures.

    >>> check_size((28, 28))
    (28, 28)
    """
    if size is None:
        return None
    height, width = check_pair(size, "size", "(height, width)")
    return check_whole(height, "size"), check_whole(width, "size")


def check_pixels(height: int, width: int, name: str) -> None:
    """Raise if a picture is larger than a row may be."""
    if height * width * 4 > LARGEST_ROW:
        raise StreamError(
            f"{name} has pictures of {height} x {width} pixels, which is "
            f"{height * width * 4 / 2**20:.0f} MB a row. Shrink them with size=(height, width)."
        )


def gathered(frames: Iterable[Any], wanted: Wanted) -> Iterator[RowBlock]:
    """Yield gray frames as blocks of rows."""
    some = iter(frames)
    stacks = iter(lambda: list(islice(some, wanted.block_rows)), [])
    rows = (flat(np.stack(stack).astype(np.float32, copy=False)) for stack in stacks)
    yield from rows_within((picked(values, wanted) for values in rows), wanted)


class ImageTable(RowTable):
    """Images of one size, in natural order of their names; the pages of one file are rows, too."""

    options = ("size",)

    def __init__(self, files: Sequence[File], name: str, size: Any = None) -> None:
        self.files, self.name = tuple(files), name
        self.asked = check_size(size)
        first = next(self._pages(self.files[0]))
        height, width = self.asked or first.shape
        check_pixels(height, width, name)
        self.shape, self.row_shape, self.width = (height, width), (height, width), height * width
        self.dtype = np.dtype(np.float32)
        self.n_rows = len(self.files) if len(self.files) > 1 else None

    def blocks(self, wanted: Wanted) -> Iterator[RowBlock]:
        """Yield the wanted images."""
        yield from gathered(self._every(), wanted)

    def _every(self) -> Iterator[Any]:
        for file in self.files:
            for page, pixels in enumerate(self._pages(file)):
                if page and len(self.files) > 1:
                    break  # of a folder, the first page of each
                if pixels.shape != self.shape:
                    raise StreamError(
                        f"{file.name} is {pixels.shape[0]} x {pixels.shape[1]} pixels, and "
                        f"{self.files[0].name} is {self.shape[0]} x {self.shape[1]}. Bring "
                        f"all to one size, such as size={self.shape}."
                    )
                yield pixels

    def _pages(self, file: File) -> Iterator[Any]:
        """Yield the pages of an image as gray values."""
        if file.size() == 0:
            raise StreamError(f"{file.name} is empty.")
        try:
            # Pillow warns of decompression bombs from half of the size that raises an error.
            with warnings.catch_warnings(), file.open() as stream, Image.open(stream) as image:
                warnings.simplefilter("error", Image.DecompressionBombWarning)
                for page in ImageSequence.Iterator(image):
                    yield self._gray(page)
        except (Image.DecompressionBombError, Image.DecompressionBombWarning):
            raise StreamError(f"{file.name} claims so many pixels that it may be a bomb.") from None
        except PermissionError:
            raise
        except (UnidentifiedImageError, OSError, SyntaxError, ValueError, EOFError) as refusal:
            if isinstance(refusal, StreamError):
                raise
            reason = " ".join(str(refusal).split())[:120]
            raise StreamError(f"{file.name} is no image, or it is damaged: {reason}.") from None

    def _gray(self, page: Any) -> Any:
        # Sixteen bits and floats stay what they are; all colours become gray.
        gray = page if page.mode in ("L", "I", "F", "I;16") else page.convert("L")
        if self.asked is not None:
            height, width = self.asked
            gray = gray.resize((width, height), Image.Resampling.BOX)
        return np.asarray(gray, np.float32)


#: In which a container says how long it is, a second has so many.
MICROSECONDS = 1e6


class Video(RowTable):
    """The frames of the first video stream in a file."""

    options = ("size",)

    def __init__(self, file: File, size: Any = None) -> None:
        if file.part:
            raise StreamError(f"{file.path} is a video: leave out ::{file.part}.")
        self.file, self.name, self.n_bytes = file, file.name, file.size() or 1
        shape = check_size(size)
        with self._opened() as (_, track):
            if shape is None:
                shape = (int(track.height), int(track.width))
        check_pixels(*shape, self.name)
        if shape[0] * shape[1] == 0:
            raise StreamError(f"{self.name} has frames without pixels.")
        # A container's own count of frames is often wrong, and no count is kept of it here.
        self.row_shape, self.width = shape, shape[0] * shape[1]
        self.dtype = np.dtype(np.float32)
        if next(self._frames(), None) is None:
            raise StreamError(f"{self.name} is a video without frames.")

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        av = needed("av", "av", "videos")
        if self.file.size() == 0:
            raise StreamError(f"{self.file.path} is empty.")
        here = self.file.system is None
        try:
            with ExitStack() as stack:
                source = self.file.path if here else stack.enter_context(self.file.open())
                container = stack.enter_context(av.open(source, "r"))
                if not container.streams.video:
                    raise StreamError(f"{self.name} has no video in it.")
                track = container.streams.video[0]
                track.thread_type = "AUTO"
                yield container, track
        except av.EOFError:
            raise StreamError(f"{self.name} is a video without frames, or it is cut off.") from None
        except av.FFmpegError as refusal:
            reason = " ".join(str(refusal).split())[:160]
            raise StreamError(f"{self.name} is no video, or it is damaged: {reason}.") from None

    def _frames(self) -> Iterator[Any]:
        assert self.row_shape is not None
        height, width = self.row_shape
        with self._opened() as (container, track):
            for frame in container.decode(track):
                gray = frame.reformat(width=width, height=height, format="gray")
                if container.duration and frame.time is not None:
                    self.share = min(frame.time * MICROSECONDS / container.duration, 1.0)
                yield gray.to_ndarray()

    def blocks(self, wanted: Wanted) -> Iterator[RowBlock]:
        """Yield the wanted frames."""
        yield from gathered(self._frames(), wanted)


#: Silence has this power: 120 dB below the loudest sine, so that its logarithm is a number.
SILENCE = 1e-12

#: The longest window: 6 seconds at 44.1 kHz.
LONGEST = 1 << 18


class Sound(RowTable):
    """Log spectra of the mean of all channels, in Hann windows of ``window`` samples every ``hop``.

    Decibels, where 0 is a sine that fills the range. The last samples, fewer than a window, are
    left out.
    """

    options = ("window", "hop")

    def __init__(self, file: File, window: int | None = None, hop: int | None = None) -> None:
        if file.part:
            raise StreamError(f"{file.path} is a sound: leave out ::{file.part}.")
        self.file, self.name = file, file.name
        self.window = 1024 if window is None else check_whole(window, "window", least=2)
        self.hop = max(self.window // 2, 1) if hop is None else check_whole(hop, "hop")
        if self.window > LONGEST:
            raise ValueError(f"window must be at most {LONGEST} samples, got {self.window}.")
        with self._opened() as sound:
            rate, frames = int(sound.samplerate), int(sound.frames)
        if frames < self.window:
            raise StreamError(
                f"{self.name} has {frames} samples, and one row takes window={self.window}. "
                + ("There is no sound in it." if frames == 0 else "Choose a shorter window.")
            )
        self.n_rows = (frames - self.window) // self.hop + 1
        self.width = self.window // 2 + 1
        self.columns = tuple(f"{hertz:.1f} Hz" for hertz in np.fft.rfftfreq(self.window, 1 / rate))
        self.columns = self.columns if len(set(self.columns)) == self.width else None
        self.dtype = np.dtype(np.float32)

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        soundfile = needed("soundfile", "soundfile", "sound files")
        if self.file.size() == 0:
            raise StreamError(f"{self.file.path} is empty.")
        try:
            with self.file.open() as stream, soundfile.SoundFile(stream) as sound:
                yield sound
        except soundfile.SoundFileError as refusal:
            reason = " ".join(str(refusal).split())[-120:]
            raise StreamError(f"{self.name} is no sound, or it is damaged: {reason}") from None

    def blocks(self, wanted: Wanted) -> Iterator[RowBlock]:
        """Yield the wanted windows' spectra."""
        yield from rows_within(self._every(wanted), wanted)

    def _every(self, wanted: Wanted) -> Iterator[RowBlock]:
        assert self.n_rows is not None
        taper = np.hanning(self.window + 1)[:-1]
        loudest = (taper.sum() / 2) ** 2
        held, done = np.empty(0), 0
        with self._opened() as sound:
            while done < self.n_rows:
                count = min(wanted.block_rows, self.n_rows - done)
                # Samples of so many windows; of those, what the last ones have left is held.
                due = (count - 1) * self.hop + self.window
                fresh = sound.read(due - len(held), dtype="float64", always_2d=True).mean(axis=1)
                held = np.concatenate([held, fresh])
                if len(held) < due:
                    raise StreamError(
                        f"{self.name} is cut off: its header promises more than the "
                        f"{done * self.hop + len(held)} samples that are there."
                    )
                windows = np.lib.stride_tricks.sliding_window_view(held, self.window)[:: self.hop]
                power = np.abs(np.fft.rfft(windows[:count] * taper)) ** 2 / loudest
                rows = 10 * np.log10(np.maximum(power, SILENCE))
                yield picked(rows.astype(np.float32), wanted)
                done += count
                held = self._left(sound, held, count)

    def _left(self, sound: Any, held: Any, count: int) -> Any:
        """Return what the next windows need; where they are further apart than long, seek."""
        used = count * self.hop
        if used > len(held):
            sound.seek(used - len(held), 1)
            return np.empty(0)
        return held[used:]
