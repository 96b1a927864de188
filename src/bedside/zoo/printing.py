"""Printing a page to PDF or PNG with the browser that is installed."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from bedside.errors import BedsideError

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
PIXELS_PER_MM = 96 / 25.4  # of a page, by definition
SCALE = 300 / 96  # a PNG for print has 300 dots per inch


def find_browser() -> str:
    for name in BROWSERS:
        if path := shutil.which(name):
            return path
    raise BedsideError(
        "No browser was found to print the guide with.",
        expected=f"one of {', '.join(BROWSERS)}; the HTML page needs none",
        try_="apt-get install chromium, or: bedside zoo guide -o guide.html",
    )


def print_page(browser: str, page: str, output: Path, size: tuple[float, float]) -> None:
    """Write a page of this size in millimetres as .pdf or .png."""
    with tempfile.TemporaryDirectory(prefix="bedside-guide-") as folder:
        source = Path(folder) / "guide.html"
        source.write_text(page, encoding="utf-8")
        width, height = (round(side * PIXELS_PER_MM) for side in size)
        how = (
            [f"--print-to-pdf={output.absolute()}", "--no-pdf-header-footer"]
            if output.suffix.lower() == ".pdf"
            else [
                f"--screenshot={output.absolute()}",
                f"--window-size={width},{height}",
                f"--force-device-scale-factor={SCALE}",
                "--hide-scrollbars",
            ]
        )
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile", *how]
        done = subprocess.run([*command, source.as_uri()], capture_output=True, text=True, timeout=120)
    if done.returncode or not output.exists():
        reason = (done.stderr.strip().splitlines() or ["it did not say why"])[-1]
        raise BedsideError(
            f"{Path(browser).name} could not print the guide: {reason}",
            expected="a file after at most two minutes",
            try_="bedside zoo guide -o guide.html, and print it yourself",
        )
