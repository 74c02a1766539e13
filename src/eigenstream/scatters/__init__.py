"""What is averaged: scatters form a monoid."""
