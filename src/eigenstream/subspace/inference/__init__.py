"""Error bars, time scales, bounds and decisions of fitted subspaces."""
