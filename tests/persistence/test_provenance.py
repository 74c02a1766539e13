"""Where a model comes from, and the steps in front of it, go with it into its file."""

import numpy as np
import pytest

from eigenstream import (
    ClassSubspace,
    CompetitiveLearning,
    Perceptron,
    Sketch,
    StreamPCA,
    open_stream,
)
from eigenstream.persistence import Interrupted, describe, load, save
from eigenstream.streams import (
    LagEmbedding,
    Standardize,
    UnitNorm,
)
from stopping import Stopping

ROWS = np.random.default_rng(0).standard_normal((300, 3)).cumsum(axis=0)


@pytest.fixture
def folder(tmp_path):
    for k in range(2):
        head = "heat,wind,day\n"
        body = "\n".join(",".join(map(str, row)) for row in ROWS[150 * k : 150 * (k + 1)])
        (tmp_path / f"run{k}.csv").write_text(head + body + "\n")
    return tmp_path


def test_what_a_file_says_about_its_origin(folder):
    stream = open_stream(f"{folder}/run*.csv", columns=["wind", "heat"]).through(LagEmbedding(2))
    save(StreamPCA(1).fit(stream), folder / "model.eigs", date="2026-01-31")
    told = describe(folder / "model.eigs")
    assert told["provenance"] == {
        "date": "2026-01-31",
        "rows_seen": 298,
        "sources": [str(folder / f"run{k}.csv") for k in range(2)],
        "n_sources": 2,
        "columns": ["wind", "heat"],
        "sequences": 2,
        "preprocessing": ["LagEmbedding(n_delays=2, lag=1)"],
    }
    assert load(folder / "model.eigs").provenance_["sequences"] == 2


@pytest.mark.parametrize(
    "model",
    [StreamPCA(1), ClassSubspace(1, criterion="difference", eta=2.0), Perceptron(random_state=0)],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore:Perceptron did not converge")
def test_an_array_leaves_nothing_of_a_stream(model):
    labels = np.arange(300) % 2
    model.fit(open_stream(ROWS).through(UnitNorm()).with_labels(labels))
    assert model.provenance_["n_sources"] == 1
    assert repr(model.preprocessing_) == "Preprocessing([UnitNorm()])"
    with pytest.raises(ValueError, match="NaN"):
        model.fit(ROWS * np.nan, labels)
    assert model.provenance_["n_sources"] == 1
    model.fit(ROWS, labels)
    assert not hasattr(model, "provenance_")
    assert not hasattr(model, "preprocessing_")


@pytest.mark.filterwarnings("ignore:the variance between sequences")
def test_sequences_are_counted_across_an_interruption(tmp_path):
    def made():
        return open_stream(np.array_split(ROWS, 10), chunk_rows=7).through(Standardize())

    for model in [StreamPCA(1), StreamPCA(1, solver=Sketch(passes=2))]:
        path = tmp_path / "fit.eigs"
        path.unlink(missing_ok=True)
        with pytest.raises(Interrupted):
            model.fit(made(), checkpoint=Stopping(path, 13))
        assert load(path).provenance_["sequences"] == 3
        assert repr(load(path).preprocessing_) == "Preprocessing([Standardize()])"
        for _ in range(2):  # the second time it is over
            model.fit(made(), checkpoint=path, resume=True)
            assert model.provenance_["sequences"] == 10
            assert not any(step.learns_first for step in model.preprocessing_.steps)


def test_merged(folder):
    whole = open_stream(ROWS).through(Standardize())
    one = StreamPCA(1).fit(whole)
    two = StreamPCA(1).fit(open_stream({"b": ROWS[:9], "c": ROWS}).prepared(one))
    merged = one.merge(two, new_sequence=True)
    assert merged.provenance_["sources"] == ["the source", "b", "c"]
    assert (merged.provenance_["n_sources"], merged.provenance_["sequences"]) == (3, 3)
    assert one.merge(two).provenance_["sequences"] == 2
    other = StreamPCA(1).fit(open_stream(ROWS * 2).through(Standardize()))
    with pytest.raises(ValueError, match="which were fitted to other data"):
        one.merge(other)
    with pytest.raises(ValueError, match="the other after None"):
        one.merge(StreamPCA(1).fit(ROWS))
    # Of rows in memory nothing is known, and so nothing is said of both.
    assert not hasattr(
        StreamPCA(1).fit(open_stream(ROWS)).merge(StreamPCA(1).fit(ROWS)), "provenance_"
    )


def test_prototypes_merge_only_behind_the_same_steps():
    """What was merged knows its steps: without them it would compare rows that nobody has made."""
    stream = open_stream(ROWS).through(UnitNorm())
    left, right = (CompetitiveLearning(3, random_state=0).fit(stream) for _ in range(2))
    both = left.merge(right)
    assert repr(both.preprocessing_) == "Preprocessing([UnitNorm()])"
    assert both.provenance_["n_sources"] == 2
    plain = CompetitiveLearning(3, random_state=0).fit(open_stream(ROWS))
    with pytest.raises(ValueError, match="was fitted after"):
        left.merge(plain)
    assert "preprocessing_" not in vars(plain.merge(plain))
