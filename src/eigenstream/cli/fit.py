"""``eigenstream fit``: learn from a user's own files."""

from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from eigenstream.cli import _data

app = typer.Typer(help="Learn from your own files: slow subspaces, principal components.")

Solver = Annotated[
    str, typer.Option(help="How to learn: auto, dense, krylov, flow, sketch, where it applies.")
]
Standardize = Annotated[
    bool, typer.Option("--standardize", help="Every column in units of its standard deviation.")
]
Seed = Annotated[int, typer.Option(help="Of what is random in some solvers.")]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="Save the model into this file (.eigs).", dir_okay=False),
]


@app.command("slow", epilog="Example: eigenstream fit slow runs/*.csv -d 10 -o model.eigs")
def fit_slow(
    data: _data.Data,
    d: Annotated[str, typer.Option("-d", "--d", help="How many features; all of them.")] = "2",
    alpha: Annotated[
        str,
        typer.Option(help="How much variance counts against slowness: auto, bound or in (0, 1]."),
    ] = "auto",
    lag: Annotated[int, typer.Option(help="The time step of the velocity, in rows.")] = 1,
    solver: Solver = "auto",
    standardize: Standardize = False,
    columns: _data.Columns = None,
    sequence: _data.Sequence = None,
    time: _data.Time = None,
    gap: _data.Gap = None,
    missing: _data.Missing = "raise",
    seed: Seed = 0,
    out: Out = None,
    json: _data.Json = False,
) -> None:
    """Find the slowest features of rows in time order."""
    from eigenstream import SlowSubspace

    estimator = SlowSubspace(
        _count(d, shares=False),
        alpha=_alpha(alpha),
        lag=lag,
        solver=solver,
        scale=standardize,
        random_state=seed,
    )
    stream = _opened(data, out, columns, sequence, time, gap, missing)
    _fit(estimator, stream, out, json)


@app.command("pca", epilog="Example: eigenstream fit pca table.parquet -d 0.95 -o model.eigs")
def fit_pca(
    data: _data.Data,
    d: Annotated[
        str, typer.Option("-d", "--d", help="How many components, a share as 0.95, or all.")
    ] = "2",
    solver: Solver = "auto",
    standardize: Standardize = False,
    columns: _data.Columns = None,
    sequence: _data.Sequence = None,
    time: _data.Time = None,
    gap: _data.Gap = None,
    missing: _data.Missing = "raise",
    seed: Seed = 0,
    out: Out = None,
    json: _data.Json = False,
) -> None:
    """Find the principal components of rows, in one pass."""
    from eigenstream import StreamPCA

    estimator = StreamPCA(
        _count(d, shares=True), solver=solver, scale=standardize, random_state=seed
    )
    stream = _opened(data, out, columns, sequence, time, gap, missing)
    _fit(estimator, stream, out, json)


def _count(text: str, shares: bool) -> Any:
    """Return how many components are asked for."""
    if text == "all":
        return None
    try:
        return int(text)
    except ValueError:
        pass
    try:
        if shares:
            return float(text)
    except ValueError:
        pass
    share = ", a share as 0.95" if shares else ""
    raise ValueError(f"-d must be a whole number{share} or all, got {text!r}.")


def _alpha(text: str) -> Any:
    if text in ("auto", "bound"):
        return text
    try:
        return float(text)
    except ValueError:
        raise ValueError(
            f"--alpha must be auto, bound or a number in (0, 1], got {text!r}."
        ) from None


def _opened(data: list[str], out: Path | None, *how: Any) -> Any:
    """Return the stream, once it is clear that the model can be written."""
    if out is not None:
        _data.check_output(out, data, (".eigs",))
    stream = _data.opened(data, *how)
    if out is not None:
        _data.check_output(out, list(stream.sources), (".eigs",))
    return stream


def _fit(estimator: Any, stream: Any, out: Path | None, json: bool) -> None:
    """Learn, save, and say what was found."""
    begun = perf_counter()
    with _data.warnings_in_one_line(), _data.Watched(stream) as watched:
        estimator.fit(watched)
    seconds = perf_counter() - begun
    if out is not None:
        _data.saved(estimator, out)
    found = {
        "sources": list(stream.sources),
        "rows": estimator.n_samples_seen_,
        "rows_skipped": estimator.n_samples_skipped_,
        "columns": estimator.n_features_in_,
        "solver": estimator.solver_,
        "eigenvalues": estimator.eigenvalues_,
        "alpha": getattr(estimator, "alpha_", None),
        "explained": getattr(estimator, "explained_variance_ratio_", None),
        "seconds": seconds,
        "model": None if out is None else str(out),
    }
    if json:
        _data.print_json(found)
        return
    skipped = found["rows_skipped"]
    facts = {
        "sources": _data.names_of(found["sources"]),
        "rows": f"{found['rows']:,}" + (f", {skipped:,} left out" if skipped else ""),
        "columns": str(found["columns"]),
        "solver": found["solver"],
        "time": f"{seconds:.2f} s, {found['rows'] / max(seconds, 1e-9):,.0f} rows a second",
    }
    if found["alpha"] is not None:
        facts["alpha"] = f"{found['alpha']:.6g}"
    if found["explained"] is not None:
        facts["explained"] = f"{100 * float(found['explained'].sum()):.1f} % of the variance"
    _data.print_facts(type(estimator).__name__, facts, found["eigenvalues"])
    print()
    print("Nothing was saved: -o model.eigs does." if out is None else f"The model is in {out}.")
