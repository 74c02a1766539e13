"""How the top eigenspace is found."""
