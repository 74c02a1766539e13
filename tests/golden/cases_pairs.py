"""Golden cases of pairs and labels: estimators, decisions, drawing pairs, evaluation."""

import numpy as np

import oracles
from eigenstream import (
    ClassSubspace,
    Kernel,
    PairMetric,
    PairSubspace,
    TemporalPairs,
    ThresholdClassifier,
    sample_pairs,
)
from eigenstream.evaluation import (
    balanced_risk,
    captured,
    one_shot_error,
    pair_roc,
    subspace_angles,
)
from eigenstream.evaluation.base import all_pairs, labelled, roc_area
from eigenstream.subspace import n_positive, pair_risks, risk_bound
from golden.table import add, fields, quality, share, subspace

RNG = np.random.default_rng(0)
LABELS = np.arange(240) % 6
CENTRES = RNG.standard_normal((12, 8)) * np.linspace(2, 0.3, 8)
X = CENTRES[LABELS] + RNG.standard_normal((240, 8)) * np.linspace(0.4, 2, 8)
FRESH_LABELS = 6 + np.arange(120) % 6
FRESH = CENTRES[FRESH_LABELS] + RNG.standard_normal((120, 8)) * np.linspace(0.4, 2, 8)
WEIGHTS = RNG.uniform(0, 2, 240)
TASKS = np.arange(240) // 80
INDEX = RNG.integers(240, size=(500, 2))
SIGNS = np.where(LABELS[INDEX[:, 0]] == LABELS[INDEX[:, 1]], 1, -1)
PAIRS = X[INDEX]
PAIR_WEIGHTS = RNG.uniform(0, 2, 500)
HOLES = X.copy()
HOLES[7, 3] = np.nan
OTHERS = FRESH[RNG.integers(120, size=(60, 2))]


def judged(model):
    """Return what a model of pairs says about its training pairs."""
    return (
        model.threshold_,
        pair_risks(model).risk,
        pair_risks(model).margin_risk().risk,
        pair_risks(model).diameter,
    )


def labels_T(eta):
    """Return T of all pairs: eta times the mean over unlike pairs less the mean over like ones."""
    i, j = np.triu_indices(240, 1)
    signs = np.where(LABELS[i] == LABELS[j], 1, -1)
    unlike, like, _, _ = oracles.pair_scatters(X, np.stack([i, j], 1), signs)
    return eta * unlike - like


def by_difference(parameters):
    """Return parameters with the criterion of the papers if they name an eta."""
    return {"criterion": "difference"} | parameters if "eta" in parameters else parameters


# ---- labels --------------------------------------------------------------------------------------

for name, parameters, rows in [
    ("eta 2", {"eta": 2.0}, X),
    ("eta .3", {"eta": 0.3}, X),
    ("all that gain", {"eta": 0.5, "n_components": None}, X),
    ("ratio", {"criterion": "ratio", "shrinkage": 0.0}, X),
    ("ratio with shrinkage", {"criterion": "ratio", "shrinkage": 0.1}, X),
    ("scaled", {"eta": 2.0, "scale": True}, X),
    ("missing", {"eta": 2.0, "missing": "skip"}, HOLES),
    ("krylov", {"eta": 2.0, "solver": "krylov"}, X),
    ("dual", {"eta": 2.0, "solver": Kernel("linear")}, X),
]:
    add(
        f"classes/{name}",
        lambda p=parameters, rows=rows: (
            *subspace(model := ClassSubspace(**by_difference(p)).fit(rows, LABELS)),
            *judged(model),
        ),
        1e-6 if name in ("krylov", "dual") else 1e-8,
    )
