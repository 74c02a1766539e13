"""Reports of experiments: self-contained pages, and every number as JSON."""

from eigenstream.experiments.report._page import (
    Drawing,
    Film,
    Frames,
    Live,
    PageTable,
    Report,
    Section,
    Tiles,
    as_json,
)

__all__ = [
    "Drawing",
    "Film",
    "Frames",
    "Live",
    "PageTable",
    "Report",
    "Section",
    "Tiles",
    "as_json",
]
