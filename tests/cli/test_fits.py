"""Each fit command learns what its estimator learns in Python, and its model is applied again."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from commands import answer, run
from eigenstream import (
    ClassSubspace,
    CompetitiveLearning,
    DynamicSubspace,
    PairSubspace,
    RBFNetwork,
    SelfOrganizingMap,
    SlowSubspace,
    StreamPCA,
    load,
    open_stream,
)
from eigenstream.streams import (
    Differences,
    LagEmbedding,
    QuadraticExpansion,
    Standardize,
    UnitNorm,
)

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 4, 160)
X = RNG.standard_normal((160, 4)) * [0.2, 0.2, 2, 2]
X[:, :2] += 2 * RNG.standard_normal((4, 2))[Y]
SPECIES = np.array(["setosa", "virginica", "sibirica", "ensata"])[Y]
INDEX = RNG.integers(0, 160, (300, 2))
SIGNS = np.where(Y[INDEX[:, 0]] == Y[INDEX[:, 1]], 1, -1)
HOLES = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
HOLES[5] = np.nan


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    """A table with labels, the same rows and labels apart, and pairs by number."""
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame(X, columns=list("abcd"))
    table.assign(species=SPECIES).to_csv("table.csv", index=False)
    pd.DataFrame(HOLES, columns=list("abcd")).to_csv("holes.csv", index=False)
    np.save("items.npy", X)
    np.save("y.npy", Y)
    np.save("species.npy", SPECIES)
    pd.Series(SPECIES).to_csv("species.csv", index=False, header=False)
    pairs = pd.DataFrame(INDEX).assign(kind=np.where(SIGNS > 0, "equal", "unequal"))
    pairs.to_csv("pairs.csv", index=False, header=False)


def behind(*steps):
    return open_stream("items.npy").through(*steps)


def mapped(kind, **options):
    return kind(2, features=RBFNetwork(20, gamma="median", random_state=3), **options)


BY_ETA = {"criterion": "difference", "eta": 0.5}
COLUMNS = "table.csv --columns a,b,c,d"
ITEMS, GAPS = "items.npy", "holes.csv"
#: The words of a fit, the data that its model transforms, and the same in Python.
FITS = {
    "slow": ("slow DATA -d 2 --alpha 0.6", ITEMS, lambda: SlowSubspace(2, alpha=0.6).fit(X)),
    "slow, ratio": (
        "slow DATA --criterion ratio --reversible --lag 2 --standardize",
        ITEMS,
        lambda: SlowSubspace(2, criterion="ratio", reversible=True, lag=2, scale=True).fit(X),
    ),
    "slow, gaps": (
        "slow DATA --missing available",
        GAPS,
        lambda: SlowSubspace(2, missing="available").fit(HOLES),
    ),
    "slow, delays": (
        "slow DATA --through lag-embedding:2:5",
        ITEMS,
        lambda: SlowSubspace(2).fit(behind(LagEmbedding(2, 5))),
    ),
    "slow, three steps": (
        "slow DATA --through standardize,quadratic-expansion,differences:4",
        ITEMS,
        lambda: SlowSubspace(2).fit(behind(Standardize(), QuadraticExpansion(), Differences(4))),
    ),
    "slow, mapped": (
        "slow DATA --features rbf:20 --seed 3",
        ITEMS,
        lambda: mapped(SlowSubspace).fit(X),
    ),
    "slow, kernel": (
        "slow DATA --solver kernel -d 1",
        ITEMS,
        lambda: SlowSubspace(1, solver="kernel").fit(X),
    ),
    "pca": ("pca DATA -d 0.9", COLUMNS, lambda: StreamPCA(0.9).fit(X)),
    "pca, all": (
        "pca DATA -d all --through unit-norm",
        ITEMS,
        lambda: StreamPCA(None).fit(behind(UnitNorm())),
    ),
    "pca, sketch": (
        "pca DATA --solver sketch",
        ITEMS,
        lambda: StreamPCA(2, solver="sketch").fit(open_stream("items.npy")),
    ),
    "dynamic": (
        "dynamic DATA --lag 2 --rank 3",
        ITEMS,
        lambda: DynamicSubspace(2, lag=2, rank=3).fit(X),
    ),
    "dynamic, gaps": (
        "dynamic DATA --missing available",
        GAPS,
        lambda: DynamicSubspace(2, missing="available").fit(HOLES),
    ),
    "classes": (
        "classes DATA --labels species --eta 0.5",
        COLUMNS,
        lambda: ClassSubspace(**BY_ETA).fit(X, SPECIES),
    ),
    "classes, scaled": (
        "classes DATA --labels species.csv --standardize -d 1",
        ITEMS,
        lambda: ClassSubspace(1, scale=True).fit(X, SPECIES),
    ),
    "classes, text array": (
        "classes DATA --labels species.npy -d 2",
        ITEMS,
        lambda: ClassSubspace(2).fit(X, SPECIES),
    ),
    "classes, mapped": (
        "classes DATA --labels y.npy --eta 0.5 -d 2 --features rbf:20 --seed 3",
        ITEMS,
        lambda: mapped(ClassSubspace, **BY_ETA).fit(X, Y),
    ),
    "pairs": (
        "pairs pairs.csv --items DATA",
        ITEMS,
        lambda: PairSubspace(preprocessor=X).fit(INDEX, SIGNS),
    ),
    "pairs, missing": (
        "pairs pairs.csv --missing skip --eta 0.5 -d 2 --items DATA",
        GAPS,
        lambda: PairSubspace(2, **BY_ETA, preprocessor=HOLES, missing="skip").fit(INDEX, SIGNS),
    ),
    "kmeans": (
        "kmeans DATA -k 3 --seed 1 --assignment rank",
        ITEMS,
        lambda: CompetitiveLearning(3, random_state=1, assignment="rank").fit(X),
    ),
    "kmeans behind steps": (
        "kmeans DATA -k 3 --through lag-embedding:3",
        ITEMS,
        lambda: CompetitiveLearning(3, random_state=0).fit(behind(LagEmbedding(3))),
    ),
    "som": (
        "som DATA --grid 4x5 --topology hexagonal --max-iter 2",
        COLUMNS,
        lambda: SelfOrganizingMap((4, 5), topology="hexagonal", max_iter=2, random_state=0).fit(
            open_stream("table.csv", columns=list("abcd"))
        ),
    ),
    "som, gaps": (
        "som DATA --grid 4x5 --missing partial",
        GAPS,
        lambda: SelfOrganizingMap((4, 5), missing="partial", random_state=0).fit(
            open_stream("holes.csv")
        ),
    ),
}


@pytest.mark.parametrize("name", FITS)
def test_a_command_learns_what_python_learns(name):
    words, data, make = FITS[name]
    answer("fit", *words.replace("DATA", data).split(), "-o", "m.eigs")
    expected, model = make(), load("m.eigs")
    for attribute in ("eigenvalues_", "prototypes_", "threshold_", "periods_"):
        if hasattr(expected, attribute):
            got, due = getattr(model, attribute), getattr(expected, attribute)
            np.testing.assert_allclose(got, due, rtol=1e-6, atol=1e-9)
    assert getattr(model, "preprocessor", None) is None  # the items are no part of the model
    assert run("transform", "m.eigs", *data.split(), "-o", "f.npy").exit_code == 0
    features = np.load("f.npy")
    assert len(features) == 160
    rows = X if data != GAPS else HOLES[np.isfinite(features).all(axis=1)]
    due = np.asarray(expected.transform(rows), float)
    np.testing.assert_allclose(features[np.isfinite(features).all(axis=1)], due, atol=1e-5)


def test_transform_takes_the_treatment_of_missing_values_of_its_model():
    run("fit", "pca", "holes.csv", "--missing", "available", "-o", "m.eigs")
    printed = run("transform", "m.eigs", "holes.csv", "--missing", "available")
    assert run("transform", "m.eigs", "holes.csv", "-o", "f.csv").stdout.startswith("160 rows")
    assert printed.stdout == Path("f.csv").read_text()
    assert run("transform", "m.eigs", "holes.csv", "--missing", "raise").exit_code == 2
    assert run("transform", "m.eigs", "holes.csv", "--json").exit_code == 2


def test_features_of_a_map_are_named_by_their_numbers():
    fit = ("fit", "slow", "table.csv", "--exclude", "species", "--features", "rbf:20")
    features = answer(*fit, "-o", "m.eigs")["features"]
    names = [f"feature {k}" for k in range(20)]
    assert {name for feature in features for name in feature["weights"]} <= set(names)
    run("export", "m.eigs", "-o", "c.csv")
    assert Path("c.csv").read_text().splitlines()[0].split(",") == names


def test_the_page_of_a_fit_shows_periods_in_a_unit():
    phases = np.cumsum(0.5 + 0.1 * np.random.default_rng(0).standard_normal(400))
    turning = np.column_stack([np.cos(phases), np.sin(phases)])
    np.save("turning.npy", turning)
    words = ("fit", "dynamic", "turning.npy", "--dt", 0.5, "--unit", "ps")
    found = answer(*words, "--report", "page.html")["features"]
    expected = DynamicSubspace(2).fit(turning)
    for name, values in {"timescale": expected.timescales_, "period": expected.periods_}.items():
        np.testing.assert_allclose([mode[name] for mode in found], 0.5 * values)
    assert f"period {0.5 * expected.periods_[0]:.4g}" in run(*words).stdout
    with open("page.html", encoding="utf-8") as file:
        page = file.read()
    assert "factor in 0.5 ps" in page
    assert f"{0.5 * expected.periods_[0]:,.4g}</td>" in page


@pytest.mark.parametrize("kind", ["slow", "dynamic", "pca"])
@pytest.mark.parametrize("n_rows", [60, 20])
def test_every_number_of_a_fit_to_noise_says_that_it_is_chance(kind, n_rows):
    np.save("noise.npy", np.random.default_rng(n_rows).standard_normal((n_rows, 50)))
    printed = run("fit", kind, "noise.npy", "--report", "page.html").stdout
    with open("page.html", encoding="utf-8") as file:
        page = file.read()
    if kind != "pca":
        assert printed.count("not distinguishable from chance") == 2
        assert "period" not in printed
        assert "not distinguishable from noise" in page
        return
    assert ("0 of 2 components are above chance" if n_rows == 60 else "not tested") in printed
    assert ("0 of 2 components are above chance" if n_rows == 60 else "not tested") in page


@pytest.mark.parametrize("words", ["slow items.npy", "pairs pairs.csv --items items.npy"])
def test_a_fit_leaves_a_page_of_images(words):
    command = f"fit {words} --report page.html --image-shape 2x2"
    assert "page.html" in run(*command.split()).stdout
    with open("page.html", encoding="utf-8") as file:
        assert "Components as images" in file.read()
    result = run(*command.replace("2x2", "2x3").split(), "-o", "late.eigs")
    assert (result.exit_code, Path("late.eigs").exists()) == (2, False)
    assert result.stderr.count("\n") == 1
    assert "images of 4 pixels" in result.stderr


def test_rows_of_data():
    assert answer("fit", "pca", "items.npy", "--rows", "10:70:2")["rows"] == 30
    assert answer("fit", "pca", "items.npy", "--rows", "25")["rows"] == 25


def test_size_of_pictures(tmp_path):
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "frames").mkdir()
    pages = np.random.default_rng(1).integers(0, 255, (9, 8, 12), dtype=np.uint8)
    for k, page in enumerate(pages):
        image.fromarray(page).save(f"frames/{k}.png")
    assert answer("fit", "pca", "frames", "--size", "4x6")["columns"] == 24