add(
    "classes/groups, uniform",
    lambda: subspace(
        ClassSubspace(2, criterion="difference", eta=2.0).fit(X, LABELS, groups=TASKS)
    ),
)
add(
    "classes/weights",
    lambda: subspace(
        ClassSubspace(3, criterion="difference", eta=2.0).fit(X, LABELS, sample_weight=WEIGHTS)
    ),
)
add(
    "classes/chunks",
    lambda: subspace(
        ClassSubspace(3, criterion="difference", eta=2.0)
        .partial_fit(X[:1], LABELS[:1])
        .partial_fit(X[1:99], LABELS[1:99])
        .partial_fit(X[99:], LABELS[99:])
    ),
)
add(
    "classes/merged",
    lambda: subspace(
        ClassSubspace(3, criterion="difference", eta=2.0)
        .fit(X[:99], LABELS[:99])
        .merge(ClassSubspace(3, criterion="difference", eta=2.0).fit(X[99:], LABELS[99:]))
    ),
)
CLASSES = ClassSubspace(2, criterion="difference", eta=0.5).fit(X, LABELS)
add("classes/distances", lambda: (CLASSES.pair_distance(OTHERS), CLASSES.pair_predict(OTHERS)))
add("classes/score", lambda: CLASSES.score(FRESH, FRESH_LABELS))
add("classes/transformed", lambda: (np.abs(CLASSES.transform(FRESH[:9])), n_positive(CLASSES)))
add("classes/bound", lambda: ((bound := risk_bound(CLASSES, 0.05, 0.1)).gap, bound.value))
for kernel in ("rbf",):
    add(
        f"classes/{kernel} kernel",
        lambda kernel=kernel: (
            pair_risks(
                model := ClassSubspace(
                    2, criterion="difference", eta=2.0, solver=Kernel(kernel, 0.05)
                ).fit(X, LABELS)
            ).risk,
            model.eigenvalues_,
            model.pair_distance(OTHERS),
        ),
        1e-6,
    )
for eta in (0.3, 2.0):
    quality(
        f"classes/sketch, eta {eta}",
        lambda eta=eta: share(
            ClassSubspace(2, criterion="difference", eta=eta, solver="sketch").fit(X, LABELS),
            labels_T(eta),
        ),
        0.03,
    )
quality(
    "classes/automatic",
    lambda: -one_shot_error(ClassSubspace().fit(X, LABELS).transform(FRESH), FRESH_LABELS),
    0.02,
)
quality(
    "classes/automatic eta",
    lambda: (
        -one_shot_error(
            ClassSubspace(2, criterion="difference").fit(X, LABELS).transform(FRESH), FRESH_LABELS
        )
    ),
    0.02,
)

# ---- pairs ---------------------------------------------------------------------------------------

for name, parameters in {
    "eta 2": {"eta": 2.0},
    "eta .3": {"eta": 0.3},
    "ratio": {"criterion": "ratio", "shrinkage": 0.0},
    "ratio with shrinkage": {"criterion": "ratio", "shrinkage": 0.2, "normalize": False},
    "by index": {"eta": 2.0, "preprocessor": X},
    "krylov": {"eta": 2.0, "solver": "krylov"},
    "dual": {"eta": 2.0, "solver": Kernel("linear")},
}.items():
    add(
        f"pairs/{name}",
        lambda p=parameters: (
            *subspace(
                model := PairSubspace(**by_difference(p)).fit(
                    INDEX if "preprocessor" in p else PAIRS, SIGNS
                )
            ),
            *judged(model),
        ),
        1e-6 if name in ("krylov", "dual") else 1e-8,
    )


def learned(weights=None, cut=None):
    model = PairSubspace(2, criterion="difference", eta=2.0)
    if cut is None:
        model.fit(PAIRS, SIGNS, sample_weight=weights)
    else:
        model.partial_fit(PAIRS[:cut], SIGNS[:cut]).partial_fit(PAIRS[cut:], SIGNS[cut:])
    return *subspace(model), *judged(model)


