"""The classic neurons as they learn, each beside what theory says of it."""
