"""What is no number (masked values, dates, text, lazy frames) is never learned as if it were."""

import numpy as np
import pytest

import oracles
from eigenstream import (
    ClassSubspace,
    PairSubspace,
    SlowSubspace,
    StreamPCA,
    sample_pairs,
)
from eigenstream.evaluation import pair_roc

pd = pytest.importorskip("pandas")

ROWS = oracles.slow_sources(m=60)
#: As netCDF readers give them: a fill value under the mask.
MASKED = np.ma.array(ROWS, mask=np.zeros(ROWS.shape, bool))
MASKED[12, 3] = 9.97e36
MASKED[12, 3] = np.ma.masked
LABELS = np.repeat([0, 1, 2], 20)
PAIRS, SIGNS = sample_pairs(LABELS, 200, random_state=0)


def test_masked_values_are_missing_values():
    for call in (
        lambda: PairSubspace(2, preprocessor=MASKED).fit(PAIRS, SIGNS),
        lambda: SlowSubspace(2).fit(ROWS).transform(MASKED),
        lambda: pair_roc(MASKED, LABELS),
    ):
        with pytest.raises(ValueError, match="NaN at row 12, column 3"):
            call()


def test_masked_rows_can_be_skipped():
    skipped = StreamPCA(2, missing="skip").fit(MASKED).components_
    left_out = StreamPCA(2).fit(np.delete(ROWS, 12, axis=0)).components_
    np.testing.assert_allclose(skipped, left_out, atol=1e-12)


@pytest.mark.parametrize(
    ("labels", "what"),
    [
        (np.ma.masked_equal(LABELS, 2), "a masked value at row 40"),
        (pd.Series(["a"] * 40 + [None] + ["b"] * 19, dtype="string"), "<NA> at row 40"),
        (np.array(["2020-01-01"] * 40 + ["NaT"] * 20, "M8[D]"), "NaT at row 40"),
    ],
)
@pytest.mark.parametrize(
    "use",
    [
        lambda y: ClassSubspace(2).fit(ROWS, y),
        lambda y: pair_roc(ROWS, y),
        lambda y: sample_pairs(y, 10),
    ],
    ids=["ClassSubspace", "pair_roc", "sample_pairs"],
)
def test_labels_that_name_nothing_are_refused(use, labels, what):
    with pytest.raises(ValueError, match=what):
        use(labels)


DATES = pd.date_range("2020", periods=60)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"when": DATES, "b": range(60)}),
        pd.DataFrame({"when": pd.Categorical(list("xy") * 30), "b": range(60)}),
        pd.DataFrame({"when": ["z"] * 60, "b": range(60)}),
        pd.DataFrame({"when": DATES}),
    ],
    ids=["a date", "a category", "text in polars", "nothing but dates"],
)
def test_columns_that_are_no_numbers_are_named(frame, request):
    if "polars" in request.node.callspec.id:
        frame = pytest.importorskip("polars").from_pandas(frame)
    for fit in (
        StreamPCA(1).fit,
        lambda rows: PairSubspace(1, preprocessor=rows).fit(PAIRS, SIGNS),
    ):
        with pytest.raises(ValueError, match="not numbers: 'when'"):
            fit(frame)
