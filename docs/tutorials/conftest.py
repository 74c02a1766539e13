"""Skip the doctests of tutorials whose data come with a package that is not installed."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("statsmodels") else ["sunspots.md"]
