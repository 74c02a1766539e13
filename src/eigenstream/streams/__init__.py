"""Streams of rows in time order, read chunk by chunk from files, arrays and iterables."""

from eigenstream.rows.chunk import Chunk
from eigenstream.streams._aside import columns_of, labels_of
from eigenstream.streams._opening import open_stream
from eigenstream.streams.base import StreamError
from eigenstream.streams.fields import FeatureGrid
from eigenstream.streams.outputs import write_stream
from eigenstream.streams.preprocessing import Preprocessing, Step, preprocessing_of
from eigenstream.streams.steps import (
    Differences,
    LagEmbedding,
    OmitOutliers,
    QuadraticExpansion,
    Standardize,
    UnitNorm,
    Weighting,
)
from eigenstream.streams.stream import Stream

__all__ = [
    "Chunk",
    "Differences",
    "FeatureGrid",
    "LagEmbedding",
    "OmitOutliers",
    "Preprocessing",
    "QuadraticExpansion",
    "Standardize",
    "Step",
    "Stream",
    "StreamError",
    "UnitNorm",
    "Weighting",
    "columns_of",
    "labels_of",
    "open_stream",
    "preprocessing_of",
    "write_stream",
]
