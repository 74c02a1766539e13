"""Missing values in real weather, hours of a year at three airports."""

import numpy as np
import pytest

from eigenstream import SlowSubspace, open_stream


@pytest.fixture(scope="module")
def frames(data_folder):
    path = data_folder / "nyc_weather.npz"
    if not path.is_file():
        pytest.skip(f"needs {path.name} in the folder that EIGENSTREAM_DATA names")
    pd = pytest.importorskip("pandas")
    with np.load(path) as file:
        names = file["columns"].tolist()
        return [pd.DataFrame(values, columns=names) for values in file["values"]]


def test_the_table_of_the_page(frames):
    fewer = [frame.drop(columns="wind_gust") for frame in frames]
    with pytest.warns(UserWarning, match="left out 21210 of 26190"):
        whole = SlowSubspace(2, scale=True, missing="skip").fit(frames)
    with pytest.warns(UserWarning, match="left out 3183 of 26190"):
        skipped = SlowSubspace(2, scale=True, missing="skip").fit(fewer)
    stream = open_stream(fewer, missing="interpolate")
    filled = SlowSubspace(2, scale=True).fit(stream)
    for found, rows, scales in (
        (whole, 4980, [505, 208]),
        (skipped, 23007, [489, 349]),
        (filled, 26190, [419, 330]),
    ):
        assert found.n_samples_seen_ == rows
        assert found.n_samples_skipped_ == 26190 - rows
        assert found.timescales_.round().tolist() == scales
    # At weights just above the threshold of two positive eigenvalues.
    first, second = skipped.solved_with(alpha=0.0156), filled.solved_with(alpha=0.0159)
    assert np.abs(first.components_ - second.components_).max() < 0.025
    assert sum(int(frame["wind_gust"].isna().sum()) for frame in frames) == 20853
