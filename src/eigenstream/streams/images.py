"""Folders and lists of images, read by Pillow: every image is a row of gray values, 0 to 255."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from PIL import Image, ImageSequence, UnidentifiedImageError

from eigenstream.streams._pictures import check_pixels, check_size, gathered
from eigenstream.streams._places import File
from eigenstream.streams.base import RowBlock, RowTable, StreamError, Wanted


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
            # Pillow warns of decompression bombs from half of what it refuses on.
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
