"""The eigenvalues: which were kept and why, how slow the features are, what alpha does."""

from typing import Any

import numpy as np

from eigenstream import plotting
from eigenstream._linalg import Float64s
from eigenstream.reports.base import Drawing, PageTable, Section

#: All eigenvalues of a wider matrix would take longer than the page is worth.
WIDEST = 2000
#: The path over alpha solves so many times for so many columns, in all about this much.
PATH_WORK = 2e9
#: Components in a table.
MOST_LISTED = 12


def known(estimator: Any, name: str) -> Any:
    """Return an attribute of what has been learned, or None where this kind has none."""
    return getattr(estimator, name, None)


def section(estimator: Any) -> Section:
    """Return what is known of the eigenvalues."""
    blocks: list[Any] = []
    values, every = all_eigenvalues(estimator)
    if values is not None:
        ax = drawn(estimator, values)
        caption = "All eigenvalues, those of the components in colour."
        if not every:
            caption = "The eigenvalues of the components; others were not computed."
        blocks.append(Drawing(plotting.svg(ax, "spectrum"), "The spectrum", caption))
        others = weights(estimator)
        # Two to a line: the spectrum, and beside it what other weights do, or the table.
        blocks += [*others, table(estimator, wide=bool(others))]
    return Section("What was kept, and why", reason(estimator), blocks)


def drawn(estimator: Any, values: Float64s, ax: Any = None) -> Any:
    """Draw the eigenvalues, with what they are of this estimator."""
    ax = plotting.spectrum(values, len(estimator.eigenvalues_), ax=ax)
    if known(estimator, "criterion") == "ratio":
        ax.set_ylabel("ratio of the two scatters")
    elif known(estimator, "explained_variance_ratio_") is not None:
        ax.set_ylabel("variance along the component")
    return ax


def all_eigenvalues(estimator: Any) -> tuple[Float64s | None, bool]:
    """Return the eigenvalues to draw, and whether these are all."""
    found = known(estimator, "eigenvalues_")
    if found is None:
        return None, False
    contrast = known(estimator, "contrast_")
    by_ratio = known(estimator, "criterion") == "ratio"
    if contrast is None or by_ratio or contrast.n_features > WIDEST:
        return np.asarray(found), False
    return np.asarray(np.linalg.eigvalsh(contrast.matrix())), True


def reason(estimator: Any) -> str:
    """Say in words how many components there are, and why so many."""
    if known(estimator, "eigenvalues_") is None:
        rank = len(estimator.components_)
        return f"The learned metric has rank {rank}: so many components make the distance."
    kept, wanted = len(estimator.eigenvalues_), estimator.n_components
    name = "component" if kept == 1 else "components"
    share = known(estimator, "explained_variance_ratio_")
    positive = known(estimator, "n_positive_")
    if isinstance(wanted, float):
        why = f"{kept} {name} are the fewest that have {wanted:.0%} of the variance."
    elif wanted is None:
        rule = "have any variance" if share is not None else "raise the objective"
        why = f"All {kept} directions that {rule} were kept (n_components=None)."
    else:
        why = f"n_components={wanted} asked for {kept} {name}."
        if kept < wanted:
            why = f"n_components={wanted} was asked for, and {kept} raise the objective."
    if share is not None:
        why += f" They have {100 * float(np.sum(share)):.1f} % of the variance."
    elif positive is not None and known(estimator, "criterion") != "ratio":
        why += (
            f" {positive} of the eigenvalues known are positive: directions that are rewarded "
            "more than penalised."
        )
    return why + _weight_in_words(estimator)


def _weight_in_words(estimator: Any) -> str:
    """Say which weight is in use and who chose it."""
    for name, what in (("alpha", "the variance against the velocity"), ("eta", "unlike pairs")):
        value, given = known(estimator, f"{name}_"), known(estimator, name)
        if value is None:
            continue
        chosen = f"chosen from the data ({name}={given!r})" if isinstance(given, str) else "given"
        if isinstance(given, list | tuple):
            chosen = "chosen from those given"
        return f" The weight of {what}, {name} = {value:.4g}, was {chosen}."
    return ""


def table(estimator: Any, wide: bool) -> PageTable:
    """Return a row for each component, of what this kind knows about it."""
    values = np.asarray(estimator.eigenvalues_)
    header, columns = ["component", "eigenvalue"], [[f"{value:.5g}" for value in values]]
    notes = []
    share = known(estimator, "explained_variance_ratio_")
    if share is not None:
        header += ["share of the variance", "all up to it"]
        columns += [[f"{100 * one:.2f} %" for one in row] for row in (share, np.cumsum(share))]
    rho = known(estimator, "autocorrelations_")
    if rho is not None:
        lag = estimator.lag
        header += [f"rho at lag {lag}", "time scale, rows"]
        columns.append([f"{one:.4f}" for one in rho])
        columns.append([_rows(one) for one in estimator.timescales_])
        notes.append(
            "rho: the autocorrelation. Time scale: after so many rows a feature has forgotten all "
            f"but 1/e of what it was, if it forgets at one rate: −{lag} / log(rho). 0: within "
            "the lag."
        )
    if len(values) > MOST_LISTED:
        notes.append(f"The first {MOST_LISTED} of {len(values)}.")
    rows = list(zip(map(str, range(1, len(values) + 1)), *columns, strict=True))
    return PageTable(header, rows[:MOST_LISTED], caption=" ".join(notes), wide=wide)


def _rows(scale: float) -> str:
    return "no end" if np.isinf(scale) else f"{scale:,.1f}" if scale < 1000 else f"{scale:,.0f}"


def alphas(estimator: Any) -> Any:
    """Return the path over alpha where the scatters are there and it is no long work; else None."""
    contrast = known(estimator, "contrast_")
    if known(estimator, "alpha_") is None or contrast is None:
        return None
    count = int(np.clip(PATH_WORK / contrast.n_features**3, 0, 60))
    return None if count < 8 else estimator.path(np.linspace(1.0 / count, 1.0, count))


def weights(estimator: Any) -> list[Any]:
    """Return a drawing of what other weights would give, where one pass serves them all."""
    found = alphas(estimator)
    if found is not None:
        return [
            Drawing(
                plotting.svg(plotting.alphas(found), "alphas"),
                "What alpha does",
                "One pass serves every alpha, since variance and velocity do not depend on it. At "
                "1 it is PCA. Eigenvalues and their sum L relative to the largest L; “auto” is a "
                "step above the smallest alpha at which all components raise the objective. The "
                "error bound is that of Theorem 5, least at “bound”; from 1 on it says nothing.",
            )
        ]
    choice = known(estimator, "eta_choice_")
    if choice is not None:
        rows = [
            (f"{eta:.4g}", f"{loss:.4f}")
            for eta, loss in zip(choice.etas, choice.losses, strict=True)
        ]
        best = int(np.argmin(np.abs(np.asarray(choice.etas) - choice.eta)))
        caption = "The weights of unlike pairs that were tried, with the mean loss of each."
        return [PageTable(("eta", "loss"), rows, frozenset({best}), caption, wide=False)]
    return []
