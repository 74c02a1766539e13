"""Make the pictures of the README and of these pages: ``python docs/pictures.py [name ...]``."""

import re
import sys
from contextlib import nullcontext, suppress
from doctest import DocTestParser
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot
from matplotlib.figure import Figure
from PIL import Image

from eigenstream import (
    PairSubspace,
    SlowSubspace,
    demo,
    lag_path,
    plotting,
)
from eigenstream.plotting import canvas
from eigenstream.processes import Autoregressive, letter_set
from eigenstream.theory import Geometric, Independent, MixingProfile

ROOT = Path(__file__).parents[1]
HERE = ROOT / "docs" / "pictures"
SOFT = "#5d6672"


def save(figure: Figure, name: str) -> None:
    """Save a figure as a small PNG: pictures travel with every clone of the repository."""
    out = BytesIO()
    figure.savefig(out, format="png", dpi=130, facecolor="white")
    HERE.mkdir(exist_ok=True)
    Image.open(out).convert("RGB").quantize(256).save(HERE / f"{name}.png", optimize=True)
    print(f"{HERE / name}.png")


def strip(figure: Figure, images: np.ndarray, row: float, height: float, title: str) -> None:
    """Draw small images side by side across a figure."""
    figure.text(0.02, row + height + 0.012, title, fontsize=10, color=SOFT)
    count = len(images)
    for k, image in enumerate(images):
        ax = figure.add_axes((0.02 + 0.96 * k / count, row, 0.96 / count * 0.94, height))
        ax.imshow(image, cmap="gray", interpolation="nearest")
        ax.set(xticks=[], yticks=[])
        ax.spines[["top", "right", "left", "bottom"]].set_color("#cccccc")


def make_demo() -> None:
    """Draw the views, the filters and the test digits of the demo."""
    found = demo.run()
    figure = Figure(figsize=(8.4, 7.0))
    views = plotting.gray(found.watched[:10], demo.SIZE)
    filters = plotting.signed(found.slow.components_, demo.SIZE)
    strip(figure, views, 0.855, 0.106, "It watches a window turn over a page of letters …")
    strip(figure, filters, 0.69, 0.106, "… learns ten slow features, without labels …")
    figure.text(
        0.02, 0.635, "… and digits never seen, at any angle, come apart:", fontsize=10, color=SOFT
    )
    for left, learned, name in ((0.04, found.pca, "PCA"), (0.54, found.slow, "slow subspace")):
        ax = figure.add_axes((left, 0.045, 0.44, 0.545))
        plotting.embedding(learned.transform(found.digits), found.labels, ax=ax)
        judged = found.judged[name]
        ax.set(xlabel="", ylabel="")
        ax.spines[["top", "right", "left", "bottom"]].set_color("#cccccc")
        ax.set_title(
            f"{name}: ROC area {judged.area:.3f}, 1-NN error {judged.error:.3f}", fontsize=10
        )
    save(figure, "demo")


