"""Reproductions of the papers' tables and figures, and lessons; not installed."""

from papers import (
    clusters,
    dynamics,
    film,
    hpca,
    maps,
    margin,
    neurons,
    objects,
    pca,
    slow,
    translation,
)
from papers.base import Paper

#: Every page by its name.
PAPERS: dict[str, Paper] = {
    paper.name: paper
    for paper in (
        *slow.PAPERS,
        translation.PAPER,
        *hpca.PAPERS,
        film.PAPER,
        objects.PAPER,
        margin.PAPER,
        dynamics.PAPER,
        clusters.PAPER,
        pca.PAPER,
        neurons.PAPER,
        maps.PAPER,
    )
}
