"""What is refused on the command line speaks of options and columns, never of Python."""

import re

import numpy as np
import pytest
from typer.testing import CliRunner

from eigenstream.cli import app

ROWS = np.random.default_rng(0).standard_normal((90, 3)).cumsum(axis=0)

#: What only Python would say: arguments, calls, and names of parameters that are other options.
PYTHON = re.compile(
    r"\w=|\w\((?!s\))|n_components|n_prototypes|learning_rate|random_state|max_iter|partial_fit|\bNone\b|"
    r"\bTrue\b|\bFalse\b|--?\w+='"
)


def table(path, head, rows):
    path.write_text("\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("wording")
    np.save(found / "x.npy", ROWS)
    np.save(found / "wide.npy", np.random.default_rng(1).standard_normal((4, 9)))
    np.save(found / "y.npy", np.arange(90) % 3)
    np.save(found / "short.npy", np.arange(60) % 3)
    rows = ROWS.tolist()
    table(found / "index.csv", ",a,b", [(k, *row[:2]) for k, row in enumerate(rows)])
    table(found / "one.csv", "a,b,kind", [(*row[:2], "z") for row in rows])
    kinds = ["equal" if k % 2 else "unequal" for k in range(80)]
    table(found / "p.csv", "i,j,kind", [(k, k + 7, kinds[k]) for k in range(80)])
    table(found / "same.csv", "i,j,kind", [(k, k + 7, "same") for k in range(80)])
    for made in ("pca x.npy -o m.eigs", "slow x.npy --features rbf:5 -o map.eigs"):
        assert said(found, f"fit {made}") == (0, "")
    assert said(found, "fit pca x.npy --checkpoint k.eigs") == (0, "")
    assert said(found, "fit som x.npy --shape 2x2 --passes 1 --checkpoint s.eigs") == (0, "")
    return found


def said(folder, line):
    """The exit code of a command, and what it says of itself."""
    files = {one.name for one in folder.iterdir()}
    words = [str(folder / one) if one in files or ".eigs" in one else one for one in line.split()]
    done = CliRunner().invoke(app, words)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stderr.replace(f"{folder}/", "").removeprefix("eigenstream: ")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("fit slow x.npy -d 9", "-d 9 is more than the number of features, 3. Choose -d 3 or less"),
        (
            "fit slow x.npy -d all --alpha 1 --solver krylov",
            "-d all is not for --solver krylov, which",
        ),
        ("fit slow x.npy --alpha auto --solver flow", "--alpha auto is not for --solver flow"),
        ("fit slow x.npy --alpha bound --standardize", "and --standardize divides by what"),
        ("fit slow x.npy --alpha 0.5 --solver flow --standardize", "or leave --standardize out"),
        ("fit slow x.npy --lag 0", "--lag must be a whole number of at least 1"),
        ("fit slow x.npy --lag 400", "Choose a smaller --lag."),
        ("fit slow x.npy --alpha 2", "--alpha must be a number in (0, 1]"),
        ("fit slow x.npy --solver magic", "--solver must be one of"),
        ("fit slow x.npy --rows -3", "--rows must be a whole number"),
        ("fit slow x.npy --features gradients", "of rows square ones only"),
        ("fit slow x.npy --seed -1", "Invalid value for '--seed'"),
        ("fit slow x.npy --alpha 0.5 --solver krylov -d 3", "-d must be a whole number below"),
        ("fit pca x.npy -d 1.5", "-d (a share of the variance) must be"),
        ("fit pca x.npy -d 0.95 --solver flow", "-d 0.95 is not for --solver flow"),
        ("fit classes one.csv --labels kind", "the labels of one.csv name one class only"),
        ("fit classes x.npy --labels short.npy", "--labels gives 60, and the stream has 90 rows"),
        (
            "fit classes x.npy --labels y.npy --solver krylov --checkpoint c.eigs",
            "--checkpoint is not for --solver krylov, which reads the data many times",
        ),
        ("fit classes x.npy --labels y.npy --solver flow", "Give --eta as a number"),
        ("fit pairs same.csv --items x.npy", "all pairs are equal, and then"),
        (
            "fit pairs p.csv --items x.npy --eta -2",
            "The signs are understood: give --eta 2.0.",
        ),
        (
            "fit pairs p.csv --items x.npy --features rbf:5 --checkpoint c.eigs",
            "nothing to keep on the way: leave --checkpoint out.",
        ),
        ("fit kmeans x.npy -k 0", "--prototypes must be a whole number"),
        ("fit kmeans x.npy --rate 0.1 --forgetting 0.1", "and --rate 0.1 does not go by them"),
        ("fit som x.npy --passes 0", "--passes must be a whole number"),
        ("fit som x.npy --shape 0x3", "--shape must be a whole number"),
        ("fit pca x.npy --through lag-embedding", "lag-embedding takes one or two from 1 on"),
        ("fit pca x.npy --through differences:x", "takes one number from 1 on, or none"),
        ("fit pca x.npy --through unit", "--through knows no step 'unit': there are standardize"),
        ("merge m.eigs map.eigs -o z.eigs", "do not merge: a StreamPCA merges with its kind only"),
        ("export map.eigs -o z.onnx", "has no form in ONNX"),
        ("plot m.eigs -o f.png --shape 5x5", "--shape 5x5 has 25 pixels"),
        ("inspect x.npy", "models come from fit -o"),
        ("fit pca x.npy --checkpoint k.eigs --resume -d 1", "-d 1 is asked for, 2 was there"),
        (
            "fit pca x.npy --checkpoint k.eigs --resume --standardize",
            "--standardize is asked for, and was not there",
        ),
        ("fit pca x.npy --checkpoint k.eigs --resume --seed 4", "--seed 4 is asked for, 0 was"),
        ("fit pca x.npy --checkpoint k.eigs --resume --rows 50", "--rows 50, and --rows all there"),
        (
            "fit pca x.npy --checkpoint k.eigs --resume --features rbf:5",
            "another --features is asked for than was there",
        ),
        (
            "fit som x.npy --shape 2x3 --passes 1 --checkpoint s.eigs --resume",
            "--shape 2x3 is asked for, 2x2 was there",
        ),
    ],
)
def test_options_are_called_options(line, words, folder):
    if "onnx" in line:
        pytest.importorskip("skl2onnx")
    code, found = said(folder, line)
    assert code == 2
    assert words in found
    assert found.count("\n") == 1
    shown = re.sub(r"in Python, to_sklearn\(\)|RBFNetwork\([^)]*\)", "", found)
    assert not PYTHON.search(shown), found


def test_a_column_of_numbers_of_rows_is_pointed_out(folder):
    assert said(folder, "fit pca index.csv") == (
        0,
        "warning: the first column is called '', as pandas calls the numbers of rows that it "
        "writes beside a table, and it was learned from as a feature. If it is none, name the "
        "others with --columns, or write the table without its index.\n",
    )
