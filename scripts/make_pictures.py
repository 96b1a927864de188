"""The pictures of the README and the docs, from real runs: a specimen of the zoo, trained now, and its HTML report.

    python scripts/make_pictures.py          needs chromium and the dev extra

All pictures together stay under 300 KB.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import bedside
from bedside.cli import run

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs/pictures"
MAX_BYTES = 300 * 1024
SPECIMEN = "learning-rate-ten"
WINDOW = {"width": 1180, "height": 880}


def screenshot(page: Path, picture: Path) -> None:
    """What a reader sees first when the page is opened from disk."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        tab = browser.new_page(viewport=WINDOW, color_scheme="light")
        tab.goto(page.as_uri())
        tab.wait_for_selector("canvas")
        tab.screenshot(path=picture)
        browser.close()


def main() -> int:
    if shutil.which("chromium") is None:
        print("chromium is not installed.\n  Expected: chromium, which takes the picture\n  Try: make browser")
        return 2
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # the report shows where the run lies
        run(["zoo", "run", SPECIMEN, "-o", f"runs/{SPECIMEN}"])
        run(["report", f"runs/{SPECIMEN}", "-o", "report.html"])
        screenshot(Path(folder) / "report.html", PICTURES / "report.png")
    size = sum(each.stat().st_size for each in PICTURES.glob("*.png"))
    print(f"{PICTURES.relative_to(ROOT)}: {size // 1024} KB of pictures, made by bedside {bedside.__version__}")
    return 0 if size <= MAX_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
