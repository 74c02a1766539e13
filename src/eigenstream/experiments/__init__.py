"""Experiments: recipes that make the papers' tables and figures, and reports of what came out."""

from eigenstream.experiments.base import Experiment


def known() -> dict[str, Experiment]:
    """Return every experiment that reproduces a paper, by name.

    >>> sorted(known())
    ['slow-rotation', 'slow-scale']
    """
    # Imported when asked for: whoever runs the demo need not wait for the others.
    from eigenstream.experiments import slow_rotation, slow_scale

    all_of_them: tuple[Experiment, ...] = (slow_rotation.EXPERIMENT, slow_scale.EXPERIMENT)
    return {one.name: one for one in all_of_them}


__all__ = ["known"]
