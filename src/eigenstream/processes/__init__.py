"""Data with known answers: image walks, mixtures, spikes, autoregressions."""
