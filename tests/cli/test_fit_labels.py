"""``fit classes`` and ``fit pairs``, maps in front, and what says how data are read."""

import json
import os
import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

import eigenstream
from eigenstream import ClassSubspace, PairSubspace, RBFNetwork, SlowSubspace, StreamPCA
from eigenstream.cli import app
from eigenstream.features import GradientOrientation

pytest.importorskip("pyarrow")
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 4, 160)
X = RNG.standard_normal((160, 4)) * [0.2, 0.2, 2, 2]
X[:, :2] += 2 * RNG.standard_normal((4, 2))[Y]
SPECIES = np.array(["setosa", "virginica", "sibirica", "ensata"])[Y]
INDEX = RNG.integers(0, 160, (300, 2))
SIGNS = np.where(Y[INDEX[:, 0]] == Y[INDEX[:, 1]], 1, -1)


def run(*arguments, given=None):
    return CliRunner().invoke(app, [str(one) for one in arguments], input=given)


def told(*arguments, **how):
    result = run(*arguments, "--json", **how)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def lines(rows, head=None):
    return "\n".join(([head] if head else []) + [",".join(map(str, row)) for row in rows]) + "\n"


def write_files(folder):
    """A table with labels, the same rows and labels apart, and pairs by number and by name."""
    table = [
        (*row, name, f"i{k}") for k, (row, name) in enumerate(zip(X.tolist(), SPECIES, strict=True))
    ]
    (folder / "table.csv").write_text(lines(table, "a,b,c,d,species,id"))
    np.save(folder / "items.npy", X)
    np.save(folder / "y.npy", Y)
    np.save(folder / "species.npy", SPECIES)
    (folder / "species.csv").write_text(lines((name,) for name in SPECIES))
    kinds = np.where(SIGNS > 0, "equal", "unequal")
    numbered = [(*pair, kind) for pair, kind in zip(INDEX.tolist(), kinds, strict=True)]
    named = [(f"i{a}", f"i{b}", sign) for (a, b), sign in zip(INDEX.tolist(), SIGNS, strict=True)]
    (folder / "pairs.csv").write_text(lines(numbered))
    (folder / "named.csv").write_text(lines(named, "one,two,same"))


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    return tmp_path


# ---- what it does ------------------------------------------------------------------------------

COLUMNS = ["--columns", "a,b,c,d"]


@pytest.mark.parametrize(
    ("data", "labels"),
    [
        (["table.csv", *COLUMNS], "species"),
        (["items.npy"], "species.csv"),
        (["items.npy"], "species.npy"),
        (["items.npy"], "y.npy"),
    ],
)
def test_classes_are_learned_as_in_python(files, data, labels):
    found = told("fit", "classes", *data, "--labels", labels, "-o", "m.eigs", "--eta", 0.5)
    due = ClassSubspace(2, eta=0.5, random_state=0).fit(X, Y)
    assert found["eigenvalues"] == pytest.approx(due.eigenvalues_, rel=1e-12)
    assert found["risk"] == pytest.approx(due.risk_)
    model = eigenstream.load("m.eigs")
    np.testing.assert_allclose(model.transform(X), due.transform(X), atol=1e-9)
    assert run("transform", "m.eigs", *data, "-o", "f.npy").exit_code == 0
    np.testing.assert_allclose(np.load("f.npy"), due.transform(X), atol=1e-9)


@pytest.mark.parametrize(
    "arguments",
    [
        ["pairs.csv", "--items", "items.npy"],
        ["named.csv", "--items", "table.csv", "--names", "id", *COLUMNS],
    ],
    ids=["by number", "by name"],
)
def test_pairs_are_learned_as_in_python(files, arguments):
    found = told("fit", "pairs", *arguments, "-o", "m.eigs")
    due = PairSubspace(2, preprocessor=X, random_state=0).fit(INDEX, SIGNS)
    assert found["eta"] == due.eta_
    assert found["rows"] == len(INDEX)
    model = eigenstream.load("m.eigs")
    assert model.preprocessor is None  # the items are no part of the model
    np.testing.assert_allclose(model.transform(X), due.transform(X), atol=1e-9)


