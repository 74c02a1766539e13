"""Readers of images, videos and sound. Each frame or window of samples is a row."""

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import islice

import numpy as np
from PIL import Image, ImageSequence

from eigenstream.core.checks import check_pair, check_whole
from eigenstream.core.types import Handle, Piece
from eigenstream.streams.base import (
    Request,
    RowTable,
    SlicedTable,
    StreamError,
    check_width,
    naming_errors,
    needed,
)
from eigenstream.streams.files import File


class Pictures(RowTable):
    """Gray pictures of one size. Subclasses yield them one by one."""

    options = ("size",)
    dtype = np.dtype(np.float32)

    def __init__(
        self, files: Sequence[File], name: str, size: tuple[int, int] | None = None
    ) -> None:
        self.files, self.name = files, name
        self.n_rows = len(files) if len(files) > 1 else None
        self.size: tuple[int, int] | None = None
        if size is not None:
            height, width = check_pair(size, "size", "(height, width)")
            self.size = check_whole(height, "size"), check_whole(width, "size")
        first = next(self.pictures(), None)
        if first is None:
            raise StreamError(f"{name} contains no pictures. Pass another file.")
        self.row_shape, self.width = first.shape, first.size

    def pictures(self) -> Iterator[Piece]:
        """Yield the pictures as arrays of gray values."""
        raise NotImplementedError

    def pieces(self, request: Request) -> Iterator[Piece]:
        """Yield stacks of pictures."""
        pictures = self.pictures()
        while stack := list(islice(pictures, request.block_rows)):
            yield np.stack(stack).astype(np.float32, copy=False)


class Images(Pictures):
    """Images in natural order of their names, or the pages of one file."""

    def pictures(self) -> Iterator[Piece]:
        """Yield the first page of each image, or all pages of a single image."""
        shape = None
        for file in self.files:
            for pixels in islice(self._pages(file), 1 if len(self.files) > 1 else None):
                shape = shape or pixels.shape
                if pixels.shape != shape:
                    sizes = f"{pixels.shape}, and {self.files[0].name} has {shape}"
                    raise StreamError(f"{file.name} has shape {sizes}. Pass size={shape}.")
                yield pixels

    def _pages(self, file: File) -> Iterator[Piece]:
        """Yield the pages of an image as gray values."""
        # Pillow warns at half of the size at which it raises an error.
        with (
            naming_errors(file.name, "an image"),
            warnings.catch_warnings(),
            file.open() as stream,
            Image.open(stream) as image,
        ):
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            for page in ImageSequence.Iterator(image):
                # Images of 16 bits and of floats are gray already.
                gray = page if page.mode in ("L", "I", "F", "I;16") else page.convert("L")
                if self.size is not None:
                    gray = gray.resize(self.size[::-1], Image.Resampling.BOX)
                check_width(gray.width * gray.height * 4, f"{file.name} is large")
                yield np.asarray(gray, np.float32)


class Video(Pictures):
    """The frames of the first video stream in a file."""

    def __init__(self, file: File, size: tuple[int, int] | None = None) -> None:
        self.n_bytes = file.size()
        super().__init__([file], file.name, size)

    def pictures(self) -> Iterator[Piece]:
        """Yield the frames as gray values."""
        av = needed("av", "Videos")
        with (
            naming_errors(self.name, "a video"),
            self.files[0].source() as source,
            av.open(source, "r") as container,
        ):
            if not container.streams.video:
                raise StreamError(f"{self.name} contains no video. Pass another file.")
            track = container.streams.video[0]
            track.thread_type = "AUTO"
            height, width = self.size or (int(track.height), int(track.width))
            check_width(height * width * 4, f"{self.name} has {height} x {width} pixels")
            for frame in container.decode(track):
                gray = frame.reformat(width=width, height=height, format="gray")
                if container.duration and frame.time is not None:
                    self.share = min(frame.time * av.time_base / container.duration, 1.0)
                yield gray.to_ndarray()


#: The smallest power, 120 dB below a full-scale sine. It keeps the logarithm of silence finite.
SILENCE = 1e-12

#: The line of libsndfile's log about a file with fewer bytes of sound than its header names.
CUT_OFF = re.compile(r"(?:data|SSND|Data Size|riff)\s*: (\d+) \(should be (\d+)\)")

#: Programs that write to a pipe name sizes from here on, because they do not know the size.
UNKNOWN_SIZE = (1 << 31) - (1 << 16)


class Sound(SlicedTable):
    """Log spectra of a sound file, averaged over its channels.

    Each row is the spectrum of a Hann window of ``window`` samples, every ``hop`` samples. The
    unit is decibels relative to a full-scale sine. An incomplete window at the end is omitted.
    """

    options = ("window", "hop")

    def __init__(self, file: File, window: int = 1024, hop: int | None = None) -> None:
        self.file, self.files, self.name = file, [file], file.name
        self.window = check_whole(window, "window", least=2)
        self.hop = self.window // 2 if hop is None else check_whole(hop, "hop")
        with self._sound() as sound:
            rate, frames, log = int(sound.samplerate), int(sound.frames), str(sound.extra_info)
        sizes = CUT_OFF.search(log)
        if sizes and int(sizes[2]) < int(sizes[1]) < UNKNOWN_SIZE:
            sizes_text = f"it has {sizes[2]} bytes, and its header names {sizes[1]}"
            raise StreamError(f"{self.name} is cut off: {sizes_text}. Copy it again.")
        if frames < self.window:
            raise StreamError(f"{self.name} has {frames} samples. Use a shorter window than that.")
        self.describe(((frames - self.window) // self.hop + 1, self.window // 2 + 1), np.float32)
        names = tuple(f"{hertz:.1f} Hz" for hertz in np.fft.rfftfreq(self.window, 1 / rate))
        self.columns = names if len(set(names)) == self.width else ()

    @contextmanager
    def _sound(self) -> Iterator[Handle]:
        soundfile = needed("soundfile", "Sound files")
        with (
            naming_errors(self.name, "a sound file"),
            self.file.open() as stream,
            soundfile.SoundFile(stream) as sound,
        ):
            yield sound

    def opened(self) -> AbstractContextManager[Handle]:
        """Open the sound."""
        return self._sound()

    def rows_of(self, source: Handle, rows: slice) -> Piece:
        """Return spectra."""
        window, hop = self.window, self.hop
        count = (rows.stop - rows.start - 1) * hop + window
        source.seek(rows.start * hop)
        samples = source.read(count, dtype="float64", always_2d=True).mean(axis=1)
        if len(samples) < count:
            raise StreamError("the file is cut off")
        windows = np.lib.stride_tricks.sliding_window_view(samples, window)[:: hop * rows.step]
        taper = np.hanning(window + 1)[:-1]
        power = np.abs(np.fft.rfft(windows * taper)) ** 2 / (taper.sum() / 2) ** 2
        return (10 * np.log10(np.maximum(power, SILENCE))).astype(np.float32)
