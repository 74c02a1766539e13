"""The number of principal components: above chance on the other half, Minka's, and Kaiser's.

The test is that of ``result_.held_out``. A number of components is good if probabilistic PCA gives
other rows a high likelihood.
"""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.signal import lfilter
from sklearn.datasets import load_breast_cancer, load_digits

from benchmarks._tools import distances, rate_and_error, show, stored_data
from eigenstream import StreamPCA

#: Draws of each kind, and their seed: no draw of this seed has chosen the rule.
DRAWS, SEED, OTHER_ROWS = 100, 20261129, 2000

#: Numbers of components are selected in one of this number of draws.
SELECTED = 5

#: Rows, columns, variances of the components, and options of the noise.
KINDS: dict[str, tuple[int, int, list[float], dict[str, Any]]] = {
    "noise": (400, 40, [], {}),
    "noise, wide": (60, 200, [], {}),
    "noise in time": (600, 20, [], {"factor": 0.9}),
    "5 strong": (200, 50, [10, 8, 6, 5, 4], {}),
    "5 weak": (500, 100, [3, 2.5, 2, 1.5, 1.2], {}),
    "3, fewer rows than columns": (60, 200, [40, 30, 20], {}),
    "4, heavy tails": (500, 40, [8, 6, 4, 3], {"tails": 5}),
    "4 in time": (600, 20, [8, 6, 4, 3], {"factor": 0.9}),
    "10, many rows": (5000, 20, list(np.geomspace(10, 0.3, 10)), {}),
    "3, unequal noise": (400, 30, [8, 6, 4], {"deviations": np.linspace(0.5, 1.5, 30)}),
}


def draw(
    rng: Any,
    n: int,
    width: int,
    variances: list[float],
    *,
    factor: float = 0.0,
    tails: int = 0,
    deviations: Any = 1.0,
) -> Any:
    """Return rows of components of some variances and noise, in time with a ``factor``."""
    directions = np.linalg.qr(rng.standard_normal((width, width)))[0][:, : len(variances)]
    features, noise = rng.standard_normal((n, len(variances))), rng.standard_normal((n, width))
    if tails:
        noise = rng.standard_t(tails, (n, width)) / np.sqrt(tails / (tails - 2))
    if factor:
        gain = np.sqrt(1.0 - factor**2)
        features, noise = (lfilter([gain], [1.0, -factor], x, axis=0) for x in (features, noise))
    return features * np.sqrt(variances) @ directions.T + noise * deviations


def real_sets() -> Iterator[tuple[str, Any, Any]]:
    """Yield real rows to learn from and other ones; those of time series are later ones."""
    rng = np.random.default_rng(SEED)
    for name, rows in (("digits", load_digits().data), ("cells", load_breast_cancer().data)):
        rows = rows[:, rows.std(axis=0) > 0.2 * rows.std()] if name == "digits" else rows
        rows = rng.permutation(rows / rows.std(axis=0))
        yield name, rows[: len(rows) // 2], rows[len(rows) // 2 :]
    if weather := stored_data("nyc_weather"):
        rows = weather["values"][0]
        rows = rows[:, np.isfinite(rows).mean(axis=0) > 0.9]
        rows = rows[np.isfinite(rows).all(axis=1)]
        rows = rows / rows.std(axis=0)
        yield "weather", rows[: len(rows) // 2], rows[len(rows) // 2 :]
    if molecule := stored_data("alanine_dipeptide"):
        runs = distances(molecule["xyz_pm"][:, :, molecule["elements"] != "H"] / 1000.0)
        yield "alanine", np.concatenate(runs[:4]), np.concatenate(runs[30:])


def held_out(rows: Any) -> float:
    """Return the number of first components that are all above chance, and at least one."""
    chance = StreamPCA(min(len(rows) // 2, rows.shape[1])).fit(rows).result_.held_out.chance
    return max(float(np.argmax(chance)) if chance.any() else float(len(chance)), 1.0)


def likeliest(rows: Any) -> float:
    """Return Minka's number of components, or NaN for fewer rows than columns."""
    if len(rows) < rows.shape[1]:
        return np.nan
    return float(len(StreamPCA("mle").fit(rows).components_))


def kaiser(rows: Any) -> float:
    """Return the number of eigenvalues of the correlation matrix that exceed 1."""
    return float((np.linalg.eigvalsh(np.corrcoef(rows.T)) > 1.0 + 1e-9).sum())


RULES = {"held-out": held_out, '"mle"': likeliest, "Kaiser": kaiser}


def losses(rows: Any, others: Any) -> Any:
    """Return how much less likely other rows are than with the best number of components."""
    model = StreamPCA(min(len(rows) - 2, rows.shape[1] - 1)).fit(rows)
    values, width = model.eigenvalues_, rows.shape[1]
    squares = ((others - model.mean_) ** 2).sum(axis=1).mean()
    inside = (model.transform(others) ** 2).mean(axis=0)
    n = np.arange(1, len(values) + 1)
    noise = (model.result_.total - np.cumsum(values)) / (width - n)
    loss = np.cumsum(np.log(values) + inside / values) + (width - n) * np.log(noise)
    loss += (squares - np.cumsum(inside)) / noise
    return 0.5 * (loss - loss.min())


def loss_of(number: float, loss: Any) -> float:
    """Return the loss of a number of components, NaN for a rule that raises."""
    return np.nan if np.isnan(number) else float(loss[min(int(number), len(loss)) - 1])


def cells(numbers: list[float], lost: list[float]) -> list[str]:
    """Return the median of numbers of components and the mean loss."""
    if np.isnan(numbers).any():
        return ["raises", "raises"]
    return [f"{np.median(numbers):.0f}", f"{np.mean(lost):.3f}"]


def rate(above: Any) -> str:
    """Return the share of components above chance with its standard error."""
    if not above.size:
        return "-"
    return rate_and_error(above.mean(), DRAWS)


def main() -> None:
    """Print the rates of the test, and the numbers of components that three rules select."""
    warnings.simplefilter("ignore")
    rates, table = [], []
    for k, (name, (n, width, variances, options)) in enumerate(KINDS.items()):
        chosen: dict[str, list[float]] = {rule: [] for rule in RULES}
        lost: dict[str, list[float]] = {rule: [] for rule in RULES}
        true, tests = len(variances), []
        for seed in range(DRAWS):
            rng = np.random.default_rng((SEED, k, seed))
            rows = draw(rng, n + OTHER_ROWS, width, variances, **options)
            rows, others = rows[:n], rows[n:]
            tests.append(~StreamPCA(true + 2).fit(rows).result_.held_out.chance)
            if seed % SELECTED:
                continue
            loss = losses(rows, others)
            for rule, count in RULES.items():
                chosen[rule].append(count(rows))
                lost[rule].append(loss_of(chosen[rule][-1], loss))
        above = np.array(tests)
        rates.append([name, str(n), str(width), rate(above[:, :true]), rate(above[:, true:])])
        each = [cell for rule in RULES for cell in cells(chosen[rule], lost[rule])]
        table.append([name, str(true), *each])
    for name, rows, others in real_sets():
        loss = losses(rows, others)
        numbers = [count(rows) for count in RULES.values()]
        each = [cell for number in numbers for cell in cells([number], [loss_of(number, loss)])]
        table.append([f"{name}, {len(rows)} x {rows.shape[1]}", "-", *each])
    show("Components above chance", ["rows", "n", "columns", "real", "the next two"], rates)
    columns = [f"{rule}{kind}" for rule in RULES for kind in ("", ", loss")]
    show("Selected numbers of components, and their losses", ["rows", "true", *columns], table)


if __name__ == "__main__":
    main()
