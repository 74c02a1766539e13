"""Real images that the experiments watch, learn from or are asked about."""
