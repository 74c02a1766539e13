"""Where an estimator meets a stream: ``fit``, ``transform`` and ``predict`` take one as an array.

A stream is whatever reads itself in chunks, as those of ``eigenstream.streams`` do; it is known by
what it can do, so that no estimator imports a reader. Which of these an estimator uses:

- ``fits_streams`` above ``fit`` where all rows are needed at once (passes in random order, a Gram
  matrix): they are read into memory, which gives what ``fit`` of the array gives, and refused where
  they would not fit.
- ``fits_streams_by("_fit_stream")`` where a method of that name learns from a stream as it comes.
  It gets the course of the fit and lets ``course.learned`` learn: ``learn_chunks(course)`` makes
  one pass of ``partial_fit``, ``course.learning()`` is the next pass over rows. ``self`` stays as
  it is, so that a refusal changes nothing; the decorator takes over what has learned, and the names
  of the columns. Checkpoints (``checkpoint=``, ``every=``, ``resume=``) come with the course: what
  learns has only to hold all that it needs to go on.
- ``maps_streams`` above ``transform``, ``predict`` and the like: they return a stream of answers.

Rows that weigh nothing, since they lack values, are left out here; estimators of rows in time, for
which a gap is a gap, read chunks with their weights themselves.
"""

from eigenstream._streams._answers import maps_streams
from eigenstream._streams._fitting import fits_streams, fits_streams_by
from eigenstream._streams._passes import Course, Passes, all_rows, learn_chunks
from eigenstream._streams.base import (
    Taught,
    check_labelled,
    complete_rows,
    fresh,
    is_stream,
    note_columns,
    refuse_keeping,
)

__all__ = [
    "Course",
    "Passes",
    "Taught",
    "all_rows",
    "check_labelled",
    "complete_rows",
    "fits_streams",
    "fits_streams_by",
    "fresh",
    "is_stream",
    "learn_chunks",
    "maps_streams",
    "note_columns",
    "refuse_keeping",
]
