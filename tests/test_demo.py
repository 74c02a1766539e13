"""The demo does what it says, and its page has the figures of its table."""

import pytest

from eigenstream import demo
from pages import seen_whole, whole


@pytest.fixture(scope="module")
def found():
    return demo.run(views=1000, seed=1)


@pytest.fixture(scope="module")
def page(found):
    return demo.demo_page(found).html()


def test_the_page_is_whole_and_has_the_figures_of_the_table(found, page):
    whole(page)
    for judged in found.judged.values():
        assert f"<td>{judged.area:.3f}</td><td>{judged.error:.3f}</td>" in page
    assert page.count('class="best"') == 1


def test_the_demo_does_what_it_says(found):
    # Ten slow directions of a thousand views are rough, and still far ahead.
    assert found.judged["slow subspace"].error < 0.1 < found.judged["PCA"].error
    assert found.judged["raw pixels"].area < 0.7


@pytest.mark.parametrize("width", [360, 1200])
def test_a_browser_shows_it_whole(page, width, browser, tmp_path):
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    seen_whole(tmp_path / "page.html", width, browser)
