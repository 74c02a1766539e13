"""What one pass of the automatic rate answers: the average as defined, and what it reaches."""

import numpy as np
import pytest

import scripts
from eigenstream.core.linalg import orthonormalized
from eigenstream.online.averages import ProjectorAverage
from flows import Flow
from oracles import orthonormality_error

# The streams are short and hard: outliers, fast channels, more components than there are.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

streams = scripts.loaded("benchmarks/_streams.py")


def frames(n, d, D, spread, seed=0):
    """Frames that wander about one subspace."""
    rng = np.random.default_rng(seed)
    centre = orthonormalized(rng.standard_normal((D, d)))
    return [orthonormalized(centre + spread * rng.standard_normal((D, d))).T for _ in range(n)]


def defined(given, shares):
    """The average of the projectors, as a matrix."""
    P = np.zeros((given[0].shape[1],) * 2)
    for V, share in zip(given, shares, strict=True):
        P = (1 - share) * P + share * V.T @ V
    return P


@pytest.mark.parametrize("spread", [0.05, 10.0])
def test_an_average_of_full_rank_is_the_definition(spread):
    given, shares = frames(30, 3, 12, spread), 1.5 / (np.arange(30) + 1.5)
    average = ProjectorAverage(12, np.zeros(0), np.zeros((0, 12)))
    for V, share in zip(given, shares, strict=True):
        before = average.vectors
        products = average.add(V, share)
        np.testing.assert_allclose(products, average.vectors @ before.T, rtol=0, atol=1e-11)
    got = average.vectors.T @ np.diag(average.values) @ average.vectors
    # What is dropped as rounding is 1e-8 a step.
    np.testing.assert_allclose(got, defined(given, shares), rtol=0, atol=30e-8)
    assert orthonormality_error(average.vectors.T) < 1e-11


def test_an_average_that_is_cut_keeps_its_top():
    """All that is cut off is orthogonal to the kept, so that the top loses second-order terms."""
    given, shares = frames(200, 3, 40, 0.08), 2.5 / (np.arange(200) + 2.5)
    average = ProjectorAverage(6, np.zeros(0), np.zeros((0, 40)))
    for V, share in zip(given, shares, strict=True):
        average.add(V, share)
    P = defined(given, shares)
    best = np.linalg.eigvalsh(P)[-3:].sum()
    # A frame has about 40 x 0.08^2 = 0.25 of each direction outside, the average 1/40 of that.
    assert np.trace(average.vectors[:3] @ P @ average.vectors[:3].T) > (1 - 0.01) * best


def quick(case):
    return "D=784" not in case.name and "D=300" not in case.name and "10000" not in case.name


@pytest.mark.parametrize("case", list(filter(quick, streams.CASES)), ids=lambda case: case.name)
def test_one_pass_reaches_what_is_promised(case, request):
    if case.file:
        folder = request.getfixturevalue("data_folder")
        if not (folder / f"{case.file}.npz").is_file():
            pytest.skip(f"no {case.file}")
    assert min(streams.share(case, seed) for seed in streams.SEEDS) >= case.least


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_short_stream_warns_and_takes_the_better_answer(seed):
    rows = streams.mixed(700, seed)
    T, _ = streams.best_of(rows, 0.3, 5)
    solver = Flow(5, weights=(0.3, 0.7), lag=1).update(rows)
    with pytest.warns(UserWarning, match="did not converge in 699 steps"):
        taken = solver.solution().components
    average = solver.sums._collected().answer.watched
    assert np.trace(taken @ T @ taken.T) > np.trace(average @ T @ average.T)
