"""A model applies the steps that it learned after, whatever it is asked and by whatever way."""

import inspect
from copy import copy, deepcopy

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import make_pipeline

import eigenstream
import oracles
from eigenstream import (
    Adaline,
    AdalineRegressor,
    ClassSubspace,
    CompetitiveLearning,
    ContrastSubspace,
    MultilayerPerceptron,
    OjaNeuron,
    PairMetric,
    PairSubspace,
    Perceptron,
    RBFNetwork,
    SangerNetwork,
    SelfOrganizingMap,
    SlowSubspace,
    StreamPCA,
    load,
    open_stream,
    save,
)
from eigenstream.features import GradientOrientation
from eigenstream.streams import (
    Differences,
    LagEmbedding,
    OmitOutliers,
    QuadraticExpansion,
    Standardize,
    UnitNorm,
)
from eigenstream.subspace import to_sklearn

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((90, 4)).cumsum(axis=0) * [1.0, 3.0, 0.3, 100.0] + [5.0, 0.0, -2.0, 1e3]
OTHER = ROWS[10:70] + RNG.standard_normal((60, 4)) * [0.3, 1.0, 0.1, 30.0]
LABELS, OTHER_LABELS = np.arange(90) % 2, np.arange(60) % 2

#: The steps, and the slow way to apply them to an array, after learning from ROWS.
MEAN, DEVIATION = ROWS.mean(axis=0), ROWS.std(axis=0)


def standardised(X):
    return (X - MEAN) / DEVIATION


STEPS = {
    "standardize": ([Standardize()], standardised),
    "outliers": ([OmitOutliers(50)], lambda X: X),
    "unit": ([UnitNorm()], lambda X: X / np.linalg.norm(X, axis=1, keepdims=True)),
    "products": (
        [Standardize(), QuadraticExpansion()],
        lambda X: oracles.with_products(standardised(X)),
    ),
    "differences": ([Differences()], lambda X: X[1:] - X[:-1]),
    "embedding": ([Standardize(), LagEmbedding(2)], lambda X: oracles.delayed(standardised(X), 2)),
}

MODELS = {
    "pca": StreamPCA(2),
    "scaled": StreamPCA(2, scale=True),
    "slow": SlowSubspace(2),
    "mapped": SlowSubspace(1, features=RBFNetwork(4, random_state=0)),
    "classes": ClassSubspace(2, criterion="difference", eta=1.0),
    "contrast": ContrastSubspace(2),
    "prototypes": CompetitiveLearning(3, random_state=0),
    "batch": CompetitiveLearning(3, method="batch", random_state=0),
    "map": SelfOrganizingMap((2, 2), max_iter=2, random_state=0),
    "oja": OjaNeuron(random_state=0),
    "sanger": SangerNetwork(2, random_state=0),
    "perceptron": Perceptron(random_state=0),
    "adaline": Adaline(random_state=0),
    "regressor": AdalineRegressor(random_state=0),
    "network": MultilayerPerceptron(3, max_iter=3, random_state=0),
    "rbf": RBFNetwork(5, random_state=0),
    "gradients": GradientOrientation(1, shape=(2, 2)),
}

#: Questions with a result for each row, and questions about all rows.
OF_EACH = (
    *("transform", "predict", "predict_proba", "decision_function", "quantise"),
    "score_samples",
)
OF_ALL = ("score", "objective", "autocorrelations", "timescales")
OF_ARRAYS = ("positions",)

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def fitted(name, kind):
    steps, plain = STEPS[kind]
    if name == "gradients" and plain(ROWS).shape[1] != 4:
        pytest.skip("the images have 2 x 2 pixels")
    stream = open_stream(ROWS, chunk_rows=17).with_labels(LABELS).through(*steps)
    how = {"background": open_stream(OTHER)} if name == "contrast" else {}
    return clone(MODELS[name]).fit(stream, **how), stream, plain


