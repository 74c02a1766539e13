"""Make the pictures of the README and of these pages: ``python docs/pictures.py [name ...]``."""

import sys
from doctest import DocTestParser
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from eigenstream import (
    PairSubspace,
    SelfOrganizingMap,
    SlowSubspace,
    StreamPCA,
    demo,
    lag_path,
    plotting,
)
from eigenstream.processes import Autoregressive, letter_set
from eigenstream.theory import Geometric, Independent, MixingProfile

ROOT = Path(__file__).parents[1]
HERE = ROOT / "docs" / "pictures"
SOFT = "#5d6672"
#: Colours of bars: two plain alternatives, then ours.
BARS = ("#c3c8cf", "#8a8f98", "#0072b2")


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
    path = SlowSubspace(3).fit(rows).path(np.linspace(0.005, 1, 200))
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
    """A tree from kinds of data over goals to estimators."""
    figure = Figure(figsize=(8.4, 5.8))
    ax = figure.add_axes((0, 0, 1, 1))
    rows = sum(map(len, CHOICES.values()))
    ax.set(xlim=(0, 10), ylim=(rows - 0.3, -1.2))
    ax.axis("off")
    heads = ((0.2, "You have ..."), (2.9, "You want ..."), (7.2, "Use"))
    for x, text in heads:
        ax.text(x, -0.85, text, fontsize=12, color=SOFT, va="center")
    line = 0
    for data, goals in CHOICES.items():
        middle = line + (len(goals) - 1) / 2
        box = {"boxstyle": "round,pad=0.5", "facecolor": "#eef3f7", "edgecolor": "#c4d0da"}
        ax.text(0.25, middle, data, fontsize=11, va="center", bbox=box, zorder=3)
        for goal, estimator in goals.items():
            ax.plot((1.0, 2.1, 2.75), (middle, line, line), color="#9aa7b3", lw=1.2)
            ax.text(2.9, line, goal, fontsize=11, va="center")
            ax.plot((6.2, 7.0), (line, line), color="#9aa7b3", lw=1.2)
            named = {"boxstyle": "round,pad=0.4", "facecolor": "#0072b2", "edgecolor": "none"}
            ax.text(7.2, line, estimator, fontsize=11, va="center", color="white", bbox=named)
            line += 1
    save(figure, "which-estimator")


def draw_drift(left: Any, right: Any, names: dict[str, Any]) -> None:
    """Draw the drift behind the slow feature, and time scales against the lag."""
    shown = slice(0, 4000)
    drift, feature = names["drift"], names["feature"]
    feature = feature * np.sign(np.corrcoef(feature, drift)[0, 1])
    left.plot(feature[shown] / feature.std(), color="#0072b2", lw=0.8, label="slow feature")
    left.plot(drift[shown] / drift.std(), color="#2b2f36", lw=1.4, label="hidden drift")
    left.set(xlabel="row", ylabel="in standard deviations")
    left.legend(loc="lower right", frameon=False)
    plotting.lags(names["path"], ax=right)


def draw_molecule(left: Any, right: Any, names: dict[str, Any]) -> None:
    """Draw the first component and the slow feature of each frame against psi."""
    degrees = np.degrees(np.angle(np.exp(1j * names["psi"])))
    for ax, model, title in (
        (left, StreamPCA(1), "first principal component"),
        (right, names["tica"], "slow feature"),
    ):
        feature = model.fit(names["runs"]).transform(names["X"])[:, 0]
        ax.hexbin(degrees, feature, gridsize=60, bins="log", cmap="GnBu", mincnt=1, linewidths=0)
        ax.set(xlabel="psi, degrees", title=title, xticks=range(-180, 181, 90))


def draw_plateau(left: Any, right: Any, names: dict[str, Any]) -> None:
    """Draw overlaps against time, of theory and learner, and how far the prototypes separate."""
    plotting.overlaps(names["course"], names["recorded"], ax=left)
    left.set(xlabel="examples / N")
    for found, style in ((names["course"], "-"), (names["recorded"], "o")):
        right.plot(found.t, abs(found.R[:, 0, 0] - found.R[:, 0, 1]), style, color="#0072b2")
    right.set(xlabel="examples / N", ylabel="separation")


