"""Skip the doctests of tutorials that need a package that is not installed."""

from importlib.util import find_spec

NEEDS = {
    "sunspots.md": "statsmodels",
    "station-file.md": "statsmodels",
    "instrument-netcdf.md": "statsmodels",
    "climate-patterns.md": "xarray",
    "single-cells.md": "anndata",
}
collect_ignore = [page for page, name in NEEDS.items() if not find_spec(name)]
