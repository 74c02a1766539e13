"""Skip the doctests of pages about libraries that are not installed."""

from importlib.util import find_spec

collect_ignore = [f"{name}.md" for name in ("deeptime", "minisom", "river") if not find_spec(name)]
