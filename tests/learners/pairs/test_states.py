"""What is kept of pairs and of labels: saved and restored to the last bit, merged, and read."""

from copy import deepcopy

import numpy as np
import pytest

from eigenstream import ClassSubspace, LabelledPairs, PairSubspace
from eigenstream.estimators.pairs._label_input import MappedRows
from eigenstream.estimators.pairs._pair_input import MappedPairs
from eigenstream.learners.pairs import LabelledRows, Pairs, PairTask
from eigenstream.learners.pairs._hashes import pair_hashes
from eigenstream.learners.pairs._pair_folds import PairFolds, folds_of
from eigenstream.learners.pairs._samples import ClassSample, PairSample
from eigenstream.learners.table import WAYS
from eigenstream.testing import assert_same_state, check_state

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((400, 4)) * [3.0, 2.0, 1.0, 0.5]
NAMES = {"numbers": RNG.integers(0, 5, 400), "text": RNG.choice(list("abcd"), 400)}
WEIGHTS = RNG.integers(0, 3, 400).astype(float)
EXPLICIT = Pairs(
    np.stack([ROWS[:200], ROWS[200:]], axis=1), None, None, RNG.choice([1, -1], 200), None
)
INDEX = Pairs(None, RNG.integers(0, 400, (300, 2)), ROWS, RNG.choice([1, -1], 300), RNG.random(300))
LABELLED = LabelledRows(ROWS, NAMES["text"], RNG.integers(0, 3, 400))
ESTIMATORS = {"pairs": PairSubspace, "labels": ClassSubspace}
DATA = {"pairs": EXPLICIT, "labels": LABELLED}
STREAMING = [
    (data, solver) for data in DATA for solver, way in WAYS[data].items() if way.abilities.goes_on
]
AT_ONCE = [
    (data, solver)
    for data in DATA
    for solver, way in WAYS[data].items()
    if not way.abilities.goes_on
]


def begun(data, solver, **options):
    """A learner that has seen nothing, and the question of its estimator."""
    estimator = ESTIMATORS[data](2, solver=solver, random_state=0, **{"eta": 0.5, **options})
    question = estimator._question(4)
    weights = None if question.searches else question.weights_online()
    task = PairTask(4, 2, question.searches, weights, estimator.get_params())
    return WAYS[data][solver].begun(task), question


def halves(given):
    n = len(given) // 2 + 7
    return given.chosen(slice(0, n)), given.chosen(slice(n, None))


@pytest.mark.parametrize(("data", "solver"), STREAMING)
class TestStreams:
    def test_restored_it_goes_on_to_the_last_bit(self, data, solver):
        learner, question = begun(data, solver)
        check_state(deepcopy(learner), lambda empty: empty.add(DATA[data]))
        first, rest = halves(DATA[data])
        learner.add(first)
        check_state(deepcopy(learner), lambda one: one.add(rest))
        learner.solution(question)  # scatters know the weights of the answer from then on
        check_state(learner, lambda one: one.add(rest))

    def test_what_is_restored_answers_alike(self, data, solver):
        learner, question = begun(data, solver)
        learner.add(DATA[data])
        copy = type(learner).restored(learner.state())
        ours, theirs = learner.solution(question), copy.solution(question)
        assert_same_state(ours.state(), theirs.state())
        mine, yours = learner.training(ours), copy.training(theirs)
        assert mine.risk_error(1.0) == yours.risk_error(1.0)
        assert (copy.n_rows, copy.n_terms) == (learner.n_rows, learner.n_terms)

    def test_reading_changes_nothing(self, data, solver):
        learner, question = begun(data, solver)
        learner.add(DATA[data])
        learner.solution(question)
        before = learner.state()
        learner.training(learner.solution(question))
        assert_same_state(learner.state(), before)


@pytest.mark.parametrize(("data", "solver"), AT_ONCE)
@pytest.mark.parametrize("options", [{}, {"eta": "auto"}, {"kernel": "rbf"}], ids=str)
def test_an_answer_is_saved_with_what_it_takes_to_use_it(data, solver, options):
    if "kernel" in options and not WAYS[data][solver].abilities.kernels:
        return
    learner, question = begun(data, solver, **options)
    given = DATA[data].chosen(slice(0, 120))
    source = MappedPairs(given, None) if data == "pairs" else MappedRows(given, None, 0)
    found = learner.read(source, question)
    copy = type(learner).restored(learner.state())
    assert_same_state(copy.state(), learner.state())
    assert_same_state(copy.solution(question).state(), found.state())
    counts = [one.training(one.solution(question)).counts for one in (learner, copy)]
    if data == "labels":
        counts = [count() for count in counts]
    assert_same_state(counts[0].state(), counts[1].state())
    with pytest.raises(TypeError, match="use read"):
        learner.add(given)


