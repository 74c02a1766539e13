"""Every page of the papers, made in a small version from the command line."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import papers.__main__
from papers import known
from papers.hpca import faces, handwritten, unsupervised
from papers.hpca._recipe import PairSettings
from papers.prototypes import maps
from papers.slow._recipe import SlowSettings

SLOW = SlowSettings(
    size=14,
    states=5,
    views={"quick": 1500},
    prototypes={"quick": (30,)},
    alphas=(0.2, 1.0),
    moments=3,
)
PAIRS = PairSettings(
    products={"quick": (0.5, 1.0)},
    search_rows={"quick": 60},
    landmarks={"quick": 30},
    etas=(1.0, 0.18, 0.032),
)


def small():
    """All papers, with far fewer of everything."""
    found = known()
    for name in ("slow-rotation", "slow-scale"):
        found[name] = replace(found[name], settings=SLOW)
    runs = {
        name: replace(found[name].runs, few=4, size=14)
        for name in ("hpca-rotated", "hpca-scaled", "hpca-rotated-scaled")
    }
    runs["hpca-unsupervised"] = unsupervised.Films(frames={"quick": 400}, states=5, size=14)
    runs["hpca-handwritten"] = handwritten.Handwriting(letters={"quick": 2}, digits={"quick": 4})
    runs["hpca-faces"] = faces.Splits(count={"quick": 2})
    for name, one in runs.items():
        found[name] = replace(found[name], settings=PAIRS, runs=one)
    found["hpca-margin"] = replace(found["hpca-margin"], images={"quick": 4})
    found["slow-translation"] = replace(
        found["slow-translation"], views={"quick": 3000}, states={"quick": 20}, prototypes=30
    )
    found["map"] = maps.Unfolding(steps={"quick": 600}, passes={"quick": 1})
    return found


def write_blots(folder):
    """Write data files of random pixels."""
    rng = np.random.default_rng(0)

    def blots(*shape):
        return rng.integers(0, 256, shape).astype(np.uint8)

    names = np.array(list("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"))
    np.savez(folder / "letters.npz", images=blots(156, 28, 28), labels=np.repeat(names, 3))
    np.savez(folder / "mnist.npz", images=blots(50, 28, 28), labels=np.repeat(np.arange(10), 5))
    people = np.repeat(np.arange(1, 41), 4)
    np.savez(folder / "orl_faces.npz", images=blots(160, 56, 46), subject=people)
    pages = {name: blots(128, 128) for name in ("page_skimage", "camera", "brick")}
    np.savez(folder / "images.npz", **pages)


NAMES = list(known())


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return the folder of all pages."""
    folder = tmp_path_factory.mktemp("papers")
    write_blots(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EIGENSTREAM_DATA", str(folder))
        some = small()
        patch.setattr(papers.__main__, "known", lambda: some)
        papers.__main__.main(["all", "--quick", "--seeds", "2", "--out", str(folder / "out")])
    return folder / "out"


@pytest.mark.parametrize("name", NAMES)
def test_a_page_stands_alone_and_its_numbers_are_in_the_table(made, name):
    page = (made / f"{name}.html").read_text(encoding="utf-8")
    assert name == "dynamics" or "<script" not in page
    assert not re.search(r'(src|href)="(?!data:image/png;base64,|#)', page)
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert f"python -m papers {name} --quick --seeds 2" in page
    numbers = json.loads((made / f"{name}.json").read_text(encoding="utf-8"))
    for row in [*numbers.get("rows", []), *numbers.get("printed", [])]:
        if isinstance(row.get("error"), dict):
            assert f"<td>{row['error']['mean']:.3f}" in page, row
    for paper in numbers.get("paper", {}).values():
        assert all(f"{paper.get(key, 0):.3f}" in page for key in ("area", "risk") if key in paper)


@pytest.mark.parametrize("name", NAMES)
def test_a_browser_shows_it_whole(made, browser, name):
    shown = browser.open(made / f"{name}.html", width=360)
    assert shown.wider() == []
    assert shown.complaints() == []
    assert shown.loaded() == []
    shown.close()


def test_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EIGENSTREAM_DATA", raising=False)
    papers.__main__.main([])
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == NAMES
    for arguments, words in (
        (["fast-motion"], "no paper is called fast-motion"),
        (["map", "--seeds", "0"], "--seeds 0 is not positive"),
        (["hpca-faces"], "orl_faces.npz is needed, and EIGENSTREAM_DATA is not set"),
    ):
        with pytest.raises(SystemExit):
            papers.__main__.main(arguments)
        assert words in capsys.readouterr().err
