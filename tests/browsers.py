"""Pages in a real browser without a window: Chromium, spoken to over a pipe.

A page that allows no scripts can be asked, too: what ``Page.ask`` evaluates comes from outside.
"""

import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
from pathlib import Path
from time import monotonic

#: Names of the browser.
NAMES = ("chromium", "google-chrome", "google-chrome-stable", "chromium-browser", "chrome")

#: No answer takes longer, on the slowest machine.
SECONDS = 60

#: Chromium reads from descriptor 3 and writes into 4: a small process puts the pipes there.
LAUNCH = """import os, sys
for k in (1, 2):
    os.dup2(int(sys.argv[k]), k + 2)
os.execv(sys.argv[3], sys.argv[3:])
"""

#: Elements that stick out of the page on the right, outside of boxes that scroll by themselves.
WIDER = """(() => {
  const width = document.documentElement.clientWidth;
  const scrolls = e => e && (['auto', 'scroll', 'hidden'].includes(getComputedStyle(e).overflowX)
    || scrolls(e.parentElement));
  return [...document.body.querySelectorAll('*')]
    .filter(e => e.getBoundingClientRect().right > width + 1 && !scrolls(e.parentElement))
    .filter(e => !e.ownerSVGElement)
    .map(e => e.tagName.toLowerCase() + ' ' + (e.textContent || '').trim().slice(0, 40));
})()"""


def found():
    """Return the browser's path, or None without a browser."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """A running browser; ``open`` gives a page."""

    def __init__(self, folder):
        ours, theirs = os.pipe(), os.pipe()
        self._read, self._write = theirs[0], ours[1]
        # Above the two numbers that they are to become.
        given = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (ours[0], theirs[1])]
        command = [sys.executable, "-c", LAUNCH, *map(str, given), found(), "--headless"]
        command += ["--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"]
        command += ["--disable-dev-shm-usage", "--remote-debugging-pipe"]
        command += [f"--user-data-dir={folder}", "about:blank"]
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(command, pass_fds=given, stdout=quiet, stderr=quiet)
        for fd in (ours[0], theirs[1], *given):
            os.close(fd)
        self._rest, self._asked, self.events = b"", 0, []

    def close(self):
        """End the browser."""
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)
        os.close(self._read)
        os.close(self._write)

    def call(self, method, session=None, **parameters):
        """Call a method of the DevTools protocol; return its result."""
        self._asked += 1
        message = {"id": self._asked, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        number, until = self._asked, monotonic() + SECONDS
        while True:
            answer = self._next(until)
            if answer.get("id") == number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self.events.append(answer)

    def wait(self, method, session):
        """Wait until an event has come that was not there when it was last waited for."""
        until = monotonic() + SECONDS
        while True:
            for k, event in enumerate(self.events):
                if event.get("method") == method and event.get("sessionId") == session:
                    return self.events.pop(k)
            self.events.append(self._next(until))

    def _next(self, until):
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(until - monotonic(), 0))
            assert ready, "the browser does not answer"
            got = os.read(self._read, 1 << 20)
            assert got, "the browser has ended"
            self._rest += got
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def open(self, path, width=360):
        """Return the page of a file, loaded in a window of this width."""
        return Page(self, Path(path).resolve().as_uri(), width)


class Page:
    """A page that has been loaded."""

    def __init__(self, browser, address, width):
        self._browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        attached = browser.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session, self._target = attached["sessionId"], target
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")
        self.resize(width)
        self._call("Page.navigate", url=address)
        browser.wait("Page.loadEventFired", self._session)

    def _call(self, method, **parameters):
        return self._browser.call(method, self._session, **parameters)

    def close(self):
        """Close the page; the browser goes on."""
        self._browser.call("Target.closeTarget", targetId=self._target)

    def resize(self, width, height=740):
        """Make the window another size; below 600 pixels it is a telephone's."""
        self._width = width
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def ask(self, script):
        """Return what a JavaScript expression gives, a promise's value when it is there."""
        answer = self._call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key):
        """Press and release a key, such as "ArrowRight", on what has the focus."""
        for kind in ("keyDown", "keyUp"):
            self._call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def click(self, selector):
        """Click on the middle of the first element that a selector finds."""
        x, y = self.ask(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect();"
            "return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def wider(self):
        """Return what sticks out of the page on the right: nothing, on a page that fits.

        Boxes that scroll by themselves, as those around tables, may hold what is wider.
        """
        whole = self.ask(
            "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        # Without a viewport of its own, a telephone lays a page out as on a desk and shrinks it.
        fits = whole[1] == self._width and whole[0] <= whole[1]
        page = [] if fits else [f"the page: {whole[0]} of {self._width} pixels"]
        return page + self.ask(WIDER)

    def complaints(self):
        """Return what the browser's console has said in earnest: errors, refusals, exceptions."""
        self.ask("0")  # what was on its way is here now
        said = []
        for event in self._browser.events:
            if event.get("sessionId") != self._session:
                continue
            told = event["params"]
            match event["method"]:
                case "Log.entryAdded" if told["entry"]["level"] in ("error", "warning"):
                    said.append(told["entry"]["text"])
                case "Runtime.consoleAPICalled" if told["type"] in ("error", "warning", "assert"):
                    said.append(str([one.get("value") for one in told["args"]]))
                case "Runtime.exceptionThrown":
                    said.append(told["exceptionDetails"]["text"])
        return said

    def loaded(self):
        """Return the addresses that were asked for, beside the page's own and those inside it."""
        asked = [
            event["params"]["request"]["url"]
            for event in self._browser.events
            if event.get("sessionId") == self._session
            and event["method"] == "Network.requestWillBeSent"
        ]
        return [url for url in asked if not url.startswith(("data:", "blob:"))][1:]