def test_words_for_people(files):
    result = run("fit", "pairs", "pairs.csv", "--items", "items.npy")
    assert "pairs      300" in result.stdout
    assert "eta" in result.stdout
    result = run("fit", "classes", "table.csv", *COLUMNS, "--labels", "species")
    assert "of pairs misjudged" in result.stdout


def test_items_that_lack_values_leave_their_pairs_out(files):
    rows = X.copy()
    rows[INDEX[0, 0], 1] = np.nan
    np.save("holes.npy", rows)
    due = PairSubspace(2, eta=1.0, preprocessor=rows, missing="skip").fit(INDEX, SIGNS)
    found = told(
        *("fit", "pairs", "pairs.csv", "--items", "holes.npy", "--missing", "skip", "--eta", 1)
    )
    assert found["rows_skipped"] == due.n_samples_skipped_ > 0
    assert found["eigenvalues"] == pytest.approx(due.eigenvalues_)
    result = run("fit", "pairs", "pairs.csv", "--items", "holes.npy")
    assert result.exit_code == 2
    assert "holes.npy has NaN" in result.stderr


def test_a_map_in_front(files):
    network = RBFNetwork(20, gamma="median", random_state=3)
    given = ("--features", "rbf:20", "--seed", 3)
    for name, own, more in (
        ("slow", SlowSubspace(2, features=network), ()),
        ("pca", StreamPCA(2, features=network), ()),
        ("classes", ClassSubspace(2, eta=1.0, features=network), ("--labels", "y.npy", "--eta", 1)),
    ):
        due = own.fit(X, Y).eigenvalues_
        found = told("fit", name, "items.npy", *given, *more)["eigenvalues"]
        assert found == pytest.approx(due, rel=1e-9), name
    own = PairSubspace(2, eta=1.0, features=network, preprocessor=X).fit(INDEX, SIGNS)
    given = ("pairs.csv", "--items", "items.npy", *given, "--eta", 1)
    assert told("fit", "pairs", *given)["eigenvalues"] == pytest.approx(own.eigenvalues_, rel=1e-9)


def test_gradients_of_images(files):
    stack = np.random.default_rng(1).random((40, 6, 9))
    np.save("stack.npy", stack)
    edges = GradientOrientation(cells=2, shape=(6, 9))
    due = StreamPCA(2, features=edges).fit(stack.reshape(40, -1)).eigenvalues_
    found = told("fit", "pca", "stack.npy", "--features", "gradients:2")["eigenvalues"]
    assert found == pytest.approx(due)


def test_how_data_are_read(files):
    assert told("fit", "pca", "items.npy", "--rows", "10:70:2")["rows"] == 30
    assert told("fit", "pca", "items.npy", "--rows", "25")["rows"] == 25
    told("fit", "pca", "items.npy", "--dtype", "float32", "-o", "m.eigs")
    due = StreamPCA(2, random_state=0).fit(X.astype(np.float32)).eigenvalues_
    assert eigenstream.load("m.eigs").eigenvalues_ == pytest.approx(due)
    told("fit", "classes", "table.csv", *COLUMNS, "--labels", 4, "--standardize", "-o", "m.eigs")
    assert eigenstream.load("m.eigs").scale_ is not None


def test_size_of_pictures(files):
    image = pytest.importorskip("PIL.Image")
    (files / "frames").mkdir()
    pages = np.random.default_rng(1).integers(0, 255, (9, 8, 12), dtype=np.uint8)
    for k, page in enumerate(pages):
        image.fromarray(page).save(f"frames/{k}.png")
    assert told("look", "frames", "--size", "4x6")["columns"] == 24
    assert told("fit", "pca", "frames", "--size", "4x6")["columns"] == 24


