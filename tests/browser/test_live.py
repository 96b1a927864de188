"""The live page during a real training: curves grow, a finding appears, two runs are compared."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.browser.chromium import needs_chromium, overflows, violations
from tests.live.records import GrowingRecord

pytestmark = needs_chromium

TRAINING = Path(__file__).with_name("a_training.py")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """`bedside serve` on a folder with two finished runs, as a user starts it: (address, folder)."""
    folder = tmp_path_factory.mktemp("runs")
    for name, length, last in (("healthy", 300, None), ("<img src=x onerror=alert(1)>", 200, 7.0)):
        record = GrowingRecord(folder / name)
        record.grow(length)
        record.grow(100, loss=last)
        record.close()
    command = [sys.executable, "-c", "from bedside.cli import main; main()", "serve", str(folder), "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    address = re.search(r"http://\S+", server.stdout.readline())[0]
    yield address, folder
    server.terminate()
    server.communicate(timeout=10)


@pytest.fixture
def training(served):
    """A real training in a process of its own, which goes wrong at step 120."""
    folder = served[1] / "now"
    process = subprocess.Popen([sys.executable, str(TRAINING), str(folder)], env={**os.environ, "OMP_NUM_THREADS": "1"})
    for _ in range(300):
        if (folder / "rank0.sqlite").exists():
            break
        time.sleep(0.1)
    time.sleep(3.5)  # the server looks for new runs every three seconds
    yield "now"
    process.kill()
    process.wait()


def test_the_list_shows_every_run_with_its_verdict(served, chrome):
    address, _ = served
    watched = chrome()
    page = watched.open(address)
    page.wait_for_selector(".verdictword.sick", timeout=30_000)
    page.wait_for_selector(".verdictword.healthy", timeout=30_000)
    assert page.locator("img").count() == 0  # a run's name is a name
    assert page.get_by_role("link", name="<img src=x onerror=alert(1)>").count() == 1
    assert violations(page) == []
    assert watched.asked_elsewhere(address) == []
    page.set_viewport_size({"width": 320, "height": 640})
    assert not overflows(page)


def test_curves_grow_and_a_finding_appears_while_it_trains(served, training, chrome):
    address, _ = served
    page = chrome().open(f"{address}#/run?name={training}")
    page.wait_for_selector('[data-panel="loss"] .uplot', timeout=60_000)
    last = page.get_by_label("last step shown")
    early = int(last.input_value())
    for _ in range(100):  # the page's own policy forbids scripts that wait
        if int(last.input_value()) > early + 20:
            break
        page.wait_for_timeout(200)
    assert int(last.input_value()) > early + 20
    page.wait_for_selector("article.chapter.error", timeout=60_000)
    assert re.search(r"nonfinite|oversized|diverging", page.inner_text("article.chapter >> nth=0"))
    page.wait_for_selector("article.chapter .uplot", timeout=20_000)
    assert page.locator(".verdict .badge").inner_text().lower() == "sick"
    assert violations(page) == []


def test_two_runs_on_one_axis_with_the_point_where_they_diverge(served, chrome):
    address, _ = served
    watched = chrome()
    page = watched.open(address)
    page.wait_for_selector(".run")
    for box in page.get_by_role("checkbox").all()[-2:]:
        box.check()
    page.get_by_role("link", name=re.compile("Compare 2 runs")).click()
    page.wait_for_selector(".uplot")
    page.get_by_text(re.compile("They (part|diverge) at step")).wait_for(timeout=30_000)
    assert page.locator(".legend li").count() == 2
    assert violations(page) == []


def test_the_gallery_slides_from_healthy_to_severe(served, chrome):
    address, _ = served
    watched = chrome()
    page = watched.open(f"{address}#/gallery")
    card = page.get_by_role("article", name="hundred-examples")
    card.scroll_into_view_if_needed()
    assert "sick" in card.inner_text().lower()
    card.get_by_role("slider").focus()
    page.keyboard.press("Home")
    assert "healthy" in card.inner_text().lower()
    page.get_by_role("button", name="vanishing").click()
    assert "GRD101" in page.get_by_role("region", name="Four gradient regimes").inner_text()
    assert violations(page) == []
    page.set_viewport_size({"width": 320, "height": 640})
    page.wait_for_timeout(300)
    assert not overflows(page)
    assert watched.asked_elsewhere(address) == []


def test_a_rule_has_its_page(served, chrome):
    address, _ = served
    page = chrome().open(f"{address}#/rules")
    page.get_by_role("link", name="GRD101 vanishing-gradient").click()
    page.get_by_text("When it is wrong").wait_for()
    assert violations(page) == []
