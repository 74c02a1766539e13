"""What is no number (masked values, dates, text, lazy frames) is never learned as if it were."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import oracles
from eigenstream import (
    ClassSubspace,
    LabelledPairs,
    OjaNeuron,
    PairSubspace,
    RBFNetwork,
    SlowSubspace,
    StreamPCA,
    ThresholdClassifier,
    sample_pairs,
)
from eigenstream.evaluation import captured, one_shot_error, pair_roc, subspace_angles
from eigenstream.features import GradientOrientation
from eigenstream.processes import Autoregressive, ImageWalk, SpikedGaussian, move_images

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

ROWS = oracles.slow_sources(m=60)
#: As netCDF readers give them: a fill value under the mask.
MASKED = np.ma.array(ROWS, mask=np.zeros(ROWS.shape, bool))
MASKED[12, 3] = 9.97e36
MASKED[12, 3] = np.ma.masked
LABELS = np.repeat([0, 1, 2], 20)
PAIRS, SIGNS = sample_pairs(LABELS, 200, random_state=0)


@pytest.mark.parametrize(
    "learner",
    [
        lambda rows: StreamPCA(2).fit(rows),
        lambda rows: SlowSubspace(2).partial_fit(rows),
        lambda rows: SlowSubspace(2).fit(ROWS).transform(rows),
        lambda rows: ClassSubspace(2).fit(rows, LABELS),
        lambda rows: PairSubspace(2, preprocessor=rows).fit(PAIRS, SIGNS),
        lambda rows: RBFNetwork(5).fit(rows),
        lambda rows: GradientOrientation(shape=(2, 4)).fit_transform(rows),
        lambda rows: OjaNeuron().fit(rows),
        lambda rows: pair_roc(rows, LABELS),
        lambda rows: LabelledPairs().pairs(rows, LABELS),
    ],
)
def test_masked_values_are_missing_values(learner):
    with pytest.raises(ValueError, match="NaN at row 12, column 3"):
        learner(MASKED)


def test_masked_pairs_are_refused_by_their_place():
    explicit = np.ma.array(ROWS[PAIRS])
    explicit[7, 1, 2] = np.ma.masked
    with pytest.raises(ValueError, match="NaN at pair 7, member 1, column 2"):
        PairSubspace(2).fit(explicit, SIGNS)


def test_masked_rows_can_be_skipped():
    skipped = StreamPCA(2, missing="skip").fit(MASKED).components_
    left_out = StreamPCA(2).fit(np.delete(ROWS, 12, axis=0)).components_
    np.testing.assert_allclose(skipped, left_out, atol=1e-12)


def test_an_array_that_masks_nothing_is_an_array():
    plain = StreamPCA(2).fit(ROWS).components_
    np.testing.assert_array_equal(StreamPCA(2).fit(np.ma.array(ROWS)).components_, plain)


def test_masked_weights_are_refused():
    weights = np.ma.masked_equal(np.arange(60.0), 7.0)
    with pytest.raises(ValueError, match="not finite at row 7"):
        StreamPCA(2).fit(ROWS, sample_weight=weights)


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


def test_masked_examples_are_refused():
    judge = ThresholdClassifier()
    with pytest.raises(ValueError, match="NaN"):
        judge.fit(MASKED, LABELS)
    with pytest.raises(ValueError, match="y contain a masked value at row 40"):
        judge.fit(ROWS, np.ma.masked_equal(LABELS, 2))
    with pytest.raises(ValueError, match="NaN"):
        judge.fit(ROWS, LABELS).predict(MASKED)


def test_masked_features_are_not_turned_back():
    features = np.ma.masked_greater(StreamPCA(2).fit_transform(ROWS), 1.0)
    with pytest.raises(ValueError, match="Z contains NaN"):
        StreamPCA(2).fit(ROWS).inverse_transform(features)


def test_weights_may_come_as_objects_that_are_numbers():
    weights = np.arange(1, 61)
    plain = StreamPCA(2).fit(ROWS, sample_weight=weights).components_
    objects = StreamPCA(2).fit(ROWS, sample_weight=weights.astype(object)).components_
    np.testing.assert_array_equal(objects, plain)


def test_weights_of_text_are_named():
    with pytest.raises(TypeError, match="sample_weight must hold real numbers, got dtype <U"):
        StreamPCA(2).fit(ROWS, sample_weight=["heavy"] * 60)


def test_masked_signs_are_refused():
    with pytest.raises(ValueError, match="y contain a masked value at row 0"):
        PairSubspace(2, preprocessor=ROWS).fit(PAIRS, np.ma.masked_equal(SIGNS, SIGNS[0]))


DATES = pd.date_range("2020", periods=60)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"when": DATES, "b": range(60)}),
        pd.DataFrame({"when": pd.Categorical(list("xy") * 30), "b": range(60)}),
        pl.DataFrame({"when": ["z"] * 60, "b": range(60)}),
        pd.DataFrame({"when": DATES}),
    ],
    ids=["a date", "a category", "text in polars", "nothing but dates"],
)
def test_columns_that_are_no_numbers_are_named(frame):
    for fit in (
        StreamPCA(1).fit,
        lambda rows: PairSubspace(1, preprocessor=rows).fit(PAIRS, SIGNS),
    ):
        with pytest.raises(ValueError, match="not numbers: 'when'"):
            fit(frame)


def test_an_array_of_dates_is_refused():
    with pytest.raises(TypeError, match="dates or times"):
        StreamPCA(1).fit(DATES.to_numpy()[:, None])


def test_a_lazy_frame_is_to_be_collected():
    with pytest.raises(TypeError, match=r"Pass X\.collect\(\)"):
        StreamPCA(1).fit(pl.LazyFrame({"a": [1.0, 2.0]}))


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: ImageWalk("page.png"), "image must hold real numbers, got 'page.png'.*read it"),
        (lambda: move_images(Path("page.png")), r"images must hold real numbers, got .*page\.png"),
        (lambda: Autoregressive("slow"), "coefficients must hold real numbers"),
        (lambda: SpikedGaussian(4, ["a"]), "spikes must hold real numbers, got dtype <U1"),
        (lambda: pair_roc(sp.csr_array(ROWS), LABELS), r"Z is sparse.*Use Z\.toarray\(\)"),
        (lambda: LabelledPairs().pairs(sp.csr_array(ROWS), LABELS), "a chunk is sparse"),
        (lambda: subspace_angles(np.eye(2) + 1j, np.eye(2)), "left must hold real numbers"),
        (lambda: captured(np.eye(2), np.eye(2) + 1j), "operator must hold real numbers"),
    ],
)
def test_what_holds_no_real_numbers_is_named(use, message):
    with pytest.raises(TypeError, match=message):
        use()


def test_an_error_is_a_probability():
    # Each query's sum of chances rounds up: together they were 1 + 2^-52.
    assert one_shot_error(np.zeros((60, 1)), LABELS).error == 1.0
