"""In which space: maps applied before the scatters."""
