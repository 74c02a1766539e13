"""The estimators of subspaces, and the parts that they share."""
