"""One warning if a few rows of huge size decide a subspace."""

import pickle
import re
from functools import partial

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

from eigenstream import SlowSubspace, StreamPCA, load, save
from eigenstream.processes import Autoregressive
from eigenstream.streams import open_stream
from eigenstream.subspace.watchers.peaks import MOST_PEAKS
from watched import messages

MESSAGE = r"row\(s\) (.*) of huge size turn the subspace by (\d+) degrees"


def warned(rows, model=None, blocks=None):
    """Return the rows and the angle of each warning."""
    said = messages(lambda: (model or SlowSubspace(2)).fit(rows, blocks=blocks))
    found = [re.match(MESSAGE, one) for one in said]
    return [(list(map(int, one[1].split(", "))), int(one[2])) for one in found if one]


def ordinary(kind, seed):
    """Return rows of which none decides the answer."""
    rng = np.random.default_rng(seed)
    n, width = int(rng.choice([1000, 4000, 20_000])), int(rng.choice([3, 20, 60]))
    rows = rng.standard_normal((n, width))
    rates = np.linspace(0.99, 0.5, width)
    if kind == "gaussian":
        return rows
    if kind == "t5":
        return rng.standard_t(5, (n, width))
    if kind == "lognormal":
        return np.exp(rows / 2.0)
    if kind == "autoregressive":
        return Autoregressive(rates, random_state=seed).take(n)
    if kind == "walk":
        return rows.cumsum(axis=0)
    if kind == "two states":
        calm = (np.cumsum(rng.random(n) < 0.002) % 2)[:, None]
        return rows * np.where(calm, 0.1, 3.0) + 5.0 * calm
    if kind == "bursts":
        return rows * np.where(np.repeat(rng.random(n // 50) < 0.05, 50), 6.0, 1.0)[:, None]
    if kind == "common noise":
        common = rng.standard_t(5, (n, 1)) @ rng.standard_normal((1, width))
        return Autoregressive(rates, random_state=seed).take(n) + common
    season = np.sin(2 * np.pi * np.arange(n) / rng.integers(200, 3000))[:, None]
    noise = Autoregressive(np.full(width, 0.9), random_state=seed).take(n)
    return 5.0 * season + noise * (1.1 + season)


@pytest.mark.parametrize("cut", [300, 500, 1000, 1700])
@pytest.mark.parametrize("second", [-3000.0, 200.0])
@pytest.mark.parametrize("model", [SlowSubspace(1, alpha=0.9), StreamPCA(1)], ids=repr)
def test_a_second_spike_in_another_sequence_is_named(cut, second, model):
    # The first column leads without the spikes, which are orthogonal to it. Both models weigh the
    # variance of white rows more than their velocity, so the order of the columns is that of size.
    rows = np.random.default_rng(0).standard_normal((3500, 5)) * [5.0, 4.0, 3.0, 2.0, 1.0]
    rows[100, 4] += 3000.0
    rows[2000, 4] += second
    ((named, angle),) = warned([rows[:cut], rows[cut:]], model)
    assert named == [100, 2000] if second < 0.0 else 100 in named
    assert angle > 80


@pytest.mark.parametrize("n_components", [1, 5])
@pytest.mark.parametrize("seed", range(2))
def test_rare_pixels_of_standardised_digits_are_no_rows_of_huge_size(n_components, seed):
    rows = StandardScaler().fit_transform(load_digits().data)
    rows = np.random.default_rng(seed).permutation(rows)
    for model in (SlowSubspace, partial(SlowSubspace, criterion="ratio"), StreamPCA):
        assert not warned(rows, model(n_components))


@pytest.mark.parametrize(
    "kind",
    [
        *("gaussian", "t5", "lognormal", "autoregressive", "walk"),
        *("two states", "bursts", "common noise", "seasonal"),
    ],
)
def test_ordinary_data_give_no_warning(kind):
    for seed in range(4):
        rows = ordinary(kind, seed)
        for model in (SlowSubspace(2), SlowSubspace(2, criterion="ratio"), StreamPCA(2)):
            assert not warned(rows, model)


@pytest.fixture(scope="module")
def process():
    return Autoregressive(np.linspace(0.95, 0.4, 14), random_state=0).take(14_980) + 43.0


MODELS = {
    "slow": SlowSubspace(2),
    "lag": SlowSubspace(2, lag=7),
    "ratio": SlowSubspace(2, criterion="ratio"),
    "reversible": SlowSubspace(2, criterion="ratio", reversible=True),
    "scaled": SlowSubspace(2, scale=True),
    "variance": StreamPCA(2),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("places", [[10], [900, 10_390, 11_510, 13_180], [8190, 14_900, 14_901]])
def test_spikes_are_named_and_the_angle_is_that_without_them(process, model, places):
    rows, kept = process.copy(), np.ones(len(process))
    rows[places] += 700.0 * np.random.default_rng(1).standard_normal((len(places), 14))
    kept[places] = 0.0
    expected = model.fit(rows, sample_weight=kept).components_.T
    for data in (rows, open_stream(rows, chunk_rows=1000), [rows[:5000], rows[5000:]]):
        ((named, angle),) = warned(data, model)
        assert named == places
        exact = np.degrees(subspace_angles(model.components_.T, expected)[0])
        assert abs(angle - exact) < 5.0
    ((named, _),) = warned(rows, model, blocks=10)
    assert named == places
    assert not warned(process, model)


def test_a_spike_in_all_of_many_columns():
    rows = np.random.default_rng(0).standard_normal((5000, 100))
    rows[4000] += 12.0 * np.sign(rows[0])  # 3 % of the variance of each column
    ((named, _),) = warned(rows, StreamPCA(2))
    assert named == [4000]


def test_an_irrelevant_column_of_spikes_gives_no_warning(process):
    rows = process.copy()
    rows[:, :2] *= 30.0
    rows[[50, 9000], 5] += 200.0
    assert not warned(rows, StreamPCA(2))


def test_merged_and_resumed_fits_number_the_rows_from_the_first(tmp_path):
    rows = Autoregressive([0.9, 0.5, 0.4], random_state=0).take(9000)
    rows[[4500, 8000]] += 1e3 * np.random.default_rng(0).standard_normal((2, 3))
    parts = [SlowSubspace(2).partial_fit(rows[k : k + 3000]) for k in (0, 3000, 6000)]
    save(parts[0], tmp_path / "part.eigs")
    resumed = load(tmp_path / "part.eigs").partial_fit(rows[3000:])
    for model in (parts[0].merge(parts[1]).merge(parts[2]), resumed):
        rest = [peak.row for peak in model._learner.watchers["peaks"].peaks if peak.share > 0.1]
        assert sorted(rest) == [4500, 8000]


def test_merged_fits_hold_a_bounded_number_of_rows():
    rows = Autoregressive([0.9, 0.5, 0.4], random_state=0).take(600)
    rows[300] += 1e3
    part, sizes = SlowSubspace(2, lag=3).partial_fit(rows), []
    merged = part
    for k in range(200):
        merged = merged.merge(part)
        if k in (20, 199):
            sizes.append(len(pickle.dumps(merged)))
    peaks = merged._learner.watchers["peaks"]
    noted = {peak.row for peak in peaks.peaks}
    assert len(noted) == MOST_PEAKS
    assert len(peaks.steps) <= 2 * MOST_PEAKS
    assert all(noted & {step.now, step.past} for step in peaks.steps)
    assert sizes[1] < 1.1 * sizes[0]


@pytest.mark.parametrize("unit", [1e-150, 1e-3, 1e100])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_rows_of_any_unit(process, unit):
    rows = process[:3000] - 43.0
    rows[[50, 900]] *= -1e3
    for scaled in (rows * unit, rows * np.r_[unit, np.ones(13)]):
        warned(scaled, SlowSubspace(2, alpha=0.5))
        warned(scaled, StreamPCA(2))
    if unit in (1e-3, 1e100):
        ((named, _),) = warned(rows * unit, StreamPCA(2))
        assert named == [50, 900]


@pytest.mark.parametrize("lag", [1, 3])
def test_the_sums_without_the_rows_are_those_of_weight_zero(process, lag):
    rng = np.random.default_rng(0)
    rows, weights = process[:3000].copy(), rng.uniform(0.5, 2.0, 3000)
    rows[[900, 1700]] *= -1e3
    kept = weights.copy()
    kept[[900, 1700]] = 0.0
    model = SlowSubspace(2, lag=lag)
    with pytest.warns(UserWarning, match="900, 1700 of huge size"):
        learner = model.fit(rows, sample_weight=weights)._learner.with_all_rows()
    watcher = learner.watcher("peaks")
    watcher.peaks = [peak for peak in watcher.peaks if peak.row in (900, 1700)]
    watcher.select(watcher.peaks)
    found = watcher.without(learner, learner.sums.variances(learner.terms)).result
    expected = model.fit(rows, sample_weight=kept)._learner.operator()
    for side in ("reward", "penalty"):
        scale = np.abs(getattr(expected, side)).max()
        np.testing.assert_allclose(getattr(found, side), getattr(expected, side), atol=1e-6 * scale)


@pytest.mark.parametrize(("share", "named"), [(0.2, False), (0.35, True)])
def test_huge_rows_hold_a_quarter_of_the_variance_of_a_direction(share, named):
    rng = np.random.default_rng(0)
    rows = rng.choice([-1.0, 1.0], (2000, 4)) * np.sqrt([1.1, 1.0, 0.9, 0.9])
    rows[700] = [0.0, np.sqrt(share * 2000.0), 0.0, 0.0]
    assert bool(warned(rows, StreamPCA(1))) == named
