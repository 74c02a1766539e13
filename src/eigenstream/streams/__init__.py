"""Rows in time order out of files and of whatever else holds them: read chunk by chunk."""

from eigenstream.streams._aside import columns_of, labels_of
from eigenstream.streams._chunks import Chunk
from eigenstream.streams._opening import StreamOptions, open_stream
from eigenstream.streams._stream import Stream
from eigenstream.streams.base import StreamError
from eigenstream.streams.outputs import write_stream
from eigenstream.streams.preprocessing import (
    Differences,
    LagEmbedding,
    Preprocessing,
    QuadraticExpansion,
    Standardize,
    Step,
    UnitNorm,
    preprocessing_of,
)

__all__ = [
    "Chunk",
    "Differences",
    "LagEmbedding",
    "Preprocessing",
    "QuadraticExpansion",
    "Standardize",
    "Step",
    "Stream",
    "StreamError",
    "StreamOptions",
    "UnitNorm",
    "columns_of",
    "labels_of",
    "open_stream",
    "preprocessing_of",
    "write_stream",
]
