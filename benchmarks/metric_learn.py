"""Letters to digits compared with metric-learn: time, risk, and one-example-per-class error.

metric-learn 0.7 does not run on scikit-learn 1.8 or newer, so this script makes a separate
environment once, with both pinned. ``python -m benchmarks metric_learn`` runs it there.
The training data are 4160 letters of 52 classes, the test data 500 digits, in 60 principal
components of gradient features, from EIGENSTREAM_DATA (letters.npz and mnist.npz).
"""

import os
import subprocess
import sys
import venv
from pathlib import Path
from time import perf_counter

from eigenstream import Kernel

PINNED = ("metric-learn==0.7.0", "scikit-learn>=1.6,<1.8")
HOME = Path(__file__).resolve().parent.parent
ENVIRONMENT = HOME / ".venv-metric-learn"
COMPONENTS, LETTERS, DIGITS = 60, 80, 50


def main() -> None:
    """Make the environment if it is missing, and print the table from inside it."""
    if not os.environ.get("EIGENSTREAM_DATA"):
        print("metric_learn: set EIGENSTREAM_DATA to the folder of letters.npz and mnist.npz")
        return
    python = ENVIRONMENT / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not (ENVIRONMENT / ".ready").exists():
        print(f"Making an environment with {' and '.join(PINNED)} ...", flush=True)
        venv.create(ENVIRONMENT, with_pip=True)
        command = [python, "-m", "pip", "install", "--quiet", *PINNED, str(HOME)]
        subprocess.run(command, check=True)
        (ENVIRONMENT / ".ready").touch()
    # As a module: run as a script, this file would stand before the package of its name.
    inside = os.environ | {"PYTHONPATH": f"{HOME / 'src'}{os.pathsep}{HOME}"}
    command = [python, "-m", "benchmarks.metric_learn", "--inside", *sys.argv[1:]]
    subprocess.run(command, check=True, env=inside, cwd=HOME)


def data():
    """Return letters, digits and their labels, in principal components of gradient features."""
    import numpy as np
    from sklearn.decomposition import PCA

    folder = Path(os.environ["EIGENSTREAM_DATA"])
    rng = np.random.default_rng(0)
    found = []
    for name, labels, per_class in (("letters", "labels", LETTERS), ("mnist", "labels", DIGITS)):
        file = np.load(folder / f"{name}.npz")
        names = file[labels]
        chosen = np.concatenate(
            [rng.choice(np.flatnonzero(names == c), per_class, False) for c in np.unique(names)]
        )
        found += [gradients(file["images"][chosen]), names[chosen]]
    letters, letter_names, digits, digit_names = found
    pca = PCA(COMPONENTS, random_state=0).fit(letters)
    return pca.transform(letters), letter_names, pca.transform(digits), digit_names


def gradients(images):
    """Return unit-norm histograms of gradient directions, 8 of them in 7 x 7 cells."""
    import numpy as np
    from scipy.ndimage import gaussian_filter

    smooth = gaussian_filter(images.astype(float), (0, 1, 1))
    down, right = np.gradient(smooth, axis=(1, 2))
    size, angle = np.hypot(down, right), np.arctan2(down, right) % (2 * np.pi)
    place = angle / (2 * np.pi) * 8
    cells = []
    for k in range(8):
        near = np.maximum(1 - np.abs((place - k + 4) % 8 - 4), 0) * size
        cells.append(near.reshape(len(images), 7, 4, 7, 4).sum(axis=(2, 4)))
    rows = np.sqrt(np.stack(cells, axis=1).reshape(len(images), -1))
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def inside() -> None:
    """Race the learners, in the pinned environment."""
    import warnings

    import numpy as np
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from threadpoolctl import threadpool_limits

    import metric_learn as ml
    from benchmarks._tools import show, store
    from eigenstream import ClassSubspace
    from eigenstream.evaluation import balanced_risk, one_shot_error

    warnings.simplefilter("ignore")
    X, y, T, t = data()
    codes = np.unique(y, return_inverse=True)[1]
    learners = {
        "raw": None,
        "ClassSubspace()": ClassSubspace(),
        "ClassSubspace(24, criterion='difference')": ClassSubspace(24, criterion="difference"),
        "ClassSubspace(24, solver=Kernel('rbf'))": ClassSubspace(24, solver=Kernel("rbf")),
        "ClassSubspace(24, shrinkage=0.1)": ClassSubspace(24, shrinkage=0.1),
        "LDA (scikit-learn)": LinearDiscriminantAnalysis(n_components=24),
        "RCA": ml.RCA_Supervised(n_components=24, n_chunks=1000, chunk_size=2, random_state=0),
        "LFDA": ml.LFDA(n_components=24),
        "ITML": ml.ITML_Supervised(n_constraints=2000, max_iter=200, random_state=0),
        "MMC (20 steps)": ml.MMC_Supervised(n_constraints=1000, max_iter=20, random_state=0),
        "NCA (30 steps)": ml.NCA(n_components=24, max_iter=30, random_state=0),
        "LMNN (50 steps)": ml.LMNN(n_components=24, n_neighbors=3, max_iter=50, random_state=0),
    }
    rows = []
    for name, learner in learners.items():
        start = perf_counter()
        try:
            with threadpool_limits(1):
                Z = T if learner is None else learner.fit(X, codes).transform(T)
        except Exception as failure:  # a peer's own troubles belong into the table
            rows.append([name, f"{perf_counter() - start:.1f}", type(failure).__name__, ""])
            continue
        seconds = perf_counter() - start
        risk, error = balanced_risk(Z, t).risk, one_shot_error(Z, t)
        rows.append([name, f"{seconds:.1f}", f"{risk:.3f}", f"{error:.3f}"])
        print(*rows[-1], flush=True)
    show(
        f"{len(X)} letters to {len(T)} digits, {COMPONENTS} components of gradient features",
        ["", "seconds to learn", "risk R", "1-NN error"],
        rows,
    )
    if "--store" in sys.argv:
        store("metric_learn")


if __name__ == "__main__":
    inside() if "--inside" in sys.argv else main()