add("pairs/weights", lambda: learned(PAIR_WEIGHTS))
add("pairs/chunks", lambda: learned(cut=7))
add(
    "pairs/merged",
    lambda: subspace(
        PairSubspace(2, criterion="difference", eta=2.0)
        .fit(PAIRS[:90], SIGNS[:90])
        .merge(PairSubspace(2, criterion="difference", eta=2.0).fit(PAIRS[90:], SIGNS[90:]))
    ),
)
LEARNED = PairSubspace(2, criterion="difference", eta=0.5).fit(PAIRS, SIGNS)
add("pairs/decisions", lambda: (LEARNED.decision_function(OTHERS), LEARNED.predict(OTHERS)))
add("pairs/scores", lambda: (LEARNED.score(PAIRS, SIGNS), -LEARNED.pair_distance(OTHERS)))
add(
    "pairs/risks", lambda: (pair_risks(LEARNED).curve.risks[::20], pair_risks(LEARNED).curve.n_same)
)
add("pairs/bound", lambda: ((bound := risk_bound(LEARNED, 0.05, 0.1)).gap, bound.value))
for strategy, rate in {"balanced_risk": None, "false_positive_rate": 0.1}.items():
    add(
        f"pairs/threshold by {strategy}",
        lambda rate=rate: (
            PairSubspace(2, criterion="difference", eta=0.5)
            .fit(PAIRS, SIGNS)
            .calibrate_threshold(PAIRS[:200], SIGNS[:200], false_positive_rate=rate)
            .threshold_
        ),
    )
quality(
    "pairs/sketch",
    lambda: share(
        PairSubspace(2, criterion="difference", eta=2.0, solver="sketch").fit(PAIRS, SIGNS),
        (lambda unlike, like, *_: 2.0 * unlike - like)(*oracles.pair_scatters(X, INDEX, SIGNS)),
    ),
    0.03,
)
quality(
    "pairs/automatic",
    lambda: -one_shot_error(PairSubspace().fit(PAIRS, SIGNS).transform(FRESH), FRESH_LABELS),
    0.02,
)
quality(
    "pairs/automatic eta",
    lambda: (
        -one_shot_error(
            PairSubspace(2, criterion="difference").fit(PAIRS, SIGNS).transform(FRESH), FRESH_LABELS
        )
    ),
    0.02,
)
# Subgradient steps enlarge rounding errors, so only the quality of the answer is fixed.
METRIC = PairMetric().fit(PAIRS, SIGNS)
quality("metric/objective", lambda: -METRIC.objective_, 1e-3)
quality("metric/risk", lambda: (-pair_risks(METRIC).risk, -risk_bound(METRIC, 0.05).gap), 0.01)
NAMES = np.array(["a", "b", "c", "d", "e", "f"])
ONE = ThresholdClassifier(3.0, undecided="?").fit(X[:6], NAMES)
add("one example/predicted", lambda: ONE.predict(X[6:80])[:, None] == [*NAMES, "?"])
add("one example/decided", lambda: (ONE.decide(X[6:20]), ONE.distances(X[6:20])))

# ---- drawing -------------------------------------------------------------------------------------


def drawn(index):
    """Return the share of like pairs, and how evenly rows are drawn: 1 is even."""
    counts = np.bincount(np.ravel(index), minlength=240)
    return 1 - abs((LABELS[index[:, 0]] == LABELS[index[:, 1]]).mean() - 0.5), -counts.std()


quality("drawing/balanced pairs", lambda: drawn(sample_pairs(LABELS, 4000)[0]), 3)
quality(
    "drawing/stream in time",
    lambda: -abs(np.mean(TemporalPairs(far=20, memory=99).pairs(X)[1])),
    0.15,
)

# ---- evaluation ----------------------------------------------------------------------------------

add("evaluation/one example", lambda: one_shot_error(FRESH, FRESH_LABELS))
ROC = "area", "standard_error", "interval"
add("evaluation/roc", lambda: fields(pair_roc(X, LABELS), *ROC))
add(
    "evaluation/roc of bins",
    lambda: roc_area(all_pairs(labelled(X, LABELS), exact_pairs=0, bins=4096)),
    1e-3,
)
add("evaluation/risk", lambda: ((r := balanced_risk(X, LABELS)).risk, r.threshold, r.risks[::999]))
add("evaluation/angles", lambda: subspace_angles(CENTRES[:2].T, CENTRES[2:5].T))
add("evaluation/captured", lambda: captured(CENTRES[:2].T, labels_T(0.5)))