def draw_sunspots(left: Any, right: Any, names: dict[str, Any]) -> None:
    """Draw the eigenvalues with their intervals, and the shares of variance that are predicted."""
    plotting.propagator(names["bars"], ax=left)
    years = list(names["scores"])
    model, present = np.transpose(list(names["scores"].values()))
    right.plot(years, model, "o-", color="#0072b2", label="DynamicSubspace")
    right.plot(years, np.maximum(present, -0.5), "o:", color="#d55e00", label="the present value")
    right.axhline(0.0, color="#2b2f36", lw=0.6)
    right.set(xlabel="years ahead", ylabel="share predicted", ylim=(-0.55, 1.0))
    right.legend(frameon=False)


def draw_climate(left: Any, right: Any, names: dict[str, Any]) -> None:
    """Draw the map of the slow feature, and the feature with the hidden series."""
    pattern, feature, hidden = names["pattern"], names["feature"], names["series"][0]
    sign = np.sign(np.corrcoef(feature, hidden)[0, 1])
    top = float(abs(pattern).max())
    left.set_facecolor("#d5d8dc")
    left.pcolormesh(
        pattern.lon, pattern.lat, sign * pattern, cmap="RdBu_r", vmin=-top, vmax=top, shading="auto"
    )
    left.set(xlabel="longitude", ylabel="latitude", title="pattern of the slow feature")
    right.plot(feature.time, sign * feature / feature.std(), color="#0072b2", label="slow feature")
    right.plot(hidden.time, hidden / hidden.std(), color="#2b2f36", lw=0.8, label="hidden series")
    right.set(xlabel="year", ylabel="standard deviations")
    right.legend(frameon=False)


def draw_cells(left: Any, right: Any, names: dict[str, Any]) -> None:
    """Draw treated cells by the cycle and two features, coloured by their response."""
    treated, cycle, response = names["treated"], names["cycle"][:3000], names["response"]
    for ax, name in ((left, "X_pca"), (right, "X_contrast")):
        for kind, colour in enumerate(("#8a8f98", "#d55e00")):
            rows = response == kind
            label = ("no response", "response")[kind]
            feature = treated.obsm[name][rows, 0]
            ax.plot(cycle[rows], feature, ".", ms=2, color=colour, label=label)
        ax.set(xlabel="cell cycle")
    left.set(title="first principal component", ylabel="feature")
    right.set(title="contrast with the control")
    right.legend(frameon=False, markerscale=4)


#: Drawings of the variables of a tutorial.
TUTORIALS = {
    "sensor-drift": draw_drift,
    "molecule": draw_molecule,
    "plateaus": draw_plateau,
    "sunspots": draw_sunspots,
    "climate-patterns": draw_climate,
    "single-cells": draw_cells,
}


def draw_probe(figure: Figure, names: dict[str, Any]) -> None:
    """Draw rows of the plane, and the variance along each direction."""
    left, right = figure.subplots(1, 2)
    left.plot(*names["plane"][:800].T, ".", ms=2, color="#8a8f98")
    for row, value, colour in zip(
        names["pca"].components_, names["pca"].eigenvalues_, ("#d55e00", "#0072b2"), strict=True
    ):
        end = 2 * np.sqrt(value) * row
        left.plot([-end[0], end[0]], [-end[1], end[1]], color=colour, lw=2)
    left.set(aspect="equal")
    right.plot(np.arange(180), names["psi"], color="#2b2f36")
    for value, colour in zip(names["pca"].eigenvalues_, ("#d55e00", "#0072b2"), strict=True):
        right.axhline(value, color=colour, ls=":")
    right.set(xlabel="direction of q, degrees", ylabel="variance along q")


def draw_coding(figure: Figure, names: dict[str, Any]) -> None:
    """Draw digits, and their reconstructions from ten and thirty components."""
    digits = names["digits"][:10]
    more = StreamPCA(30).fit(names["digits"])
    both = [names["decoded"][:10], more.inverse_transform(more.transform(digits))]
    rows = {"digits": digits, "10 numbers": both[0], "30 numbers": both[1]}
    for place, (title, images) in enumerate(rows.items()):
        ax = figure.add_subplot(3, 1, place + 1)
        ax.imshow(np.hstack(images.reshape(-1, 8, 8)), cmap="gray_r", vmin=0, vmax=16)
        ax.set(xticks=[], yticks=[], ylabel=title)
        ax.yaxis.label.set(rotation=0, ha="right", va="center")


