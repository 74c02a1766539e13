"""Reports are whole, self-contained pages."""

import re

import pytest

from eigenstream import demo, plotting
from eigenstream.reports.base import Drawing, PageTable, Report, Section, Tiles
from pages import Words


@pytest.fixture(scope="module")
def found():
    return demo.run(views=1000, seed=1)


@pytest.fixture(scope="module")
def page(found):
    return demo.demo_page(found).html()


def test_nothing_comes_from_elsewhere_and_references_resolve(page):
    words = Words(page)
    assert all(source.startswith(("data:image/png;base64,", "#")) for source in words.sources)
    assert "<script" not in page
    assert not re.search(r"@import|url\((?!#)", page)
    # Names of XML vocabularies look like addresses, but nobody loads them.
    assert set(re.findall(r"https?://[^\s\"'<]+", page)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }
    assert len(set(words.ids)) == len(words.ids)
    used = re.findall(r"url\(#([^)]+)\)", page)
    used += [source[1:] for source in words.sources if source.startswith("#")]
    assert set(used) <= set(words.ids)


def test_the_page_has_the_figures_of_the_table(found, page):
    for judged in found.judged.values():
        assert f"<td>{judged.area:.3f}</td><td>{judged.error:.3f}</td>" in page
    assert page.count('class="best"') == 1


def test_the_demo_does_what_it_says(found):
    # Ten slow directions of a thousand views are rough, and still far ahead.
    assert found.judged["slow subspace"].error < 0.1 < found.judged["PCA"].error
    assert found.judged["raw pixels"].area < 0.7


@pytest.mark.parametrize("width", [360, 1200])
def test_a_browser_shows_it_whole(page, width, browser, tmp_path):
    """On a telephone and on a desk: nothing sticks out, nothing is asked for, no complaint."""
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    shown = browser.open(tmp_path / "page.html", width=width)
    assert shown.wider() == []
    assert shown.complaints() == []
    assert shown.loaded() == []
    shown.close()


def test_text_is_escaped():
    blocks = [
        PageTable(("<i>",), [("<b>",)], caption="<u>"),
        Tiles([("data:,", "<s>")], "<em>", ""),
        Drawing(plotting.svg(plotting.axes(), "a"), '"quoted"', "c"),
    ]
    report = Report("a < b", "x & y", [Section("s", "<script>", blocks)])
    page = report.html()
    for tag in ("<script>", "<i>", "<b>", "<u>", "<s>", "<em>"):
        assert tag not in page
    assert "a &lt; b" in page
    assert "&#34;quoted&#34;" in page
