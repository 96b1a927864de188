"""The pictures of the README and the docs, from real runs: a specimen of the zoo, trained now, and its HTML report; and
what every program in examples/lab prints and draws.

    python scripts/make_pictures.py          needs chromium and the dev extra

Those of the front page stay under 300 KB together, and so do those of the lab.
"""

from __future__ import annotations

import os
import shutil
import subprocess
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


def run_the_lab(folder: Path) -> None:
    """Each program where it can leave files; what it printed and drew is kept."""
    kept = PICTURES / "lab"
    kept.mkdir(exist_ok=True)
    for program in sorted((ROOT / "examples/lab").glob("*.py")):
        ran = subprocess.run([sys.executable, program], cwd=folder, capture_output=True, text=True, check=True)
        (kept / f"{program.stem}.txt").write_text(ran.stdout, encoding="utf-8")
        if (drawn := folder / f"{program.stem}.png").exists():
            shutil.copy(drawn, kept)


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
        run_the_lab(Path(folder))
    sizes = [sum(each.stat().st_size for each in home.glob("*.png")) for home in (PICTURES, PICTURES / "lab")]
    front, lab = (size // 1024 for size in sizes)
    print(f"{front} KB on the front page, {lab} KB of the lab, made by bedside {bedside.__version__}")
    return 0 if max(sizes) <= MAX_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
