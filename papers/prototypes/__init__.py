"""Prototypes at work: what they find, beside theory, and in pictures."""