@pytest.mark.parametrize("given", [EXPLICIT, INDEX], ids=["explicit", "index"])
def test_searched_weights_keep_their_folds(given):
    learner, question = begun("pairs", "dense", eta="auto")
    first, rest = halves(given)
    learner.add(first)
    check_state(deepcopy(learner), lambda one: one.add(rest))
    other, _ = begun("pairs", "dense", eta="auto")
    other.add(rest)
    merged = learner.merge(other)
    check_state(deepcopy(merged), lambda one: one.add(first))
    learner.add(rest)
    ours, theirs = merged.solution(question), learner.solution(question)
    np.testing.assert_allclose(ours.pairs.values, theirs.pairs.values, rtol=1e-9)
    assert ours.details["eta"] == theirs.details["eta"]


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("group_weights", ["uniform", "pairs"])
def test_labels_of_either_kind_merge_and_are_saved(names, group_weights):
    rng = np.random.default_rng(100)
    given = LabelledRows(ROWS, names, rng.integers(0, 3, 400), WEIGHTS)
    first, rest = halves(given)
    whole, question = begun("labels", "dense", group_weights=group_weights, scale=True)
    parts = [deepcopy(whole) for _ in range(2)]
    whole.add(given)
    for part, some in zip(parts, (first, rest), strict=True):
        part.add(some)
        part.solution(question)
    merged = parts[0].merge(parts[1])
    assert (merged.n_rows, merged.n_terms) == (whole.n_rows, whole.n_terms)
    ours, theirs = merged.solution(question), whole.solution(question)
    np.testing.assert_allclose(ours.pairs.values, theirs.pairs.values, rtol=1e-9)
    np.testing.assert_allclose(ours.details["scale"], theirs.details["scale"], rtol=1e-9)
    for learner in (merged, parts[0]):
        check_state(learner, lambda one: one.add(rest))


def test_samples_that_are_full_go_on_alike():
    hashes = pair_hashes(EXPLICIT)
    folds = folds_of(EXPLICIT)

    def add(sample, where):
        sample.add(hashes[where], EXPLICIT.chosen(where), folds[where])

    sample = PairSample(4, 40)
    add(sample, slice(0, 150))
    check_state(sample, lambda one: add(one, slice(150, None)))
    rows = ClassSample(4, 40)
    first, rest = halves(LABELLED)
    rows.add(first)
    check_state(rows, lambda one: one.add(rest))
    held = PairFolds(4, 5)
    held.add(EXPLICIT.chosen(slice(0, 90)), folds[:90])
    check_state(held, lambda one: one.add(EXPLICIT.chosen(slice(90, None)), folds[90:]))


@pytest.mark.parametrize("groups", [None, RNG.integers(0, 2, 400)], ids=["one task", "tasks"])
def test_drawn_pairs_go_on_alike(groups):
    stream = LabelledPairs(memory=50, random_state=3)

    def go_on(one, where=slice(200, None)):
        return one.pairs(
            ROWS[where], NAMES["text"][where], None if groups is None else groups[where]
        )

    go_on(stream, slice(0, 200))
    check_state(stream, go_on)


def test_pairs_that_wait_are_saved():
    learner, question = begun("pairs", "flow")
    negative = EXPLICIT.chosen(EXPLICIT.signs < 0)
    learner.add(negative.chosen(slice(0, 10)))
    check_state(deepcopy(learner), lambda one: one.add(EXPLICIT))
    assert learner.n_terms == 10
    copy = type(learner).restored(learner.state())
    assert_same_state(copy.solution(question).state(), learner.solution(question).state())


@pytest.mark.parametrize("data", DATA)
def test_other_parameters_are_answered_from_the_same_scatters(data):
    def fitted(**options):
        model = ESTIMATORS[data](**options)
        if data == "pairs":
            return model.fit(EXPLICIT.explicit, EXPLICIT.signs)
        return model.fit(ROWS, LABELLED.labels, groups=LABELLED.groups)

    model = fitted(eta=2.0)
    before = model.risk_, model.threshold_, model.components_.copy()
    other = model.solved_with(eta=4.0, n_components=1)
    anew = fitted(eta=4.0, n_components=1)
    np.testing.assert_allclose(other.components_, anew.components_, atol=1e-12)
    assert other.risk_ == pytest.approx(anew.risk_, abs=1e-9)
    assert other.calibrate_threshold(EXPLICIT.explicit, EXPLICIT.signs).eta_ == 4.0
    assert (model.risk_, model.threshold_) == before[:2]
    np.testing.assert_array_equal(model.components_, before[2])
