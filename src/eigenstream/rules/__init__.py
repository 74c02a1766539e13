"""Rules of supervised units: compiled loops over rows."""
