"""Labelled arrays of xarray as rows, and results as maps and series."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from eigenstream import (
    DynamicSubspace,
    OjaNeuron,
    SelfOrganizingMap,
    SlowSubspace,
    StreamPCA,
    distributed,
    lag_path,
    load,
    open_stream,
    save,
)
from eigenstream.persistence import ModelError, export, model_file
from eigenstream.streams import LagEmbedding, StreamError, Weighting
from eigenstream.subspace import to_sklearn

xr, pd = pytest.importorskip("xarray"), pytest.importorskip("pandas")

ROWS = np.random.default_rng(0).standard_normal((60, 12)).cumsum(axis=0)
COSLAT = np.repeat(np.sqrt(np.cos(np.deg2rad([-60.0, 0.0, 60.0]))), 4)


@pytest.fixture
def cube():
    coords = {
        "time": pd.date_range("2020", periods=60),
        "lat": [-60.0, 0.0, 60.0],
        "lon": [0.0, 90.0, 180.0, 270.0],
    }
    return xr.DataArray(ROWS.reshape(60, 3, 4), coords, ("time", "lat", "lon"), name="sst")


def cells(maps):
    """Maps as rows, in the order of the columns of ROWS."""
    return maps.transpose(..., "lat", "lon").values.reshape(-1, 12)


# ---- rows -----------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["time lat lon", "lat lon time", "lon time lat"])
@pytest.mark.parametrize("lazy", [False, True])
def test_rows_are_times_wherever_the_dimension_stands(cube, order, lazy):
    plain = SlowSubspace(2).fit(ROWS)
    source = cube.transpose(*order.split())
    if lazy:
        pytest.importorskip("dask.array")
        source = source.chunk(time=7)
    slow = SlowSubspace(2).fit(source)
    assert (slow.n_samples_seen_, slow.n_features_in_) == (60, 12)
    maps = slow.grid_.maps(slow.components_)
    np.testing.assert_allclose(cells(maps), plain.components_, atol=1e-9)
    features = slow.transform(source)
    assert features.dims == ("time", "component")
    assert (features.time == cube.time).all()
    np.testing.assert_allclose(features, plain.transform(ROWS), atol=1e-9)
    np.testing.assert_allclose(slow.score(source), plain.score(ROWS))


@pytest.mark.parametrize(
    "model", [DynamicSubspace(2), OjaNeuron(max_iter=1, random_state=0)], ids=repr
)
def test_every_estimator_answers_with_times(cube, model):
    features = model.fit(cube).transform(cube)
    expected = clone(model).fit(ROWS).transform(ROWS)
    np.testing.assert_allclose(features, expected, atol=1e-8)
    assert (features.time == cube.time).all()


def test_unclear_dimensions_raise(cube):
    bare = cube.rename(time="step").drop_vars("step")
    with pytest.raises(ValueError, match=r"dim='step'"):
        StreamPCA(2).fit(bare)
    pca = StreamPCA(2).fit(open_stream(bare, dim="step"))
    assert pca.transform(bare).dims == ("step", "component")
    with pytest.raises(ValueError, match="dim='day' is not a dimension"):
        open_stream(cube, dim="day")
    twice = cube.rename(lat="other").assign_coords(other=pd.date_range("2000", periods=3))
    with pytest.raises(ValueError, match="none or several of them are times"):
        StreamPCA(2).fit(twice)
    with pytest.raises(TypeError, match="dim= does not apply"):
        open_stream(ROWS, dim="time")


def test_several_runs_are_sequences(cube):
    runs = [cube, cube.isel(time=slice(0, 30))]
    slow = SlowSubspace(2).fit(runs)
    plain = SlowSubspace(2).fit([ROWS, ROWS[:30]])
    np.testing.assert_allclose(slow.components_, plain.components_, atol=1e-9)
    assert [len(one.time) for one in slow.transform(runs)] == [60, 30]
    with pytest.raises(ValueError, match="coordinate 'lat'"):
        SlowSubspace(2).fit([cube, cube.assign_coords(lat=[60.0, 0.0, -60.0])])


def test_datasets_stack_their_variables(cube):
    both = xr.Dataset({"sst": cube, "slp": 2 * cube.isel(lon=slice(0, 2))})
    pca = StreamPCA(2).fit(both)
    assert pca.n_features_in_ == 18
    maps = pca.grid_.maps(pca.components_)
    assert int(maps["slp"].isnull().sum()) == 2 * 6  # xarray aligns the variables
    back = pca.inverse_transform(pca.transform(both))
    assert set(back.data_vars) == {"sst", "slp"}
    with pytest.raises(ValueError, match="has no dimension 'time'"):
        StreamPCA(2).fit(both.assign(area=cube.isel(time=0, drop=True)))


def test_series_and_channels_have_names(cube):
    table = xr.Dataset({"a": cube[:, 0, 0], "b": cube[:, 0, 1].drop_vars("lon")})
    assert StreamPCA(1).fit(table).feature_names_in_.tolist() == ["a", "b"]
    channels = xr.DataArray(ROWS[:, :2], {"channel": ["x", "y"]}, ("time", "channel"))
    pca = StreamPCA(1).fit(channels)
    assert pca.feature_names_in_.tolist() == ["x", "y"]
    assert pca.grid_.maps(pca.components_).sel(channel="y").shape == (1,)


def test_curvilinear_grids_and_stacked_cells(cube, tmp_path):
    nav = cube.lat.rename(lat="y") + 0.0 * cube.lon.rename(lon="x")
    curved = cube.rename(lat="y", lon="x").drop_vars(["x", "y"])
    curved = curved.assign_coords(nav_lat=nav.drop_vars(["x", "y"]))
    pca = StreamPCA(2).fit(open_stream(curved, weights="coslat"))
    np.testing.assert_allclose(pca.preprocessing_.steps[0].weights, COSLAT)
    save(pca, tmp_path / "curved.safetensors")
    again = load(tmp_path / "curved.safetensors")
    assert again.grid_.maps(again.components_).nav_lat.dims == ("y", "x")
    pca = StreamPCA(2).fit(cube.stack(cell=("lat", "lon")))
    assert pca.grid_.maps(pca.components_).lat.dims == ("cell",)
    save(pca, tmp_path / "stacked.safetensors")


# ---- weights and cells without values ---------------------------------------------------------


def test_land_and_weights(cube):
    sea = cube.where(~((cube.lat == 0) & (cube.lon == 90)))
    stream = open_stream(sea, weights="coslat")
    assert stream.n_features == 11
    pca = StreamPCA(2).fit(stream)
    inside = np.arange(12) != 5
    plain = StreamPCA(2).fit((ROWS * COSLAT)[:, inside])
    np.testing.assert_allclose(pca.components_, plain.components_, atol=1e-9)
    maps = pca.grid_.maps(pca.components_)
    assert bool(maps.sel(lat=0, lon=90).isnull().all())
    assert int(maps.isnull().sum()) == 2
    np.testing.assert_allclose(pca.transform(sea), plain.transform((ROWS * COSLAT)[:, inside]))
    back = pca.inverse_transform(pca.transform(sea))
    assert back.dims == sea.dims
    assert (back.time == sea.time).all()
    expected = plain.inverse_transform(plain.transform((ROWS * COSLAT)[:, inside]))
    np.testing.assert_allclose(cells(back)[:, inside], expected / COSLAT[inside])
    assert back.sel(lat=0, lon=90).isnull().all()


@pytest.mark.parametrize("kind", ["array", "DataArray"])
def test_weights_of_the_user(cube, kind):
    area = cube.isel(time=0, drop=True) * 0 + COSLAT.reshape(3, 4)
    (chunk,) = open_stream(cube, weights=area.values if kind == "array" else area)
    np.testing.assert_allclose(chunk.rows, ROWS * COSLAT)
    with pytest.raises(ValueError, match="weights has shape"):
        open_stream(cube, weights=np.ones(7))
    with pytest.raises(ValueError, match="weights='cos' is unknown"):
        open_stream(cube, weights="cos")
    for bad in (-area, area.where(area.lon != 0), area.where(area.lon != 0, 0.0)):
        with pytest.raises(ValueError, match="positive"):
            open_stream(cube, weights=bad)
    with pytest.raises(ValueError, match="latitudes"):
        open_stream(cube.rename(lat="row"), weights="coslat")


def test_weights_are_a_step_of_the_model(cube, tmp_path):
    pca = StreamPCA(2).fit(open_stream(cube, weights="coslat"))
    expected = pca.transform(cube).values
    save(pca, tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    np.testing.assert_allclose(again.transform(cube.isel(time=slice(10, 20))), expected[10:20])
    np.testing.assert_allclose(again.transform(ROWS), expected, atol=1e-9)
    np.testing.assert_allclose(to_sklearn(pca).transform(ROWS), expected, atol=1e-9)
    np.testing.assert_allclose(
        pca.score(cube), StreamPCA(2).fit(ROWS * COSLAT).score(ROWS * COSLAT)
    )
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    export(pca, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    (answers,) = session.run(None, {"rows": ROWS})
    np.testing.assert_allclose(answers, expected, atol=1e-6)


def test_a_forged_grid_is_a_damaged_file(cube, tmp_path, monkeypatch):
    pca = StreamPCA(2).fit(cube)
    pca.feature_grid_ = replace(pca.feature_grid_, kept=np.ones(11, bool))
    with pytest.raises(ValueError, match="12 cells"):
        save(pca, tmp_path / "model.safetensors")
    with monkeypatch.context() as unchecked:
        unchecked.setattr(model_file, "decode", lambda *_: None)
        save(pca, tmp_path / "model.safetensors")
    with pytest.raises(ModelError, match="12 cells"):
        load(tmp_path / "model.safetensors")


def test_a_stream_has_the_cells_of_the_model(cube):
    sea = cube.where(cube.lon != 90)
    pca = StreamPCA(2).fit(open_stream(sea, weights="coslat"))
    with pytest.raises(ValueError, match="coordinate 'lat'"):
        pca.transform(sea.assign_coords(lat=[60.0, 0.0, -60.0]))
    with pytest.raises(ValueError, match="differ from"):
        pca.transform(sea.isel(lat=[0, 1]))
    with pytest.raises(ValueError, match="have values between rows"):
        pca.transform(cube)
    less = sea.where(sea.lon != 0)
    with pytest.raises(ValueError, match=r"open_stream\(X, grid=model"):
        pca.transform(open_stream(less))
    with pytest.raises(StreamError, match="row 0"):
        pca.transform(open_stream(less, grid=pca.grid_)).column()
    stream = pca.transform(open_stream(sea, grid=pca.grid_))
    np.testing.assert_allclose(stream.column(), pca.transform(sea))


def test_models_of_other_grids_are_not_merged(cube):
    one, two = StreamPCA(2).fit(cube), StreamPCA(2).fit(cube.assign_coords(lon=[1, 2, 3, 4.0]))
    with pytest.raises(ValueError, match="coordinate 'lon'"):
        one.merge(two)
    weighted = StreamPCA(2).fit(open_stream(cube, weights="coslat"))
    with pytest.raises(ValueError, match="One estimator was fitted after"):
        one.merge(weighted)
    both = one.merge(StreamPCA(2).fit(cube))
    assert both.grid_.maps(both.components_).lon.values.tolist() == [0, 90, 180, 270]


def test_lazy_data_with_cells_that_appear_later(cube):
    pytest.importorskip("dask.array")
    late = cube.where((cube.lon != 90) | (cube.time > cube.time[30])).chunk(time=10)
    with pytest.raises(StreamError, match="no value in the first rows"):
        StreamPCA(2).fit(late)


# ---- holes --------------------------------------------------------------------------------------


def test_holes_follow_missing(cube):
    hole = cube.where((cube.lon != 90) | (cube.time != cube.time[30]))
    with pytest.raises(ValueError, match="row 30"):
        StreamPCA(2).fit(hole)
    with pytest.raises(StreamError, match="row 30"):
        StreamPCA(2).fit(open_stream(hole))
    assert StreamPCA(2).fit(open_stream(hole, missing="skip")).n_samples_skipped_ == 1
    skipping = StreamPCA(2, missing="skip").fit(hole)
    assert skipping.n_samples_skipped_ == 1
    answers = skipping.transform(hole)
    assert np.flatnonzero(answers.isnull().any("component")).tolist() == [30]
    rows = hole.values.reshape(60, 12)
    expected = StreamPCA(2, missing="available").fit(rows)
    available = StreamPCA(2, missing="available").fit(hole)
    np.testing.assert_allclose(available.transform(hole), expected.transform(rows), atol=1e-9)


# ---- steps ----------------------------------------------------------------------------------


def test_delays_have_no_result_for_the_first_rows(cube):
    pca = StreamPCA(2).fit(open_stream(cube).through(LagEmbedding(3)))
    answers = pca.transform(cube)
    assert (answers.time == cube.time[2:]).all()
    with pytest.raises(ValueError, match="36 entries, and the grid has 12 cells"):
        pca.grid_.maps(pca.components_)
    assert pca.grid_.maps(pca.components_[:, :12]).sizes["lat"] == 3


def test_prototypes_are_fields(cube):
    units = SelfOrganizingMap((2, 2), random_state=0).fit(cube)
    codes = units.quantise(cube)
    assert codes.dims == ("time",)
    fields = units.reconstruct(codes)
    assert fields.dims == cube.dims
    np.testing.assert_allclose(cells(fields), units.prototypes_[codes.values])


def test_weighting_of_arrays():
    weights = np.arange(1.0, 13.0)
    step = Weighting(weights)
    (chunk,) = open_stream(ROWS).through(step)
    np.testing.assert_allclose(chunk.rows, ROWS * weights)
    np.testing.assert_allclose(step.inverse_transform(chunk.rows), ROWS)
    with pytest.raises(StreamError, match="have 12 features, and Weighting"):
        list(open_stream(ROWS).through(Weighting([1.0, 2.0])))
    for bad in ([0.0], [np.nan], [[1.0]], [-1.0]):
        with pytest.raises(ValueError, match="positive"):
            Weighting(bad)


def test_a_path_of_lags_keeps_the_grid_and_the_steps(cube):
    path = lag_path(SlowSubspace(2), cube, [1, 2])
    for slow in path.estimators:
        assert slow.grid_.maps(slow.components_).dims == ("component", "lat", "lon")
        np.testing.assert_allclose(slow.transform(cube), slow.transform(ROWS))
    weighted = open_stream(cube).through(Weighting(np.arange(1.0, 13.0)))
    [slow] = lag_path(SlowSubspace(2), weighted, [2]).estimators
    same = SlowSubspace(2, lag=2).fit(weighted)
    np.testing.assert_allclose(slow.transform(ROWS), same.transform(ROWS))


def test_lazy_fields_on_workers(cube):
    workers = pytest.importorskip("distributed")
    stream = open_stream(cube.chunk(time=10), weights="coslat")
    with workers.Client(n_workers=2, processes=False, dashboard_address=":0") as client:
        pca = distributed.fit(StreamPCA(2), stream, client=client)
    np.testing.assert_allclose(pca.components_, StreamPCA(2).fit(stream).components_, atol=1e-9)
    assert pca.transform(cube).dims == ("time", "component")


def test_a_subspace_of_arrays_has_no_grid():
    with pytest.raises(AttributeError, match="no attribute 'feature_grid_'"):
        _ = StreamPCA(2).fit(ROWS).grid_


# ---- several dimensions of rows -------------------------------------------------------------


@pytest.fixture
def ensemble(cube):
    rng = np.random.default_rng(1)
    members = [cube + rng.standard_normal(cube.shape) for _ in range(6)]
    return xr.concat(members, "member")


def test_each_member_of_an_ensemble_is_a_sequence(ensemble):
    members = [ensemble.isel(member=k, drop=True) for k in range(6)]
    slow = SlowSubspace(2, center="sequences").fit(
        open_stream(ensemble, dim=("member", "time"), weights="coslat")
    )
    plain = SlowSubspace(2, center="sequences").fit(
        [cells(member.transpose("time", ...)) * COSLAT for member in members]
    )
    np.testing.assert_allclose(slow.components_, plain.components_, atol=1e-9)
    assert slow.grid_.maps(slow.components_).sizes == {"component": 2, "lat": 3, "lon": 4}


def test_all_combinations_of_two_dimensions_are_sequences(ensemble):
    halves = xr.concat([ensemble, -ensemble], "scenario")
    stream = open_stream(halves, dim=("scenario", "member", "time"))
    assert sum(chunk.new_sequence for chunk in stream) == 12
    pca = StreamPCA(2, center=False).fit(stream)
    assert pca.n_samples_seen_ == 12 * 60
    with pytest.raises(ValueError, match="'run' in dim= is not a dimension of X"):
        open_stream(ensemble, dim=("run", "time"))


def test_one_time_is_mapped_back_to_one_field(cube):
    pca = StreamPCA(3).fit(cube)
    scores = pca.transform(cube)
    whole, single = pca.inverse_transform(scores), pca.inverse_transform(scores.isel(time=5))
    assert single.dims == ("lat", "lon")
    np.testing.assert_allclose(single, whole.isel(time=5))


def test_cells_keep_their_dates_also_in_a_file(cube, tmp_path):
    pca = StreamPCA(2).fit(open_stream(cube.isel(lon=0), dim="lat"))
    save(pca, tmp_path / "model.eigs")
    for model in pca, load(tmp_path / "model.eigs"):
        maps = model.grid_.maps(model.components_)
        np.testing.assert_array_equal(maps.time, cube.time)
