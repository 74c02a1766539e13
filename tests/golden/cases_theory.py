"""Golden cases of bounds, mixing, the dynamics of learning, and processes."""

import numpy as np

from eigenstream import processes, schedules, theory
from golden.table import add, fields

MIXING = {
    "independent": theory.Independent(),
    "finite": theory.FiniteMemory(20),
    "geometric": theory.Geometric(1, 0.99),
    "algebraic": theory.Algebraic(1, 3),
    "sum": theory.FiniteMemory(10) + theory.Geometric(0.5, 0.9),
    "table": theory.Table([0.5, 0.3, 0.0], lags=[1, 10, 100]),
    "markov": theory.markov_mixing([[0.99, 0.01], [0.03, 0.97]]),
}
LAGS = [0, 1, 2, 5, 10, 19, 20, 50, 100, 1000]


def deviation(bound):
    return fields(bound, "value", "delta", "m", "a", "blocks", "leak")


def risk(bound):
    return fields(bound, "gap", "value", "delta", "m", "vacuous")


for name, profile in MIXING.items():
    add(f"mixing/{name}", lambda profile=profile: profile(LAGS))
for name in ("independent", "finite", "geometric"):
    add(
        f"bounds/slow, {name}",
        lambda p=MIXING[name]: deviation(theory.slow_bound(10**7, 10, 0.05, p, alpha=0.8, lag=2)),
    )
    add(
        f"bounds/rows of a slow subspace, {name}",
        lambda p=MIXING[name]: theory.slow_samples(0.1, 10, 0.05, p).m,
    )
GEOMETRIC, EXTENT = MIXING["geometric"], theory.Extent(1.0, 2.0, 1.5)
STATES = np.cumsum(np.random.default_rng(0).random(20_000) < 0.05) % 2
KINDS = np.cumsum(np.random.default_rng(1).random(20_000) < 0.05) % 2
for name, call in {
    "slow, tight": lambda: deviation(theory.slow_bound(10**7, 10, 0.05, GEOMETRIC, tight=True)),
    "slow, a given": lambda: deviation(theory.slow_bound(10**7, 10, 0.05, GEOMETRIC, a=2000)),
    "process": lambda: deviation(theory.process_bound(10**6, EXTENT, 0.05, GEOMETRIC)),
    "mean": lambda: deviation(theory.mean_bound(10**6, 0.5, 0.05, GEOMETRIC)),
    "pairs": lambda: risk(theory.pair_bound(10**6, 10, 0.1, 0.05, empirical_risk=0.02)),
    "balanced pairs": lambda: risk(theory.balanced_pair_bound(10**5, 10**6, 10, 0.1, 0.05)),
    "pairs, samples": lambda: theory.pair_samples(0.1, 10, 0.1, 0.05).m,
    "operator": lambda: risk(theory.operator_bound(10**4, 2.0, 1.0, 0.5, 0.05)),
    "metric rule": lambda: (
        (alpha := 1 / (1 + 100**0.5)),  # of the smallest bound
        theory.metric_rule_error(alpha * 0.2 - (1 - alpha) * 0.003, alpha, 0.1),
    ),
    "estimated mixing": lambda: (
        (found := theory.estimate_mixing(STATES, [1, 5, 10, 20])).values,
        found.noise_floor,
    ),
    "continuity of classes": lambda: (
        (found := theory.class_continuity(STATES, KINDS)).worst,
        found.excess,
    ),
}.items():
    add(f"bounds/{name}", call)

# ---- dynamics ------------------------------------------------------------------------------------

