"""The experiments of the papers, one recipe a file."""
