"""[HPCA] section 7: projections learned from pairs, one recipe a file."""