def twin_of(model):
    """A model without steps, for rows that are prepared by hand."""
    twin = copy(model)
    del twin.preprocessing_, twin.provenance_
    return twin


def read(found):
    """The rows of an answer."""
    if not hasattr(found, "rereadable"):
        return np.asarray(found)
    return np.concatenate([chunk.rows for chunk in found])


def doors(steps, model, X, stream_too=True):
    """All ways to pass rows, by name."""
    yield "array", model, X
    yield "nested list", model, X.tolist()
    if stream_too:
        yield "stream", model, open_stream(X)
        yield "small chunks", model, open_stream(X, chunk_rows=7)
        yield "prepared", model, open_stream(X, chunk_rows=11).prepared(model)
        yield "steps not fitted", model, open_stream(X).through(*steps)


def close(found, expected, message):
    scale = max(float(np.abs(expected).max()), 1.0) if expected.dtype.kind == "f" else 1
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, atol=1e-9 * scale, err_msg=message)
    else:
        np.testing.assert_array_equal(found, expected, err_msg=message)


@pytest.mark.parametrize("kind", STEPS)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.slow
def test_every_door_applies_the_steps_once(name, kind, tmp_path):
    model, stream, plain = fitted(name, kind)
    steps, twin, ready = STEPS[kind][0], twin_of(model), plain(OTHER)
    save(model, tmp_path / "model.eigs")
    loaded = load(tmp_path / "model.eigs")
    for question in OF_EACH:
        if hasattr(model, question) and (question != "score_samples" or kind != "products"):
            expected = read(getattr(twin, question)(ready))
            for door, asked, X in [*doors(steps, model, OTHER), ("loaded", loaded, OTHER)]:
                close(read(getattr(asked, question)(X)), expected, f"{question} {door}")
            learned = read(getattr(twin, question)(plain(ROWS)))
            close(
                read(getattr(model, question)(stream)), learned, f"{question} of the rows learned"
            )
            piped = make_pipeline(model)
            if hasattr(piped, question):
                close(read(getattr(piped, question)(OTHER)), expected, f"{question} of a pipeline")
    kept = OTHER_LABELS[len(OTHER) - len(ready) :]
    for question in (*OF_ALL, *OF_ARRAYS):
        labelled = question == "score" and not hasattr(model, "objective")
        if not hasattr(model, question) or (name, question) == ("contrast", "score"):
            continue
        if (name, kind, question) == ("pca", "products", "score"):
            continue  # directions without variance have no likelihood
        more = (kept,) if labelled else ()
        expected = np.asarray(getattr(twin, question)(ready, *more))
        streams_too = question in OF_ALL and hasattr(model, "eigenvalues_")
        for door, asked, X in doors(steps, model, OTHER, streams_too):
            y = (OTHER_LABELS,) if labelled and door not in ("array", "nested list") else more
            if labelled and len(ready) < len(OTHER) and door in ("array", "nested list"):
                continue  # labels of arrays cannot follow their rows
            close(np.asarray(getattr(asked, question)(X, *y)), expected, f"{question} {door}")


# ---- ways that only some models have ------------------------------------------------------------


def slow_after(*steps, rows=ROWS, **how):
    return SlowSubspace(2).fit(open_stream(rows, **how).through(*steps))


def test_sequences_are_prepared_one_by_one():
    model = slow_after(Standardize(), Differences())
    parts = [OTHER[:20], OTHER[20:]]
    found, twin = model.transform(parts), twin_of(model)
    ready = [np.diff(standardised(part), axis=0) for part in parts]
    for one, rows in zip(found, ready, strict=True):
        close(one, twin.transform(rows), "transform")
    assert model.score(parts) == pytest.approx(twin.score(ready))
    assert model.score(open_stream(parts)) == pytest.approx(twin.score(ready))


