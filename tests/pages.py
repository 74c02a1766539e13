"""What stands on a page: its text, what it refers to, and its names."""

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
