"""A file format: 16-bit samples of several channels after 8 bytes."""

from contextlib import contextmanager
from pathlib import Path

import numpy as np

from eigenstream.streams.base import SlicedTable, StreamError

MAGIC = 0x5245


class Recording(SlicedTable):
    """Rows of a recording, in ``open_stream(Recording("night.rec"))``."""

    def __init__(self, path):
        self.name = str(path)
        size = Path(path).stat().st_size
        header = np.fromfile(path, "<i4", 2)
        if len(header) < 2 or header[0] != MAGIC or header[1] < 1:
            raise StreamError(f"{path} is not a recording. Check the path.")
        channels = int(header[1])
        samples, rest = divmod(size - 8, 2 * channels)
        if rest:
            raise StreamError(f"{path} ends within row {samples}.")
        self.columns = tuple(f"channel {k}" for k in range(channels))
        self.describe((samples, channels), np.int16)

    @contextmanager
    def opened(self):
        """Open the samples. Only the requested rows are read."""
        yield np.memmap(self.name, "<i2", "r", 8, (self.n_rows, self.width))