def draw_lengths(figure: Figure, names: dict[str, Any]) -> None:
    """Draw the length of the weights under two rules, and their angle to the first component."""
    left, right = figure.subplots(1, 2)
    for name, label, colour in (("hebb", "Hebb", "#d55e00"), ("oja", "Oja", "#0072b2")):
        history = names[name].history_
        weights = history.weights[:, 0]
        lengths = np.linalg.norm(weights, axis=1)
        left.plot(history.step, lengths, color=colour, label=label)
        right.plot(history.step, np.degrees(np.arccos(abs(weights[:, 1]) / lengths)), color=colour)
    left.set(yscale="log", xlabel="rows", ylabel="length of w")
    right.set(xlabel="rows", ylabel="angle, degrees", xlim=left.get_xlim())
    left.legend(frameon=False)


def draw_sanger(figure: Figure, names: dict[str, Any]) -> None:
    """Draw the angles of two units to their components."""
    ax = figure.subplots()
    history = names["network"].history_
    for k, (axis, colour) in enumerate(((1, "#d55e00"), (2, "#0072b2"))):
        weights = history.weights[:, k]
        cosines = abs(weights[:, axis]) / np.linalg.norm(weights, axis=1)
        ax.plot(history.step, np.degrees(np.arccos(cosines)), color=colour, label=f"unit {k + 1}")
    ax.set(xlabel="rows", ylabel="angle to its component, degrees")
    ax.legend(frameon=False)


def draw_krylov(figure: Figure, names: dict[str, Any]) -> None:
    """Draw the angles of power iteration and of the best vector in the Krylov space."""
    ax = figure.subplots()
    products, R, angle = names["products"], names["R"], names["angle"]
    best = []
    for k in range(1, len(products) + 1):
        basis = np.linalg.qr(np.column_stack(products[:k]))[0]
        best.append(angle(basis @ np.linalg.eigh(basis.T @ R @ basis)[1][:, -1]))
    ax.plot([angle(q) for q in products], color="#d55e00", label="power iteration")
    ax.plot(best, color="#0072b2", label="best of the Krylov space")
    ax.set(xlabel="products with R", ylabel="angle, degrees", yscale="log", ylim=(1e-4, 120))
    ax.legend(frameon=False)


def draw_dog(figure: Figure, names: dict[str, Any]) -> None:
    """Draw the weight of the bell in each trial."""
    ax = figure.subplots()
    weights = [weight for weight, _ in names["trials"]]
    enough = np.array([alone for _, alone in names["trials"]])
    trials = np.arange(1, len(weights) + 1)
    for chosen, label, colour in (
        (~enough, "salivates with food only", "#8a8f98"),
        (enough, "salivates at the bell alone", "#d55e00"),
    ):
        ax.bar(trials[chosen], np.array(weights)[chosen], color=colour, label=label)
    ax.axhline(0.5, color="#2b2f36", ls=":", label="threshold")
    ax.set(xlabel="trial", ylabel="weight of the bell", xticks=trials[::2])
    ax.legend(frameon=False)


def draw_plane(figure: Figure, names: dict[str, Any]) -> None:
    """Draw the line of a perceptron after its first mistakes."""
    X, y, history = names["X"], names["y"], names["unit"].history_
    moved = np.flatnonzero(np.abs(np.diff(history.weights[:, 0], axis=0)).sum(axis=1) > 0) + 1
    for ax, place in zip(figure.subplots(1, 4, sharey=True), moved[[0, 3, 8, -1]], strict=True):
        ax.scatter(*X.T, s=3, c=np.where(y > 0, "#d55e00", "#0072b2"))
        (a, b), c = history.weights[place, 0], history.intercepts[place, 0]
        across = np.array([-3.5, 3.5])
        ax.plot(across, -(c + a * across) / b, color="#2b2f36")
        count = int((moved <= place).sum()) + 1
        ax.set(xlim=(-3.5, 3.5), ylim=(-3.5, 3.5), title=f"{count} mistakes", aspect="equal")