def test_pairs_and_labelled_rows():
    model = fitted("classes", "standardize")[0]
    twin, ready = twin_of(model), standardised(OTHER)
    index = np.array([[0, 3], [5, 1], [7, 8]])
    expected = twin.pair_distance(ready[index])
    close(model.pair_distance(OTHER[index]), expected, "pairs")
    close(model.pair_distance(index, preprocessor=OTHER), expected, "index pairs")
    assert model.pair_predict(OTHER[index]).tolist() == twin.pair_predict(ready[index]).tolist()
    model.calibrate_threshold(OTHER, OTHER_LABELS)
    assert model.threshold_ == pytest.approx(
        twin.calibrate_threshold(ready, OTHER_LABELS).threshold_
    )


def test_both_sets_of_a_contrast():
    model = fitted("contrast", "standardize")[0]
    twin, ready = twin_of(model), standardised(OTHER)
    direct = ContrastSubspace(2).fit(standardised(ROWS), background=ready)
    close(np.abs(model.components_), np.abs(direct.components_), "components")
    expected = twin.score(ready, background=ready[::-1])
    for door in (np.array, open_stream):
        found = model.score(door(OTHER), background=door(OTHER[::-1]))
        assert found == pytest.approx(expected)
    odd = open_stream(OTHER).through(UnitNorm())
    for X in (ROWS, open_stream(ROWS).through(Standardize())):
        with pytest.raises(ValueError, match=r"has the steps \[UnitNorm\(\)\]"):
            ContrastSubspace(2).fit(X, background=odd)


def test_questions_to_a_map():
    model = fitted("map", "standardize")[0]
    twin, ready = twin_of(model), standardised(OTHER)
    expected = twin.evaluate(ready)
    for X in (OTHER, open_stream(OTHER), open_stream(OTHER).prepared(model)):
        found = model.evaluate(X)
        assert found.quantization_error == pytest.approx(expected.quantization_error)
    np.testing.assert_array_equal(model.hits(OTHER), twin.hits(ready))
    assert model.trustworthiness(OTHER) == pytest.approx(twin.trustworthiness(ready))
    counts = twin.class_map(ready, OTHER_LABELS).counts
    np.testing.assert_array_equal(model.class_map(OTHER, OTHER_LABELS).counts, counts)
    stream = open_stream(OTHER).with_labels(OTHER_LABELS)
    np.testing.assert_array_equal(model.class_map(stream).counts, counts)


@pytest.mark.parametrize("name", ["pca", "prototypes", "perceptron", "rbf"])
def test_blocks_of_dask(name):
    da = pytest.importorskip("dask.array")
    model = fitted(name, "standardize")[0]
    question = "predict" if name == "perceptron" else "transform"
    found = getattr(model, question)(da.from_array(OTHER, chunks=(13, 4)))
    expected = getattr(twin_of(model), question)(standardised(OTHER))
    close(np.asarray(found.compute(scheduler="threads")), expected, "dask")
    model = fitted(name, "differences")[0]
    with pytest.raises(ValueError, match=r"after Differences\(lag=1\).* a Dask collection"):
        getattr(model, question)(da.from_array(OTHER, chunks=(13, 4)))


def test_columns_of_a_table_are_chosen_by_their_names():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS, columns=["a", "b", "c", "d"])
    model = slow_after(Standardize(), rows=frame, columns=["d", "a"])
    other = pandas.DataFrame(OTHER, columns=["a", "b", "c", "d"])
    expected = twin_of(model).transform(standardised(OTHER)[:, [3, 0]])
    close(model.transform(other), expected, "table")
    close(model.transform(OTHER[:, [3, 0]]), expected, "array")
    found = read(model.transform(open_stream(other, columns=["d", "a"])))
    close(found, expected, "stream")
    plain = to_sklearn(model)
    assert plain.feature_names_in_.tolist() == ["d", "a"]
    close(plain.transform(other[["d", "a"]]), expected, "pipeline")
    with pytest.raises(ValueError, match="X has no column 'd'"):
        model.transform(other[["a", "b"]])


