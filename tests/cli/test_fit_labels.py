"""``fit classes`` and ``fit pairs``, maps in front, and what says how data are read."""

import numpy as np
import pytest

import eigenstream
from commands import answer as told
from commands import run
from eigenstream import ClassSubspace, PairSubspace, RBFNetwork, SlowSubspace, StreamPCA
from eigenstream.features import GradientOrientation
from eigenstream.subspace import pair_risks

pytest.importorskip("pyarrow")
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 4, 160)
X = RNG.standard_normal((160, 4)) * [0.2, 0.2, 2, 2]
X[:, :2] += 2 * RNG.standard_normal((4, 2))[Y]
SPECIES = np.array(["setosa", "virginica", "sibirica", "ensata"])[Y]
INDEX = RNG.integers(0, 160, (300, 2))
SIGNS = np.where(Y[INDEX[:, 0]] == Y[INDEX[:, 1]], 1, -1)


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
    due = ClassSubspace(2, criterion="difference", eta=0.5).fit(X, Y)
    assert found["eigenvalues"] == pytest.approx(due.eigenvalues_, rel=1e-12)
    assert found["risk"] == pytest.approx(pair_risks(due).risk)
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
    due = PairSubspace(preprocessor=X).fit(INDEX, SIGNS)
    assert (found["shrinkage"], found["mixing"]) == (due.result_.shrinkage, due.result_.mixing)
    assert found["rows"] == len(INDEX)
    model = eigenstream.load("m.eigs")
    assert model.preprocessor is None  # the items are no part of the model
    np.testing.assert_allclose(model.transform(X), due.transform(X), atol=1e-9)


def test_items_that_lack_values_leave_their_pairs_out(files):
    rows = X.copy()
    rows[INDEX[0, 0], 1] = np.nan
    np.save("holes.npy", rows)
    due = PairSubspace(2, criterion="difference", eta=1.0, preprocessor=rows, missing="skip").fit(
        INDEX, SIGNS
    )
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
        (
            "classes",
            ClassSubspace(2, criterion="difference", eta=1.0, features=network),
            ("--labels", "y.npy", "--eta", 1),
        ),
    ):
        due = own.fit(X, Y).eigenvalues_
        found = told("fit", name, "items.npy", *given, *more)["eigenvalues"]
        assert found == pytest.approx(due, rel=1e-9), name
    own = PairSubspace(2, criterion="difference", eta=1.0, features=network, preprocessor=X).fit(
        INDEX, SIGNS
    )
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
    due = StreamPCA(2).fit(X.astype(np.float32)).eigenvalues_
    assert eigenstream.load("m.eigs").eigenvalues_ == pytest.approx(due)
    told("fit", "classes", "table.csv", *COLUMNS, "--labels", 4, "--standardize", "-o", "m.eigs")
    assert eigenstream.load("m.eigs").scale_ is not None


def test_size_of_pictures(files):
    image = pytest.importorskip("PIL.Image")
    (files / "frames").mkdir()
    pages = np.random.default_rng(1).integers(0, 255, (9, 8, 12), dtype=np.uint8)
    for k, page in enumerate(pages):
        image.fromarray(page).save(f"frames/{k}.png")
    assert told("info", "frames", "--size", "4x6")["columns"] == 24
    assert told("fit", "pca", "frames", "--size", "4x6")["columns"] == 24


# ---- what it refuses ---------------------------------------------------------------------------


CLASSES, PAIRS = ["fit", "classes"], ["fit", "pairs"]
ITEMS, SAVED = ["--items", "items.npy"], ["-o", "new.eigs"]
