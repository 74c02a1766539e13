"""Short tables of labels and pairs, with or without column names."""

import numpy as np
import pytest

from eigenstream.streams import columns_of, labels_of

WORDS = ["setosa", "virginica", "setosa", "ensata", "setosa"]


@pytest.mark.parametrize("first", [["species"], []], ids=["named", "unnamed"])
def test_text_with_names_and_without(tmp_path, first):
    path = tmp_path / "labels.csv"
    path.write_text("\n".join(first + WORDS) + "\n")
    assert labels_of(path).tolist() == WORDS


def test_numbers_and_arrays(tmp_path):
    (tmp_path / "y.csv").write_text("3\n1\n2\n")
    assert labels_of(tmp_path / "y.csv").tolist() == [3, 1, 2]
    np.save(tmp_path / "y.npy", np.array([3.0, 1.0, 2.5]))
    assert labels_of(tmp_path / "y.npy").tolist() == [3, 1, 2.5]
    np.save(tmp_path / "words.npy", np.array(WORDS))
    assert labels_of(tmp_path / "words.npy").tolist() == WORDS


@pytest.mark.parametrize("first", [["one,two,kind"], []], ids=["named", "unnamed"])
def test_pairs(tmp_path, first):
    rows = [(0, 1, "equal"), (4, 2, "unequal"), (3, 3, "equal")]
    path = tmp_path / "pairs.csv"
    path.write_text("\n".join(first + [",".join(map(str, row)) for row in rows]))
    found = columns_of(path, 3, "pairs are")
    assert [column.tolist() for column in found] == [list(one) for one in zip(*rows, strict=True)]


@pytest.mark.parametrize(
    ("name", "what", "words"),
    [
        ("two.csv", "a,b\n1,2\n", "two.csv has 2 columns. and labels have 1"),
        ("none.csv", "", "none.csv"),
        ("only.csv", "species\n", "no rows"),
        ("latin.csv", b"name\nsch\xf6n\n", "UTF-8"),
        ("broken.npy", b"\x93NUMPY", "broken.npy"),
        ("two.npy", np.array([["a", "b"]]), "not real numbers"),
        ("objects.npy", np.array(["a", 1], dtype=object), "Python objects"),
    ],
)
def test_what_is_no_column_is_refused(tmp_path, name, what, words):
    if isinstance(what, np.ndarray):
        np.save(tmp_path / name, what, allow_pickle=True)
    else:
        (tmp_path / name).write_bytes(what if isinstance(what, bytes) else what.encode())
    with pytest.raises(ValueError, match=words):
        labels_of(tmp_path / name)
