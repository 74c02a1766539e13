"""[DYN]: the figures of the dynamics of on-line learning, with simulations at finite N."""
