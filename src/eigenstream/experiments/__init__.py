"""Experiments: recipes that make the papers' tables and figures, and reports of what came out."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eigenstream.experiments.base import Experiment


def known() -> "dict[str, Experiment]":
    """Return every experiment that reproduces a paper, by name.

    >>> sorted(known())
    ['hpca-faces', 'hpca-handwritten', ..., 'hpca-unsupervised', 'slow-rotation', 'slow-scale']
    """
    # Imported when asked for: whoever runs the demo need not wait for the others.
    from eigenstream.experiments import (
        hpca_faces,
        hpca_handwritten,
        hpca_rotated,
        hpca_rotated_scaled,
        hpca_scaled,
        hpca_unsupervised,
        slow_rotation,
        slow_scale,
    )

    all_of_them: tuple[Experiment, ...] = (
        slow_rotation.EXPERIMENT,
        slow_scale.EXPERIMENT,
        hpca_handwritten.EXPERIMENT,
        hpca_faces.EXPERIMENT,
        hpca_rotated.EXPERIMENT,
        hpca_scaled.EXPERIMENT,
        hpca_rotated_scaled.EXPERIMENT,
        hpca_unsupervised.EXPERIMENT,
    )
    return {one.name: one for one in all_of_them}


__all__ = ["known"]
