"""The estimators: contrast x solver x features."""
