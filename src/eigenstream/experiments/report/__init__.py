"""Reports of experiments: self-contained pages, and every number as JSON."""

from eigenstream.experiments.report._page import (
    Drawing,
    Frames,
    Live,
    PageTable,
    Report,
    Section,
    Tiles,
    as_json,
)

__all__ = ["Drawing", "Frames", "Live", "PageTable", "Report", "Section", "Tiles", "as_json"]