def draw_adaline(figure: Figure, names: dict[str, Any]) -> None:
    """Draw the weights of Adaline against the number of examples."""
    ax = figure.subplots()
    history = names["neuron"].history_
    for k, (target, colour) in enumerate(((1.0, "#d55e00"), (-2.0, "#0072b2"))):
        ax.plot(history.step, history.weights[:, 0, k], color=colour, label=f"weight {k + 1}")
        ax.axhline(target, color=colour, ls=":")
    ax.set(xlabel="examples", xlim=(0, 2000), ylabel="weight")
    ax.legend(frameon=False)


def draw_network(figure: Figure, names: dict[str, Any]) -> None:
    """Draw the answer of a network over the plane, and its loss in each pass."""
    left, right = figure.subplots(1, 2)
    side = np.linspace(-0.4, 1.4, 80)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    answer = names["net"].predict_proba(grid)[:, 1].reshape(80, 80)
    extent = (-0.4, 1.4, -0.4, 1.4)
    left.imshow(answer, origin="lower", extent=extent, cmap="coolwarm", vmin=0, vmax=1)
    colours = ["#b2182b" if answer else "#2166ac" for answer in names["xor"]]
    left.scatter(*names["corners"].T, s=60, c=colours, edgecolor="white")
    right.plot(names["net"].loss_curve_, color="#0072b2")
    right.set(xlabel="pass", ylabel="loss", yscale="log")


def draw_strips(figure: Figure, rows: dict[str, np.ndarray]) -> None:
    """Draw rows of small images under their titles."""
    figure.set(size_inches=(7.4, 1.05 * len(rows)), layout_engine="none")
    for k, (title, images) in enumerate(rows.items()):
        row = 1.0 - (k + 1) / len(rows)
        strip(figure, images, row + 0.01, 0.72 / len(rows), title)


def draw_films(figure: Figure, names: dict[str, Any]) -> None:
    """Draw consecutive frames of the three films."""
    films = {title: names[title] for title in ("turning", "zooming", "moving")}
    draw_strips(figure, {title: plotting.gray(x[:10], demo.SIZE) for title, x in films.items()})


def draw_weights(figure: Figure, slow: Any, film: np.ndarray) -> None:
    """Draw the weights of slow features and of principal components of a film."""
    models = {"PCA": StreamPCA(10).fit(film), "slow features": slow}
    draw_strips(figure, {t: plotting.signed(m.components_, demo.SIZE) for t, m in models.items()})


def draw_turned(figure: Figure, names: dict[str, Any]) -> None:
    """Draw what the film that turns teaches."""
    draw_weights(figure, names["slow"], names["turning"])


def draw_scaled(figure: Figure, names: dict[str, Any]) -> None:
    """Draw what the film that zooms teaches."""
    draw_weights(figure, names["slow_of_zoom"], names["zooming"])


def draw_energies(figure: Figure, names: dict[str, Any]) -> None:
    """Draw the images that raise and lower the first quadratic features."""
    sys.path.insert(0, str(ROOT))
    from papers.translation import waves

    images = [plotting.signed(waves(names["energies"], k), demo.SIZE) for k in range(3)]
    title = "feature {}: three images that raise it, three that lower it"
    draw_strips(figure, {title.format(k + 1): rows for k, rows in enumerate(images)})


def draw_errors(figure: Figure, names: dict[str, Any]) -> None:
    """Draw the errors of the three tests as bars."""
    ax, tests = figure.subplots(), ("turned", "scaled", "moved")
    errors = np.array([names[test] for test in tests]).T
    for k, (label, heights) in enumerate(
        zip(("pixels", "PCA", "slow features"), errors, strict=True)
    ):
        ax.bar(np.arange(3) + 0.27 * (k - 1), heights, 0.25, label=label, color=BARS[k])
    ax.set(xticks=range(3), xticklabels=tests, ylabel="error, one known image a digit")
    ax.legend(frameon=False, ncols=3, loc="upper center")
    ax.set_ylim(0, 1)


