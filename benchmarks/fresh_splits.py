"""PairSubspace() on splits of classes that had no part in the choice of its selection rule.

The rule was chosen on the splits of seeds 0 to 39.
"""

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from benchmarks._tools import show
from benchmarks.defaults import mean_and_error
from benchmarks.families.labels_and_pairs import N_PAIRS, areas, data_sets
from eigenstream import PairSubspace, sample_pairs

SEEDS, NAMES = range(100, 104), ("wine", "letters", "orl_faces")


def main() -> None:
    """Show the ROC areas, and the lead over raw distance."""
    table = []
    for name, draw in data_sets():
        if name not in NAMES:
            continue
        scores = []
        for seed in SEEDS:
            X, y, *_ = split = draw(seed)
            index, signs = sample_pairs(y, N_PAIRS, random_state=seed)
            ours = PairSubspace(preprocessor=X).fit(index, signs)
            lda = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto").fit(X, y)
            maps = {"ours": ours.transform, "raw": np.asarray, "LDA": lda.transform}
            scores.append(list(areas(split, maps).values()))
        ours, raw, lda = np.array(scores).T
        lead, error = mean_and_error(ours - raw)
        means = [f"{values.mean():.3f}" for values in (ours, raw, lda)]
        table.append([name, *means, f"{lead:+.3f} ± {error:.3f}"])
    show(
        f"ROC area from {N_PAIRS} pairs, fresh splits (seeds {SEEDS[0]} to {SEEDS[-1]})",
        ["", "PairSubspace()", "raw", "LDA (with labels)", "lead over raw"],
        table,
    )
