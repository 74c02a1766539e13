"""Checks, arrays on devices, linear algebra, files and the form of saved objects."""

__all__: list[str] = []