#: Drawings of the variables of a tutorial, one for each of its pictures.
LESSONS = {
    "invariance": (draw_films, draw_turned, draw_scaled, draw_energies, draw_errors),
    "perceptron-to-backpropagation": (draw_dog, draw_plane, draw_adaline, draw_network),
    "principal-components": (draw_probe, draw_coding, draw_lengths, draw_sanger, draw_krylov),
}


def variables_of(page: str, folder: str = "tutorials") -> dict[str, Any]:
    """Run the snippets of a page, and return its variables."""
    text = (ROOT / "docs" / folder / f"{page}.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for example in DocTestParser().get_examples(text):
        exec(example.source, names)
    return names


def make_lessons() -> None:
    """Run the snippets of tutorials with a picture for each section, and draw them."""
    for page, drawings in LESSONS.items():
        names = variables_of(page)
        for number, draw in enumerate(drawings, 1):
            figure = Figure(figsize=(7.4, 2.7), layout="constrained")
            draw(figure, names)
            for ax in figure.axes:
                ax.spines[["top", "right"]].set_visible(False)
            save(figure, f"tutorial-{page}-{number}")


#: Tutorials whose own code draws their figure, ``ax``.
DRAWN = ("heat-exchanger", "map-of-digits", "metric-learning")


def make_tutorials() -> None:
    """Run the snippets of tutorials, and draw the results."""
    for page in DRAWN:
        save(variables_of(page)["ax"].get_figure(root=True), f"tutorial-{page}")
    for page, draw in TUTORIALS.items():
        names = variables_of(page)
        figure = Figure(figsize=(8.4, 3.4), layout="constrained")
        left, right = figure.subplots(1, 2)
        draw(left, right, names)
        for ax in (left, right):
            ax.spines[["top", "right"]].set_visible(False)
        save(figure, f"tutorial-{page}")


def make_home() -> None:
    """Draw the sensors of the home page, and the slow feature that its lines of code learn."""
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for example in DocTestParser().get_examples(text):
        exec(example.source, names)
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


def make_maps() -> None:
    """Draw the pictures of the cookbook of maps."""
    names = variables_of("maps", "how-to")
    som, hits = names["som"], names["hits"]
    figure = Figure(figsize=(8.4, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    plotting.map_plane(som, ax=left)
    plotting.map_plane(som, names["regions"], label="cluster", ax=right)
    for ax in (left, right):
        ax.collections[0].set(cmap="Blues", alpha=0.6)
        ax.spines[:].set_visible(False)
        for (x, y), name, count in zip(som.grid_.positions, names["names"], hits, strict=True):
            if count:
                ax.text(x, y, f"{name} {count:.0f}", ha="center", va="center", fontsize=7)
    save(figure, "how-to-maps-1")

    letters, classes = letter_set("scale", 100, random_state=0)
    rows = StreamPCA(40).fit_transform(letters)
    found = SelfOrganizingMap(topology="hexagonal", radius=(2, 0.43), random_state=0).fit(rows)
    figure = Figure(figsize=(6.4, 5.4), layout="constrained")
    ax = plotting.map_classes(found, found.class_map(rows, classes), ax=figure.subplots())
    ax.spines[:].set_visible(False)
    save(figure, "how-to-maps-2")

    figure = Figure(figsize=(8.4, 3.0), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=(3, 2, 2))
    left.imshow(names["small"])
    middle.imshow(names["palette"].prototypes_.reshape(4, 4, 3))
    for ax in (left, middle):
        ax.set_axis_off()
    tour = names["tour"]
    right.plot(*np.vstack([tour, tour[:1]]).T, color="#0072b2")
    right.plot(*tour.T, "o", color="#d55e00", ms=4)
    right.set(aspect="equal", xticks=[], yticks=[])
    save(figure, "how-to-maps-3")


PICTURES = {
    "home": make_home,
    "demo": make_demo,
    "rings": make_rings,
    "objects": make_objects,
    "theory": make_theory,
    "lags": make_lags,
    "tutorials": make_tutorials,
    "maps": make_maps,
    "lessons": make_lessons,
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
