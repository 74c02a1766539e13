"""What a lesson of the page consists of: pictures, and numbers beside what theory says."""

from dataclasses import dataclass
from typing import Any

from eigenstream.reports.base import Section

__all__ = ["Lesson"]


@dataclass(frozen=True)
class Lesson:
    """A section of the page, its rows (what, measured, theory) and all of its numbers."""

    section: Section
    rows: list[tuple[str, str, str]]
    numbers: dict[str, Any]