@pytest.mark.parametrize(
    "name", ["pca", "slow", "classes", "contrast", "prototypes", "oja", "perceptron", "regressor"]
)
def test_learning_goes_on_after_the_steps(name):
    model, _, plain = fitted(name, "products")
    twin = deepcopy(twin_of(model))
    more = {"classes": (OTHER_LABELS,), "perceptron": (OTHER_LABELS,), "regressor": (OTHER_LABELS,)}
    model.partial_fit(OTHER, *more.get(name, ()))
    twin.partial_fit(plain(OTHER), *more.get(name, ()))
    question = "predict" if name in ("perceptron", "regressor") else "transform"
    close(getattr(model, question)(OTHER), getattr(twin, question)(plain(OTHER)), "partial_fit")
    with pytest.raises(ValueError, match=r"LagEmbedding.* uses earlier rows.*partial_fit"):
        fitted(name, "embedding")[0].partial_fit(OTHER, *more.get(name, ()))


def test_other_steps_raise():
    model = slow_after(Standardize())
    other = open_stream(OTHER).through(Standardize())
    list(other)
    for stream in (other, open_stream(OTHER).through(UnitNorm())):
        with pytest.raises(ValueError, match="the model applies its own"):
            model.transform(stream)
    with pytest.raises(ValueError, match="the model applies its own"):
        SlowSubspace(2).fit(open_stream(ROWS)).transform(other)
    # The steps before an array are not known.
    assert read(SlowSubspace(2).fit(ROWS).transform(other)).shape == (60, 2)


def test_results_of_a_model_are_no_rows_of_its_stream():
    first = StreamPCA(3).fit(open_stream(ROWS).through(Standardize()))
    second = StreamPCA(1).fit(first.transform(open_stream(ROWS)))
    assert not hasattr(second, "preprocessing_")
    expected = second.transform(first.transform(OTHER))
    close(read(second.transform(first.transform(open_stream(OTHER)))), expected, "of results")
    with pytest.raises(ValueError, match="the model applies its own"):
        first.transform(first.transform(open_stream(OTHER)))


@pytest.mark.parametrize("model", [PairSubspace(1), PairMetric()], ids=repr)
def test_steps_of_two_rows_side_by_side_are_refused(model):
    stream = open_stream(np.hstack([ROWS, ROWS[::-1]])).with_labels(2 * LABELS - 1)
    with pytest.raises(ValueError, match="two rows side by side"):
        model.fit(stream.through(Standardize()))


#: Methods that fit anew, or that leave the rows to methods that apply the steps.
WITHOUT = {
    *("fit", "fit_transform", "fit_predict", "uncertainty"),
    *("pair_distance", "pair_predict", "calibrate_threshold", "timescales", "hits"),
}
#: The classes whose own methods of this kind do so, too. Pairs have no steps.
CLASSES = {
    "score": {"ContrastSubspace", "StreamPCA", "ClassSubspace", "PairSubspace", "PairMetric"},
    "decision_function": {"PairSubspace", "PairMetric"},
    "predict": {"PairSubspace", "PairMetric"},
    "partial_fit": {"PairSubspace"},
    "update": {"Monitor"},
    "watch": {"Monitor"},
}


def test_every_method_of_rows_applies_the_steps():
    classes = [getattr(eigenstream, name) for name in eigenstream.__all__] + [GradientOrientation]
    classes = [one for one in classes if isinstance(one, type) and issubclass(one, BaseEstimator)]
    lacking = []
    for kind in classes:
        for name, method in inspect.getmembers(kind, inspect.isfunction):
            rows = {"X", "pairs"} & set(inspect.signature(method).parameters)
            excepted = name in WITHOUT or kind.__name__ in CLASSES.get(name, ())
            ours = method.__module__.startswith("eigenstream") and not name.startswith("_")
            if not rows or excepted or not ours:
                continue
            while method is not None and not hasattr(method, "applies_steps"):
                method = getattr(method, "__wrapped__", None)
            if method is None:
                lacking.append(f"{kind.__name__}.{name}")
    assert not lacking, "decorate with reads_rows, maps_streams or learns_rows"
