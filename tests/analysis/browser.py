"""The system's Chromium, which runs the scripts of pages without a network: one for all tests."""

import base64
import html
import json
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import websocket

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), ""
)
LONGEST = 120  # seconds until a browser or a page is given up

# `until` gives up after some seconds: a test then shows what the page has, not that it waited.
PATIENCE = """
const wait = () => new Promise((go) => setTimeout(go, 20));
const until = async (ready) => {
  for (let turn = 0; turn < 2000 && !ready(); turn += 1) await wait();
};
"""

SEEN = "document.body.dataset.seen"  # where the scripts of the tests leave what they have found

needs_chromium = pytest.mark.skipif(
    not CHROMIUM,
    reason="needs Chromium on the path: apt-get install chromium; on macOS brew install --cask "
    "chromium; on Windows winget install Google.Chrome",
)


class Browsed(NamedTuple):
    """A page after its scripts, what it and the browser said, and the page on paper."""

    dom: str
    said: str
    pdf: bytes


def seen_of(done: Browsed) -> Any:
    """Return what a page's script has found."""
    return json.loads(html.unescape(re.search(r'data-seen="(.*?)"', done.dom)[1]))


class Browser:
    """A browser that cannot reach a network, spoken to by the DevTools protocol.

    All pages are opened in one tab, so plotly.js is compiled once.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [
                CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--disable-sync",
                "--disable-quic", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                f"--user-data-dir={folder / 'profile'}", "--remote-debugging-port=0",
            ],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            port, path = self._address()
            self.socket = websocket.create_connection(
                f"ws://127.0.0.1:{port}{path}", timeout=LONGEST, suppress_origin=True
            )
        except BaseException:
            self.process.kill()
            raise
        self.calls = self.pages = 0
        self.events: list[dict[str, Any]] = []
        self.tab: dict[str, str] = {}
        target = self._call("Target.createTarget", url="about:blank")
        session = self._call("Target.attachToTarget", flatten=True, **target)
        self.tab = {"sessionId": session["sessionId"]}
        for domain in ("Page", "Runtime", "Log"):
            self._call(f"{domain}.enable")

    def _address(self) -> list[str]:
        """Wait for the file in which the browser says where it listens."""
        file = self.folder / "profile" / "DevToolsActivePort"
        end = time.monotonic() + LONGEST
        while not file.exists() or len(file.read_text().split()) < 2:
            assert self.process.poll() is None, f"{CHROMIUM} ended with {self.process.returncode}"
            assert time.monotonic() < end, f"{CHROMIUM} does not say where it listens"
            time.sleep(0.02)
        return file.read_text().split()

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol; events that come before its answer are kept."""
        self.calls += 1
        call = {"id": self.calls, "method": method, "params": parameters}
        self.socket.send(json.dumps(call | self.tab))
        while True:
            message = json.loads(self.socket.recv())
            if message.get("id") == self.calls:
                assert "error" not in message, f"{method}: {message['error']}"
                return message["result"]
            self.events.append(message)

    def _value(self, expression: str) -> Any:
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def __call__(
        self, page: str, ready: str, *, size: tuple[int, int] = (1400, 9000), pdf: bool = False
    ) -> Browsed:
        """Open a page, wait until an expression of its document holds, and read the page."""
        self.pages += 1
        file = self.folder / f"page-{self.pages}.html"
        file.write_text(page, encoding="utf-8")
        width, height = size
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        self._call("Page.navigate", url="about:blank")  # the page before says nothing more
        self.events.clear()
        self._call("Page.navigate", url=file.as_uri())
        there = f"location.pathname.endsWith('/{file.name}') && document.readyState === 'complete'"
        end = time.monotonic() + LONGEST
        while not self._value(f"{there} && !!({ready})"):
            assert time.monotonic() < end, f"{ready} did not come true: {self._said()}"
            time.sleep(0.02)
        paper = self._call("Page.printToPDF")["data"] if pdf else ""
        dom = self._value("document.documentElement.outerHTML")
        return Browsed(dom, self._said(), base64.b64decode(paper))

    def _said(self) -> str:
        """Return the lines of the console, errors of scripts, and what the browser has refused."""
        kinds = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        found = [each["params"] for each in self.events if each["method"] in kinds]
        return "\n".join(map(json.dumps, found))

    def close(self) -> None:
        """End the browser."""
        self.tab = {}
        try:
            self._call("Browser.close")
            self.process.wait(timeout=LONGEST)
        finally:
            self.process.kill()
            self.socket.close()
