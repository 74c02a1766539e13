"""The solvers, and the sums of those that store no matrices."""
