"""Skip the doctests of pages about libraries that are not installed."""

from importlib.util import find_spec

NAMES = ("deeptime", "minisom", "pydmd", "river", "xeofs")
collect_ignore = [f"{name}.md" for name in NAMES if not find_spec(name)]