def test_labels_from_standard_input(files):
    text = (files / "table.csv").read_text()
    found = told("fit", "classes", "-", *COLUMNS, "--labels", "species", "--eta", 1, given=text)
    assert found["rows"] == len(X)


@pytest.mark.parametrize("command", ["fit classes", "fit pairs"])
def test_help_has_an_example(command):
    result = run(*command.split(), "--help")
    assert result.exit_code == 0
    assert f"Example: eigenstream {command}" in result.stdout


# ---- what it refuses ---------------------------------------------------------------------------


def write_bad_files(folder):
    holes = [(*row, name, "i") for row, name in zip(X.tolist(), SPECIES, strict=True)]
    holes[3] = (*X[3], "", "i")
    (folder / "unlabelled.csv").write_text(lines(holes, "a,b,c,d,species,id"))
    (folder / "one.csv").write_text(lines([(*row, "x") for row in X.tolist()], "a,b,c,d,species"))
    (folder / "short.csv").write_text(lines((name,) for name in SPECIES[:-1]))
    (folder / "wide.csv").write_text("a,b\n1,2\n")
    (folder / "void.csv").write_text("")
    (folder / "far.csv").write_text("0,1,equal\n2,160,unequal\n")
    (folder / "negative.csv").write_text("0,1,equal\n-2,1,unequal\n")
    (folder / "maybe.csv").write_text("0,1,equal\n2,3,perhaps\n")
    (folder / "two.csv").write_text("0,1\n2,3\n")
    (folder / "half.csv").write_text("0.5,1,equal\n2,3,unequal\n")
    (folder / "alike.csv").write_text("0,1,equal\n2,3,equal\n")
    (folder / "stranger.csv").write_text("one,two,same\ni0,i1,1\ni2,who,-1\n")
    twins = [(*row, "i0" if k < 2 else f"i{k}") for k, row in enumerate(X.tolist())]
    (folder / "twins.csv").write_text(lines(twins, "a,b,c,d,id"))
    np.save(folder / "objects.npy", np.array(["a", 1], dtype=object), allow_pickle=True)
    np.save(folder / "nan.npy", np.where(np.arange(160) == 7, np.nan, Y))


