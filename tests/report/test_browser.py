"""The HTML report in a real Chromium: it renders, it draws its curves, and it asks nobody for anything."""

from __future__ import annotations

import re
import shutil
import subprocess

import numpy as np
import pytest

from bedside.diagnosis.engine import examine
from bedside.report.html import diagnosis_to_page
from bedside.testing import a_run

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--enable-logging=stderr",
    "--window-size=1000,1600",
]


@pytest.fixture
def report(tmp_path):
    steps = np.arange(300)
    loss = 2.3 * np.exp(-steps / 80) + 0.01 * np.sin(steps)
    loss[200:] = np.nan
    run = a_run(loss=loss, lr=1e-3, val_loss=[2.0, 1.5, 1.1], name="runs/<script>alert('x')</script>")
    path = tmp_path / "report.html"
    path.write_text(diagnosis_to_page(examine(run), {}), encoding="utf-8")
    return path


def chromium(profile, *arguments):
    return subprocess.run(
        [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", *arguments], capture_output=True, text=True, timeout=120
    )


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed; make test installs it")
def test_the_page_renders_its_story_and_curves(report, tmp_path):
    done = chromium(tmp_path / "profile", "--dump-dom", report.as_uri())
    assert done.returncode == 0, done.stderr
    assert "nonfinite-loss" in done.stdout
    assert len(re.findall(r"<(?:path|polyline)\b", done.stdout)) >= 2  # the curves, as the browser parsed them
    assert "<script>alert" not in done.stdout
    assert "CONSOLE" not in done.stderr  # no error or warning of the page's own
    outside = re.findall(r'(?:src|href)="(?:https?:)?//[^"]*"', report.read_text())
    assert not outside


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed; make test installs it")
def test_the_picture_of_the_page_is_not_blank(report, tmp_path):
    picture = tmp_path / "report.png"
    done = chromium(tmp_path / "profile", f"--screenshot={picture}", report.as_uri())
    assert done.returncode == 0, done.stderr
    blank = tmp_path / "blank.png"
    chromium(tmp_path / "profile", f"--screenshot={blank}", "about:blank")
    assert picture.stat().st_size > 3 * blank.stat().st_size
