"""Experiments: recipes that make the papers' tables and figures, and reports of what came out."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from papers.base import Experiment


def known() -> "dict[str, Experiment]":
    """Return every experiment, by name: of a paper, or of what it leaves open.

    >>> sorted(known())
    ['clusters', 'dynamics', 'hpca-faces', ..., 'neurons', ..., 'slow-scale', 'slow-translation']
    """
    # Imported when asked for: whoever runs the demo need not wait for the others.
    from papers.dynamics import paper
    from papers.hpca import (
        faces,
        handwritten,
        margin,
        rotated,
        rotated_scaled,
        scaled,
        unsupervised,
    )
    from papers.neurons import lessons
    from papers.prototypes import clusters, maps
    from papers.slow import rotation, scale, translation

    all_of_them: tuple[Experiment, ...] = (
        rotation.EXPERIMENT,
        scale.EXPERIMENT,
        translation.EXPERIMENT,
        handwritten.EXPERIMENT,
        faces.EXPERIMENT,
        rotated.EXPERIMENT,
        scaled.EXPERIMENT,
        rotated_scaled.EXPERIMENT,
        unsupervised.EXPERIMENT,
        margin.EXPERIMENT,
        lessons.EXPERIMENT,
        paper.EXPERIMENT,
        clusters.EXPERIMENT,
        maps.EXPERIMENT,
    )
    return {one.name: one for one in all_of_them}


__all__ = ["known"]