@pytest.fixture(scope="module")
def made_bad(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bad")
    write_files(folder)
    write_bad_files(folder)
    return folder


@pytest.fixture
def bad(made_bad, tmp_path, monkeypatch):
    shutil.copytree(made_bad, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")


CLASSES, PAIRS = ["fit", "classes"], ["fit", "pairs"]
ITEMS, SAVED = ["--items", "items.npy"], ["-o", "new.eigs"]
BAD = {
    "no labels": ([*CLASSES, "items.npy"], "--labels"),
    "no such column": ([*CLASSES, "table.csv", "--labels", "kind"], "no column 'kind'"),
    "no such number": ([*CLASSES, "items.npy", "--labels", "9"], "no column 9"),
    "no such file": ([*CLASSES, "items.npy", "--labels", "none.csv"], "'none.csv'"),
    "text among features": ([*CLASSES, "table.csv", "--labels", "species"], "invalid value 'i0'"),
    "labels are features": (
        [*CLASSES, "table.csv", "--labels", "species", "--columns", "a,species"],
        "a label and a feature",
    ),
    "a row without label": (
        [*CLASSES, "unlabelled.csv", *COLUMNS, "--labels", "species", *SAVED],
        "unlabelled.csv has no label at row 3",
    ),
    "one class": ([*CLASSES, "one.csv", "--labels", "species", *SAVED], "one class"),
    "a label short": (
        [*CLASSES, "items.npy", "--labels", "short.csv", *SAVED],
        "--labels gives 159",
    ),
    "labels of two columns": ([*CLASSES, "items.npy", "--labels", "wide.csv"], "one column"),
    "no labels in the file": ([*CLASSES, "items.npy", "--labels", "void.csv"], "void.csv"),
    "pickled labels": ([*CLASSES, "items.npy", "--labels", "objects.npy"], "Python objects"),
    "NaN among labels": ([*CLASSES, "items.npy", "--labels", "nan.npy"], "no label at row 7"),
    "eta in words": ([*CLASSES, "items.npy", "--labels", "y.npy", "--eta", "big"], "--eta must be"),
    "eta below zero": ([*CLASSES, "items.npy", "--labels", "y.npy", "--eta", "-1"], "eta"),
    "alpha of classes": ([*CLASSES, "items.npy", "--labels", "y.npy", "--alpha", "1"], "--alpha"),
    "solver of classes": (
        [*CLASSES, "items.npy", "--labels", "y.npy", "--solver", "magic"],
        "solver",
    ),
    "rows of nothing": (["fit", "pca", "items.npy", "--rows", "5:5"], "rows"),
    "rows in words": (["look", "items.npy", "--rows", "some"], "--rows must be"),
    "rows backwards": (["look", "items.npy", "--rows", "9:3"], "rows"),
    "four ends": (["look", "items.npy", "--rows", "1:2:3:4"], "--rows must be"),
    "type of whole numbers": (["look", "items.npy", "--dtype", "int8"], "--dtype must be"),
    "size of an array": (["look", "items.npy", "--size", "4x4"], "size"),
    "size in words": (["look", "items.npy", "--size", "small"], "--size must be"),
    "an unknown map": (["fit", "pca", "items.npy", "--features", "magic"], "--features must be"),
    "a map of no size": (["fit", "pca", "items.npy", "--features", "rbf"], "--features must be"),
    "prototypes in words": (["fit", "pca", "items.npy", "--features", "rbf:x"], "--features must"),
    "no prototypes": (["fit", "pca", "items.npy", "--features", "rbf:0"], "--features must be"),
    "no images": (["fit", "pca", "items.npy", "--rows", "9", "--features", "gradients:0"], "cells"),
    "a map and units": (
        ["fit", "pca", "items.npy", "--features", "rbf:9", "--standardize"],
        "choose one",
    ),
    "no pairs": ([*PAIRS, "none.csv", *ITEMS], "none.csv"),
    "no items": ([*PAIRS, "pairs.csv"], "--items"),
    "items that are not there": ([*PAIRS, "pairs.csv", "--items", "none.npy"], "none.npy"),
    "a row too far": ([*PAIRS, "far.csv", *ITEMS, *SAVED], "row 160 in pair 1"),
    "a negative row": ([*PAIRS, "negative.csv", *ITEMS], "row -2 in pair 1"),
    "neither equal nor not": ([*PAIRS, "maybe.csv", *ITEMS, *SAVED], "'perhaps' of pair 1"),
    "pairs of two columns": ([*PAIRS, "two.csv", *ITEMS], "two.csv has 2 columns, and 3"),
    "half a row": ([*PAIRS, "half.csv", *ITEMS], "0.5"),
    "equal pairs only": ([*PAIRS, "alike.csv", *ITEMS, *SAVED], "all pairs are equal"),
    "names without a column": ([*PAIRS, "named.csv", *ITEMS], "--names"),
    "a name of nobody": (
        [*PAIRS, "stranger.csv", "--items", "table.csv", "--names", "id", *COLUMNS],
        "'who' in pair 1",
    ),
    "a name of two": (
        [*PAIRS, "named.csv", "--items", "twins.csv", "--names", "id", *COLUMNS],
        "two items are called 'i0'",
    ),
    "an empty table of pairs": ([*PAIRS, "void.csv", *ITEMS], "void.csv"),
    "a model's ending": ([*PAIRS, "pairs.csv", *ITEMS, "-o", "m.pkl"], "-o m.pkl"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_one_line(case, bad):
    arguments, words = BAD[case]
    before = {name: os.stat(name).st_mtime_ns for name in os.listdir()}
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert words in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stderr.startswith("eigenstream: ")
    assert result.stdout == ""
    assert {name: os.stat(name).st_mtime_ns for name in os.listdir()} == before