TIMES = np.linspace(0, 60, 13)
R, Q = np.array([[0.1, 0.05], [0.02, 0.08]]), np.array([[0.2, 0.01], [0.01, 0.3]])
for name, model in {
    "pair": theory.CompetitiveDynamics(np.eye(2), learning_rate=0.5),
    "clusters of their own": theory.CompetitiveDynamics(
        [[1.5, 0.0], [0.0, 1.0]], learning_rate=0.3, weights=[0.7, 0.3], variances=[1.0, 0.5]
    ),
    "soft": theory.CompetitiveDynamics(np.eye(2), learning_rate=0.5, softness=2.0),
    "annealed": theory.CompetitiveDynamics(
        np.eye(2), learning_rate=0.5, annealing=theory.Annealing(schedules.Power(1, 500), 50)
    ),
    "sanger": theory.PrincipalDynamics([0.6, 0.4], learning_rate=0.3),
}.items():
    start = np.eye(2) if name == "sanger" else Q
    add(
        f"dynamics/{name}",
        lambda model=model, start=start: (
            (course := model.solve(R, start, TIMES)).R,
            course.Q,
            course.error,
            *model.drift(R, start),
        ),
        1e-5,
    )
    add(
        f"dynamics/{name}, simulated",
        lambda model=model, start=start: model.simulate(
            R, start, [5.0], n_features=500, runs=60
        ).mean[0],
        0.2,
    )
THREE = theory.CompetitiveDynamics(np.eye(3), learning_rate=0.5)
add(
    "dynamics/three prototypes",
    lambda: THREE.solve(0.1 * np.eye(3) + 0.01, 0.1 * np.eye(3), TIMES[:7]).R,
    1e-5,
)
PAIR, UNITS = theory.SymmetricPair(1.0), theory.PrincipalDynamics([0.6, 0.4], learning_rate=0.1)
SLOW_START = np.array([[0.06, 0.06], [0.06, 0.06 + 1e-10 / 0.06]])
for name, call in {
    "rates of a pair": lambda: (PAIR.critical_rate, PAIR.growth_rate(0.5)),
    "separation": lambda: theory.critical_separation(0.5),
    "overlaps of a pair": lambda: theory.overlaps_of_pair(0.3, 0.1, 0.5, 0.2),
    "rates of units": lambda: (UNITS.critical_rates, UNITS.growth_rate(), UNITS.growth_rate(2)),
    "fixed point": lambda: (*UNITS.fixed_point(), UNITS.is_stable()),
    "deviations": lambda: np.sort(UNITS.deviation_rates(*UNITS.fixed_point())),
    "a long plateau": lambda: (
        course := UNITS.solve(SLOW_START, np.eye(2), np.linspace(0, 400, 801))
    ).when(np.abs(course.R[:, 1, 1]), 0.47),
    "a pair's advice": lambda: fields(
        PAIR.advise(0.5, n_features=1000), "critical_rate", "best_rate", "examples"
    ),
    "units' advice": lambda: fields(
        theory.PrincipalDynamics([0.9, 0.6], learning_rate=0.3).advise(n_features=1000),
        *("examples", "stable"),
    ),
}.items():
    add(f"dynamics/{name}", call, 1e-3 if "advice" in name or "plateau" in name else 1e-6)

# ---- processes: draws may change, moments may not -----------------------------------

IMAGE = processes.noise_image(40, random_state=0)


def moments(rows):
    steps = np.diff(rows, axis=0)
    return (rows**2).sum(axis=1).mean(), (steps**2).sum(axis=1).mean()


for name, process in {
    "autoregressive": processes.Autoregressive([0.9, 0.5], n_features=4, noise=0.1, random_state=0),
    "spiked": processes.SpikedGaussian(6, (3.0, 1.0), random_state=0),
    "mixture": processes.GaussianMixture(np.eye(3), spread=0.5, random_state=0),
    "walk": processes.ImageWalk(IMAGE, size=5, random_state=0),
    "views": processes.ImageViews(IMAGE, size=5, random_state=0),
}.items():
    add(f"processes/{name}", lambda process=process: moments(process.take(4000)), 0.1)
for kind in ("rotation", "scale", "both"):
    for make in (processes.digit_set, processes.letter_set):
        add(
            f"processes/{make.__name__}, {kind}",
            lambda kind=kind, make=make: (
                (drawn := make(kind, n_per_class=4, random_state=0))[0].mean(),
                drawn[0].std(),
                len(drawn[0]),
            ),
            0.05,
        )
