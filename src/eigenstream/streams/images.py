"""The reader of images. Each image is a row of gray values."""

import warnings
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from PIL import Image, ImageSequence

from eigenstream._checks import check_pair, check_whole
from eigenstream._types import Piece
from eigenstream.streams.base import Request, RowTable, StreamError, check_width, damaged
from eigenstream.streams.files import File


class Images(RowTable):
    """Gray images of one size, in natural order of their names, or the pages of one file."""

    options = ("size",)
    dtype = np.dtype(np.float32)

    def __init__(
        self, files: Sequence[File], name: str, size: tuple[int, int] | None = None
    ) -> None:
        self.files, self.name = files, name
        self.size: tuple[int, int] | None = None
        if size is not None:
            height, width = check_pair(size, "size", "(height, width)")
            self.size = check_whole(height, "size"), check_whole(width, "size")
        self.n_rows = len(files) if len(files) > 1 else None
        first = next(self._images())
        self.row_shape, self.width = first.shape, first.size

    def pieces(self, request: Request) -> Iterator[Piece]:
        """Yield stacks of images."""
        images = self._images()
        while stack := list(islice(images, request.block_rows)):
            yield np.stack(stack)

    def _images(self) -> Iterator[Piece]:
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
        try:
            # Pillow warns at half of the size at which it raises an error.
            with warnings.catch_warnings(), file.open() as stream, Image.open(stream) as image:
                warnings.simplefilter("error", Image.DecompressionBombWarning)
                for page in ImageSequence.Iterator(image):
                    # Images of 16 bits and of floats are gray already.
                    gray = page if page.mode in ("L", "I", "F", "I;16") else page.convert("L")
                    if self.size is not None:
                        gray = gray.resize(self.size[::-1], Image.Resampling.BOX)
                    check_width(gray.width * gray.height * 4, f"{file.name} is large")
                    yield np.asarray(gray, np.float32)
        except (PermissionError, StreamError):
            raise
        except Exception as error:  # Pillow raises different errors for each format
            raise damaged(file.name, "an image", error) from None
