"""Reports of experiments: self-contained pages, and every number as JSON."""

from eigenstream.experiments.report._page import (
    Drawing,
    Frames,
    Live,
    Report,
    Section,
    Table,
    Tiles,
    as_json,
)

__all__ = ["Drawing", "Frames", "Live", "Report", "Section", "Table", "Tiles", "as_json"]
