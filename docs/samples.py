"""Pictures of drawing functions and reports of every kind of estimator, made with the site."""

import inspect
import sys
import warnings
from collections.abc import Iterator
from doctest import DocTestParser
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot
from pandas import DataFrame
from sklearn.datasets import load_digits, load_wine

import eigenstream
from eigenstream import plotting, report
from eigenstream.processes import Autoregressive, HeatExchanger

#: Functions that return an image, a file or empty axes.
NO_DRAWINGS = {"axes", "gray", "panels", "png_uri", "save", "signed", "svg"}


def draw(folder: Path) -> list[str]:
    """Run the example of each drawing function, save its figure, and return the names."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = [name for name in plotting.__all__ if name not in NO_DRAWINGS]
    for name in drawn:
        function = getattr(plotting, name)
        names = dict(vars(sys.modules[function.__module__]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for example in DocTestParser().get_examples(inspect.getdoc(function)):
                exec(compile(example.source, name, "exec"), names)
        pyplot.gcf().savefig(folder / f"{name}.png", dpi=110)
        pyplot.close("all")
    return drawn


def models() -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield an estimator of each kind, and the rows and options of its report."""
    process = Autoregressive((0.99, 0.9, 0.5), n_features=6, noise=0.2, random_state=0)
    rows, kinds = process.take(5000), eigenstream
    wine, digits = load_wine(), load_digits()
    frame, cultivar = load_wine(as_frame=True).data, wine.target_names[wine.target].astype(str)
    yield kinds.StreamPCA(3, scale=True).fit(frame), {"X": frame, "y": cultivar}
    yield kinds.SlowSubspace(3, lag=5).fit(rows, blocks=20), {"X": rows}
    yield kinds.DynamicSubspace(3).fit(rows, blocks=20), {"X": rows}
    treated, control = wine.data[:59], wine.data[59:]
    yield kinds.ContrastSubspace(2).fit(treated, background=control), {"X": treated}
    yield kinds.ClassSubspace().fit(frame, cultivar), {"X": frame, "y": cultivar}
    pairs = np.random.default_rng(0).choice(len(wine.data), (4000, 2))
    alike = np.where(wine.target[pairs[:, 0]] == wine.target[pairs[:, 1]], 1, -1)
    yield kinds.PairSubspace(preprocessor=wine.data).fit(pairs, alike), {}
    images = {"X": digits.data, "shape": (8, 8)}
    clusters = kinds.CompetitiveLearning(10, random_state=0)
    yield clusters.fit(digits.data), images
    som = kinds.SelfOrganizingMap((10, 10), topology="hexagonal", random_state=0)
    yield som.fit(digits.data), images | {"y": digits.target}
    scaled = digits.data / 16
    yield kinds.Perceptron(random_state=0).fit(scaled, digits.target), {"shape": (8, 8)}
    network = kinds.MultilayerPerceptron(16, max_iter=20, random_state=0)
    yield network.fit(scaled, digits.target), {"shape": (8, 8)}
    plant = HeatExchanger(start=30_000, growth=0.02, random_state=0)
    table = DataFrame(plant.take(40_000), columns=plant.names)
    good = table[:25_000]
    monitor = kinds.Monitor(kinds.StreamPCA(3, scale=True).fit(good), window=250).fit(good)
    yield monitor, {"X": monitor.update(table[25_000:])}


def write_reports(folder: Path) -> list[str]:
    """Write a report of each kind, and return the names of the estimators."""
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the reports list them
        for model, options in models():
            names.append(type(model).__name__)
            report(model, folder / f"{names[-1]}.html", **options)
    return names
