"""The terms of the rows, their sums, and the operators A and B."""
