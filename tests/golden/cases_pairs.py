"""Golden cases of pairs and labels."""

import numpy as np

from eigenstream import (
    ClassSubspace,
    Kernel,
    PairMetric,
    PairSubspace,
)
from eigenstream.evaluation import (
    one_shot_error,
)
from eigenstream.subspace import pair_risks, risk_bound
from golden.table import add, quality, subspace

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
HOLES = X.copy()
HOLES[7, 3] = np.nan


def judged(model):
    """Return what a model of pairs says about its training pairs."""
    return (
        model.threshold_,
        pair_risks(model).risk,
        pair_risks(model).margin_risk().risk,
        pair_risks(model).diameter,
    )


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