def make_theory() -> None:
    """The bound against the number of rows, and what each alpha gives on slow sources."""
    figure = Figure(figsize=(8.8, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    profiles: dict[str, MixingProfile] = {"independent": Independent()}
    profiles |= {
        f"forgets {100 * (1 - rho):.2g}% a step": Geometric(1, rho) for rho in (0.9, 0.99, 0.999)
    }
    plotting.bounds(profiles, 10, ax=left)
    rows = Autoregressive((0.99, 0.95, 0.9, 0.5, 0.3, 0.1), random_state=0).take(20_000)
    path = SlowSubspace(3).fit(rows).path(np.geomspace(0.005, 1, 200))
    plotting.alphas(path, ax=right)
    for ax in (left, right):
        ax.grid(True, alpha=0.15)
        ax.spines[["top", "right"]].set_visible(False)
    save(figure, "theory")


def make_lags() -> None:
    """Time scales of three sources behind noise, measured with several lags."""
    scales = np.array([50.0, 10.0, 2.0])
    process = Autoregressive(np.exp(-1 / scales), n_features=6, noise=0.05, random_state=0)
    lags = (1, 2, 3, 5, 7, 10, 15, 20, 30, 40)
    path = lag_path(SlowSubspace(3, criterion="ratio"), process.take(100_000), lags)
    figure = Figure(figsize=(5.6, 3.8), layout="constrained")
    ax = plotting.lags(path, ax=figure.add_subplot())
    for scale in scales:
        ax.axhline(scale, color="#8a8f98", lw=1, ls=":")
    ax.spines[["top", "right"]].set_visible(False)
    save(figure, "lags")


def make_rings() -> None:
    """Turned letters, and what a linear projection learned from pairs of them looks at."""
    letters, names = letter_set("rotation", random_state=0)
    sys.path.insert(0, str(ROOT))
    from papers.hpca import rings_of

    vectors, n, found = rings_of(letters, names, 0.019)
    shown = np.random.default_rng(0).choice(len(letters), 10, replace=False)
    rows = (
        (plotting.gray(letters[shown], demo.SIZE), None, "From which letters are the same …"),
        (
            plotting.signed(vectors[:10], demo.SIZE),
            found[:10],
            "… it learns to look at rings: what stays when a letter turns …",
        ),
        (
            plotting.signed(vectors[n : n + 10], demo.SIZE),
            found[n : n + 10],
            "… and not at the rest (the first eigenvectors with negative eigenvalues)",
        ),
    )
    figure = Figure(figsize=(8.4, 3.7))
    for k, (images, shares, title) in enumerate(rows):
        low = (0.69, 0.37, 0.05)[k]
        strip(figure, images, low, 0.205, title)
        for i, share in enumerate([] if shares is None else shares):
            middle = 0.02 + 0.96 * (i + 0.47) / 10
            text = f"{100 * share:.0f}%"
            figure.text(middle, low - 0.045, text, fontsize=8, color=SOFT, ha="center")
    save(figure, "rings")


def make_objects() -> None:
    """Frames of the films of turning objects, and what pairs of near frames teach."""
    sys.path.insert(0, str(ROOT))
    from papers.film import temporal_pairs
    from papers.objects import SIZE, film, random_object

    rng, rows = np.random.default_rng(0), []
    objects = [random_object(rng) for _ in range(36)]
    for motion, title in (("turntable", "On a turntable"), ("any axis", "About any axis")):
        frames, _ = film(objects, 8000, motion, np.random.SeedSequence(0))
        learner = PairSubspace(10, criterion="difference", preprocessor=frames)
        filters = learner.fit(*temporal_pairs(len(frames), 0)).components_
        rows.append((plotting.gray(frames[:50:5], SIZE), f"{title}: every fifth frame"))
        rows.append((plotting.signed(filters, SIZE), "Weights of the learned features"))
    figure = Figure(figsize=(8.4, 4.6))
    for k, (images, title) in enumerate(rows):
        strip(figure, images, 0.765 - 0.25 * k, 0.175, title)
    save(figure, "objects")


#: The page of several estimators that share a box.
NEURONS = "../explanation/neurons.html"

#: The tree of ``which-estimator``: for each kind of data, an estimator for each goal.
CHOICES = {
    "rows in\ntime order": {
        "what changes slowly": "SlowSubspace",
        "oscillations, forecasts": "DynamicSubspace",
        "alarms when rows change": "Monitor",
    },
    "rows in\nany order": {
        "what varies most": "StreamPCA",
        "what varies here and not there": "ContrastSubspace",
        "clusters": "CompetitiveLearning",
        "a map in two dimensions": "SelfOrganizingMap",
    },
    "rows with\nclass labels": {
        "a distance for new classes": "ClassSubspace",
        "predictions, one row at a time": "Perceptron, Adaline,\nMultilayerPerceptron",
    },
    "pairs, alike\nor not": {"a distance for new pairs": "PairSubspace"},
}


def make_which_estimator() -> None:
    """A tree from kinds of data over goals to estimators, which link their pages."""
    ax = plotting.axes(8.4, 5.8)
    rows = sum(map(len, CHOICES.values()))
    ax.set(xlim=(0, 10), ylim=(rows - 0.3, -1.2))
    ax.axis("off")
    heads = ((0.2, "You have ..."), (2.9, "You want ..."), (7.2, "Use"))
    for x, text in heads:
        ax.text(x, -0.85, text, fontsize=12, color=canvas.GREY, va="center")
    line = 0
    for data, goals in CHOICES.items():
        middle = line + (len(goals) - 1) / 2
        box = {"boxstyle": "round,pad=0.5", "facecolor": "none", "edgecolor": canvas.GREY}
        ax.text(0.25, middle, data, fontsize=11, color=canvas.INK, va="center", bbox=box)
        for goal, estimator in goals.items():
            ax.plot((1.9, 2.3, 2.75), (middle, line, line), color=canvas.GREY, lw=1.2)
            ax.text(2.9, line, goal, fontsize=11, color=canvas.INK, va="center")
            ax.plot((6.4, 7.0), (line, line), color=canvas.GREY, lw=1.2)
            named = {"boxstyle": "round,pad=0.4", "facecolor": "#0072b2", "edgecolor": "none"}
            drawn = ax.text(
                7.2, line, estimator, fontsize=11, va="center", color="white", bbox=named
            )
            page = f"../reference/generated/eigenstream.{estimator}.html"
            drawn.set_url(NEURONS if "," in estimator else page)
            line += 1
    (HERE / "which-estimator.html").write_text(
        f'<div class="choices">{plotting.svg(ax, "choices")}</div>\n', encoding="utf-8"
    )


#: Pages whose code draws their pictures.
DRAWN = (
    *sorted((ROOT / "docs" / "tutorials").glob("*.md")),
    ROOT / "docs/how-to/maps.md",
    ROOT / "docs/recipes/embeddings.md",
)


def make_pages() -> None:
    """Run pages with pictures, and save the figure of the code below each picture."""
    for page in DRAWN:
        text, names = page.read_text(encoding="utf-8"), dict[str, Any]()
        if "](../pictures/" in text:
            below = re.split(r"^!\[.*\]\(\.\./pictures/(.*)\.png\)$", text, flags=re.M)
            run(below[0], names)
            for name, part in zip(below[1::2], below[2::2], strict=True):
                code, end, rest = part.partition("\n```\n")
                run(code + end, names)
                save(pyplot.gcf(), name)
                pyplot.close("all")
                run(rest, names)


def run(text: str, names: dict[str, Any]) -> None:
    """Run the examples of a text, also those that must raise; their variables are ``names``."""
    for example in DocTestParser().get_examples(text):
        with nullcontext() if example.exc_msg is None else suppress(Exception):
            exec(example.source, names)


def make_home() -> None:
    """Draw the sensors of the home page, and the slow feature that its lines of code learn."""
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    run(text, names)
    X, feature, drift = names["X"], names["feature"][:, 0], names["drift"]
    feature = feature * np.sign(np.corrcoef(feature, drift)[0, 1])
    figure = Figure(figsize=(8.4, 3.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    for k in range(6):
        left.plot(X[::20, k] / X[:, k].std() - 6 * k, color="#8a8f98", lw=0.4)
    left.set(yticks=-6 * np.arange(6), yticklabels=[f"sensor {k}" for k in range(6)])
    left.set_title("six sensors", loc="left", color=SOFT)
    right.plot(feature[::20] / feature.std(), color="#0072b2", lw=2.4, label="slow feature")
    right.plot(drift[::20] / drift.std(), color="#2b2f36", lw=0.8, label="hidden drift")
    right.set(ylim=(-1.6, 2.2))
    right.set_title("the drift that they hide", loc="left", color=SOFT)
    right.legend(loc="upper right", frameon=False, ncols=2)
    for ax in (left, right):
        ax.set(xticks=[], xlabel="time")
        ax.spines[["top", "right"]].set_visible(False)
    save(figure, "home")


PICTURES = {
    "home": make_home,
    "demo": make_demo,
    "rings": make_rings,
    "objects": make_objects,
    "theory": make_theory,
    "lags": make_lags,
    "pages": make_pages,
    "which-estimator": make_which_estimator,
}


def main() -> None:
    """Make the pictures named on the command line, or all."""
    for name in sys.argv[1:] or PICTURES:
        if name not in PICTURES:
            sys.exit(f"there is no picture {name!r}; known: {', '.join(PICTURES)}")
        PICTURES[name]()


if __name__ == "__main__":
    main()
