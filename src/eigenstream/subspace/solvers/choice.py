"""The choice of the solver, and the abilities that parameters and calls require."""

from numbers import Real
from typing import cast

from sklearn.base import BaseEstimator

from eigenstream.subspace.solvers.base import ALPHA, MATRIX, PAIRWISE, RATIOS, Need, Solver
from eigenstream.subspace.solvers.dense import THIN, Dense
from eigenstream.subspace.solvers.flow import Flow
from eigenstream.subspace.solvers.kernels import Kernel
from eigenstream.subspace.solvers.krylov import Krylov
from eigenstream.subspace.solvers.sketch import Sketch

#: The values with which a sketch has the ratios of classes, for an error.
OF_NUMBERS = ", or Sketch(passes=2) with n_components=10, shrinkage=0.5, mixing=0, scale=False"

#: "auto" forms no matrix of more columns for many sparse rows in memory, if another solver has the
#: abilities. With fewer columns, the matrix is faster than many passes.
SPARSE_COLUMNS = 1000

#: The option of SlowSubspace that reads the rows twice.
KOOPMAN = "reversible='koopman'"

#: The solvers by name. "auto" uses the first that fits and has the required abilities.
SOLVERS: dict[str, type[Solver]] = {
    kind.name: kind for kind in (Dense, Sketch, Krylov, Flow, Kernel)
}


def needs_of(estimator: BaseEstimator) -> list[Need]:
    """Return the abilities that the parameters of an estimator require."""
    params = estimator.get_params(deep=False)
    needs = []
    ratios, otherwise = RATIOS, ", or criterion='difference'"
    if "mixing" in params:  # a sketch compares no values on held-out classes
        numbers = (params[name] for name in ("n_components", "shrinkage", "scale"))
        if estimator._row_word == "pair":
            ratios = MATRIX
        elif params["mixing"] != 0 or not all(isinstance(number, Real) for number in numbers):
            ratios, otherwise = MATRIX, otherwise + OF_NUMBERS
    if params.get("criterion", "difference") != "difference":
        needs.append(Need("criterion='ratio'", ratios, otherwise))
    else:
        flows = estimator.solver == Flow.name or isinstance(estimator.solver, Flow)
        for name in ("alpha", "eta"):
            if flows and name == "alpha" and params.get(name) == "auto":
                continue  # a fixed value, see SlowSubspace
            if not isinstance(params.get(name, 1.0), int | float):
                words = f"{name}={params[name]!r}"
                ability = MATRIX
                if params[name] == "auto":
                    ability = ALPHA if name == "alpha" else ratios
                needs.append(Need(words, ability, f", or give {name} as a number"))
    if params.get("scale", False) not in (False, "auto"):
        needs.append(Need(f"scale={params['scale']!r}", MATRIX))
    n = params["n_components"]
    if n is None or n == "mle" or isinstance(n, float):
        needs.append(Need(f"n_components={n!r}", MATRIX, ", or a whole number"))
    needs += estimator._needs
    if params.get("missing") == "available":
        needs.append(Need("missing='available'", PAIRWISE))
    if params.get("center") == "sequences":
        needs.append(Need("center='sequences'", PAIRWISE))
    if params.get("rank") is not None:
        needs.append(Need(f"rank={params['rank']!r}", MATRIX))
    if params.get("reversible") == "koopman" and params["criterion"] == "ratio":
        needs.append(Need(KOOPMAN, PAIRWISE))
    return needs


def lacking(solver: Solver, needs: list[Need]) -> list[Need]:
    """Return the needs for which a solver, with its parameters, has no ability."""
    without = solver.of_passes if solver.passes == 1 else ()
    return [n for n in needs if n.ability not in solver.abilities or n.ability in without]


def chosen_solver(
    estimator: BaseEstimator,
    n_features: int,
    n_rows: int | None,
    *calls: Need,
    sparse: bool = False,
) -> Solver:
    """Return the estimator's solver, or raise if it lacks a required ability.

    ``n_rows`` is None for rows that can be read only once. ``calls`` are further requirements, such
    as ``Need("partial_fit", "add")``.
    """
    needs = [*needs_of(estimator), *calls]
    abilities = {need.ability for need in needs}
    if calls and any(need.words == KOOPMAN for need in needs):
        raise ValueError(
            f"{KOOPMAN} reads the rows twice, so {calls[0].words} is not available. Use fit, or "
            "reversible=True."
        )
    solver = estimator.solver
    if isinstance(solver, str) and solver == "auto":
        of_classes = hasattr(estimator, "mixing") and estimator.scale in (True, "within")
        if of_classes or PAIRWISE in abilities:
            n_rows = None  # These form all matrices, also of few rows.
        kinds = list(SOLVERS.values())
        if sparse and n_features > SPARSE_COLUMNS and n_rows is not None:
            few = THIN * n_rows <= n_features
            kinds = kinds if few else [*kinds[1:], Dense]
        for kind in kinds:
            candidate = kind()
            if candidate.fits(n_features, n_rows) and not lacking(candidate, needs):
                return candidate
        sketch = bool(abilities & {RATIOS, ALPHA})
        raise ValueError(
            f"{needs[0].words if needs else 'solver=auto'} needs matrices of {n_features} x "
            f"{n_features}, which do not fit in memory. Use fewer columns, "
            f"{'solver=Sketch(passes=3), ' * sketch}or solver='dense' for at most "
            f"{n_features // THIN} rows."
        )
    solver = SOLVERS[solver]() if isinstance(solver, str) else solver
    solver._validate_params()
    for need in lacking(solver, needs):
        passes = "passes=2" if need.ability in (RATIOS, ALPHA) else ""
        able = [
            f"{kind.__name__}({passes if kind is Sketch else ''})"
            for kind in SOLVERS.values()
            if abilities <= kind.abilities
        ]
        raise ValueError(
            f"{need.words} is not supported by solver={solver.name!r}. "
            f"Use solver={' or '.join(able)}{need.otherwise}."
        )
    return cast(Solver, solver)
