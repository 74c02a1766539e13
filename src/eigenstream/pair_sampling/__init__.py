"""Pairs of the same and of different classes: drawn from labels, or from rows in time."""

from eigenstream.pair_sampling._drawing import sample_pairs
from eigenstream.pair_sampling._streams import LabelledPairs, TemporalPairs

__all__ = ["LabelledPairs", "TemporalPairs", "sample_pairs"]
