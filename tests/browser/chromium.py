"""A page in Debian's Chromium that fails the test on a console error or a request to anywhere but its own server."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium")
AXE = Path(__file__).with_name("axe.min.js")

needs_chromium = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed; make test installs it"),
]


@contextmanager
def a_browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Watched:
    """Opens pages, and remembers what they complained about and whom they asked for something."""

    def __init__(self, browser, **options) -> None:
        options = {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light", **options}
        self.context = browser.new_context(bypass_csp=False, **options)
        self.complaints: list[str] = []
        self.requests: list[str] = []

    def open(self, url: str):
        page = self.context.new_page()
        page.on("console", lambda said: said.type in ("error", "warning") and self.complaints.append(said.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(url)
        return page

    def asked_elsewhere(self, *allowed: str) -> list[str]:
        return [url for url in self.requests if not url.startswith(("file://", "data:", "blob:", *allowed))]


def violations(page) -> list[str]:
    """What axe-core finds wrong by WCAG 2 A and AA, contrast included, in words."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa']})")
    return [f"{each['id']}: {node['html'][:200]}" for each in found["violations"] for node in each["nodes"]]


def overflows(page) -> bool:
    """Whether one has to scroll sideways."""
    return page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
