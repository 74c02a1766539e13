"""Every page of the papers, made in a small version from the command line."""

import json
import re
from contextlib import redirect_stderr
from io import StringIO

import numpy as np
import pytest

import papers.__main__
from papers import PAPERS


def write_blots(folder):
    """Write data files of random pixels."""
    rng = np.random.default_rng(0)

    def blots(*shape):
        return rng.integers(0, 256, shape).astype(np.uint8)

    names = np.array(list("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"))
    np.savez(folder / "letters.npz", images=blots(208, 28, 28), labels=np.repeat(names, 4))
    np.savez(folder / "mnist.npz", images=blots(50, 28, 28), labels=np.repeat(np.arange(10), 5))
    people = np.repeat(np.arange(1, 41), 4)
    np.savez(folder / "orl_faces.npz", images=blots(160, 56, 46), subject=people)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return the folder of all pages."""
    folder = tmp_path_factory.mktemp("papers")
    write_blots(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EIGENSTREAM_DATA", str(folder))
        with redirect_stderr(StringIO()) as progress:
            papers.__main__.main(["all", "--tiny", "--seeds", "1", "--out", str(folder / "out")])
    assert "warning" not in progress.getvalue()
    return folder / "out"


def means(numbers):
    """Yield every mean that a JSON file holds."""
    if isinstance(numbers, dict):
        if "mean" in numbers and "values" in numbers:
            yield numbers
        for one in numbers.values():
            yield from means(one)
    elif isinstance(numbers, list):
        for one in numbers:
            yield from means(one)


@pytest.mark.parametrize("name", PAPERS)
def test_a_page_stands_alone_and_has_the_numbers(made, name):
    page = (made / f"{name}.html").read_text(encoding="utf-8")
    assert page.count("<script") == (name == "dynamics")
    assert not re.search(r'(src|href)="(?!data:image/png;base64,|#)', page)
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert f"python -m papers {name} --tiny --seeds 1" in page
    numbers = json.loads((made / f"{name}.json").read_text(encoding="utf-8"))
    for figures in means(numbers.get("rows", [])):
        assert np.isclose(np.mean(figures["values"]), figures["mean"])
    for row in numbers.get("rows", []):
        if "error" in row:
            assert f"{row['error']['mean']:.3f}" in page
    for column in numbers.get("paper", {}).values():
        assert not isinstance(column, float) or f"{column:.3f}" in page


@pytest.mark.parametrize("name", PAPERS)
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
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(PAPERS)
    for arguments, words in (
        (["fast-motion"], "no paper is called fast-motion"),
        (["map", "--seeds", "0"], "--seeds 0 is not positive"),
        (["hpca-faces"], "orl_faces.npz is missing. Set EIGENSTREAM_DATA"),
    ):
        with pytest.raises(SystemExit):
            papers.__main__.main(arguments)
        assert words in capsys.readouterr().err
