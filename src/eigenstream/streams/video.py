"""Videos, decoded by PyAV: every frame is a row of gray values from 0 to 255."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from eigenstream.streams._pictures import check_pixels, check_size, gathered
from eigenstream.streams._places import File
from eigenstream.streams.base import RowBlock, RowTable, StreamError, Wanted, needed

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
