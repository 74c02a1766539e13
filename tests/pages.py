"""What stands on a page: its text, what it refers to, and its names; it is whole by itself."""

import re
from html.parser import HTMLParser


class Words(HTMLParser):
    """The text of a page, and what it refers to."""

    def __init__(self, page):
        super().__init__()
        self.words, self.sources, self.ids = [], [], []
        self.feed(page)
        self.text = re.sub(r"\s+", " ", " ".join(self.words))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.sources += [found[name] for name in ("src", "href", "xlink:href") if name in found]
        self.ids += [found["id"]] if "id" in found else []

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)

    def handle_data(self, data):
        self.words.append(data)


#: Names of XML vocabularies look like addresses, but nobody loads them.
NAMES = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


def whole(page):
    """The words of a page, after a check that it loads nothing and that references resolve."""
    words = Words(page)
    assert all(source.startswith(("data:image/png;base64,", "#")) for source in words.sources)
    assert "<script" not in page
    assert not re.search(r"@import|url\((?!#)", page)
    assert set(re.findall(r"https?://[^\s\"'<]+", page)) <= NAMES
    assert len(set(words.ids)) == len(words.ids)
    used = re.findall(r"url\(#([^)]+)\)", page)
    used += [source[1:] for source in words.sources if source.startswith("#")]
    assert set(used) <= set(words.ids)
    return words


def seen_whole(page, width, browser):
    """Raise unless nothing sticks out of a page, it asks for nothing and the browser is content."""
    shown = browser.open(page, width=width)
    assert (shown.wider(), shown.complaints(), shown.loaded()) == ([], [], [])
    shown.close()
