"""[SLOW] section 6: subspaces learned from moving views, one recipe a file."""
