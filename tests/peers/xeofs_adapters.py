"""EOF of xeofs with the answers of StreamPCA."""

import tempfile
from pathlib import Path

import numpy as np
import pytest

from eigenstream import StreamPCA, load, open_stream, save

xarray = pytest.importorskip("xarray")


class EOF:
    """EOF of xeofs."""

    def __init__(self, n_modes=2, standardize=False, use_coslat=False, check_nans=True, **named):
        self.n_modes, self.check_nans, self.options = n_modes, check_nans, named
        self.standardize, self.use_coslat = standardize, use_coslat

    def get_params(self):
        names = "n_modes", "standardize", "use_coslat"
        return {name: getattr(self, name) for name in names} | {"solver": "auto"} | self.options

    def _stacked(self, X):
        """Return a field with one dimension of rows, and without rows that have no value."""
        self._listed = isinstance(X, list)
        X = xarray.Dataset({f"v{k}": x for k, x in enumerate(X)}) if self._listed else X
        stacked = X.stack(sample=self.dims)
        whole = stacked.dropna("sample", how="all")
        return stacked.sample, whole.reset_index("sample", drop=True), whole.sample

    def fit(self, X, dim):
        self.dims = (dim,) if isinstance(dim, str) else tuple(dim)
        self._all, rows, self._samples = self._stacked(X)
        stream = open_stream(rows, dim="sample", weights="coslat" if self.use_coslat else None)
        n = min(self.n_modes, stream.n_features, rows.sizes["sample"])
        missing = "raise" if self.check_nans else "skip"
        self.model = StreamPCA(n, scale=self.standardize, missing=missing).fit(stream)
        norms = self.model.singular_values_
        self._norms = np.where(norms > 1e-9 * norms[0], norms, 1.0)
        self._scores = self.transform(X)
        return self

    def _modes(self, values):
        n = values.sizes.get("component", self.model.n_components_)
        return values.rename(component="mode").assign_coords(mode=range(1, n + 1))

    def _over_modes(self, values):
        return xarray.DataArray(values, {"mode": range(1, len(values) + 1)}, ("mode",))

    def singular_values(self):
        return self._over_modes(self.model.singular_values_)

    def explained_variance(self):
        return self._over_modes(self.model.explained_variance_)

    def explained_variance_ratio(self):
        return self._over_modes(self.model.explained_variance_ratio_)

    def components(self):
        maps = self._modes(self.model.grid_.maps(self.model.components_))
        return list(maps.data_vars.values()) if self._listed else maps

    def scores(self, normalized=True):
        return self._scores if normalized else self._scores * self._over_modes(self._norms)

    def transform(self, X, normalized=True):
        every, rows, samples = self._stacked(X)
        values = self.model.transform(rows).values
        values = values / self._norms if normalized else values
        features = self._unstacked(values, "mode", samples.indexes["sample"])
        full = self._unstacked(values[:1], "mode", every.indexes["sample"][:1])
        return features.transpose(*full.dims).rename("scores")

    def _unstacked(self, values, name, index):
        coords = xarray.Coordinates.from_pandas_multiindex(index, "sample")
        stacked = xarray.DataArray(values, coords, ("sample", name))
        return stacked.assign_coords({name: range(1, values.shape[1] + 1)}).unstack("sample")

    def inverse_transform(self, scores, normalized=True):
        scores = scores if "mode" in scores.dims else scores.expand_dims("mode")
        whole = scores.reindex(mode=range(1, self.model.n_components_ + 1), fill_value=0.0)
        stacked = whole.stack(sample=self.dims).transpose("sample", "mode")
        values = stacked.values * (self._norms if normalized else 1.0)
        rows = xarray.DataArray(values, dims=("sample", "component"))
        fields = self.model.inverse_transform(rows)
        index = xarray.Coordinates.from_pandas_multiindex(stacked.indexes["sample"], "sample")
        return fields.assign_coords(index).unstack("sample")

    def serialize(self):
        """Return a file of the model, and the other attributes."""
        path = Path(tempfile.mkdtemp()) / "eof.eigs"
        save(self.model, path)
        return path, {name: value for name, value in vars(self).items() if name != "model"}

    @classmethod
    def deserialize(cls, stored):
        model = cls()
        vars(model).update(stored[1])
        model.model = load(stored[0])
        return model
