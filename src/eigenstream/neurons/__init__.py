"""The classic neurons as estimators."""
