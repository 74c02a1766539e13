"""How one observation changes the weights: one rule a file."""
