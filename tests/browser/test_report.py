"""The HTML report, opened from disk as a reader opens it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.browser.chromium import needs_chromium, overflows, violations

from bedside.diagnosis.engine import examine
from bedside.report.standalone import run_to_page
from bedside.rules import find_rule
from bedside.rules.page import page as rule_page
from bedside.testing import a_run

pytestmark = needs_chromium

EVIL = "<img src=x onerror=alert(1)>"


def a_sick_run(name="runs/a", **more):
    steps = np.arange(1500)
    rng = np.random.default_rng(0)
    loss = 2.3 * np.exp(-steps / 200) + 0.05 * rng.random(1500)
    loss[1200:] = np.nan
    layers = {f"layers.{i}": 10.0 ** (i - 6) * (1 + steps / 1500 + 0.1 * rng.random(1500)) for i in range(7)}
    return a_run(
        name=name,
        loss=loss,
        lr=1e-3,
        val_loss=[2.0, 1.5, 1.1, 1.3, 1.6],
        grad_norm={"": 1 + rng.random(1500), **layers},
        config={"classes": 10, "batch_size": 32},
        **more,
    )


def written(run, tmp_path):
    diagnosis = examine(run)
    pages = {each.code: rule_page(find_rule(each.code)) for each in diagnosis.findings}
    path = tmp_path / "report.html"
    path.write_text(run_to_page(run, diagnosis, pages), encoding="utf-8")
    return path


@pytest.fixture
def report(tmp_path):
    return written(a_sick_run(), tmp_path)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_reads_well_by_the_guidelines_and_asks_nobody_for_anything(report, chrome, scheme):
    watched = chrome(color_scheme=scheme)
    page = watched.open(report.as_uri())
    page.wait_for_selector(".uplot")
    assert "vanishing-gradient" in page.inner_text("article.chapter >> nth=0")
    assert violations(page) == []
    assert watched.asked_elsewhere() == []


def test_a_phone_need_not_scroll_sideways(report, chrome):
    page = chrome(viewport={"width": 320, "height": 640}).open(report.as_uri())
    page.wait_for_selector(".uplot")
    for each in page.query_selector_all("details"):
        each.evaluate("node => { node.open = true }")
    page.wait_for_timeout(300)
    assert not overflows(page)


def test_a_chart_zooms_with_the_mouse_and_back_by_the_button(report, chrome):
    page = chrome().open(report.as_uri())
    chart = page.locator('[data-panel="loss"] .u-over')
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    page.mouse.move(box["x"] + 0.25 * box["width"], box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 40, steps=4)
    page.mouse.up()
    first = page.get_by_label("first step shown")
    assert abs(int(first.input_value()) - 375) < 15
    page.get_by_role("button", name="all 1,500").click()
    assert first.input_value() == "0"


def test_hovering_shows_values_in_every_chart_at_once(report, chrome):
    page = chrome(viewport={"width": 1280, "height": 2400}).open(report.as_uri())
    page.locator('[data-panel="loss"] .u-over').hover()
    assert page.locator('[data-panel="loss"] .readout').first.inner_text().startswith("raw 0.")
    assert " at " in page.locator('[data-panel="lr"] .readout').first.inner_text()


def test_the_axis_switches_to_a_logarithm_and_lines_hide(report, chrome):
    page = chrome().open(report.as_uri())
    panel = page.locator('[data-panel="loss"]')
    panel.scroll_into_view_if_needed()
    log = panel.get_by_role("button", name="log", exact=True)
    before, pressed = panel.locator("canvas").first.screenshot(), log.get_attribute("aria-pressed")
    log.click()
    assert log.get_attribute("aria-pressed") != pressed
    page.wait_for_timeout(200)
    assert panel.locator("canvas").first.screenshot() != before
    training = panel.get_by_role("button", name="training loss")
    training.click()
    assert training.get_attribute("aria-pressed") == "false"


def test_the_keyboard_reaches_what_the_mouse_reaches(report, chrome):
    page = chrome().open(report.as_uri())
    page.wait_for_selector(".uplot")
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.className || document.activeElement.tagName"))
    assert {"look", "copy", "SUMMARY", "BUTTON", "INPUT"} <= reached
    about = page.get_by_text("About GRD101")
    about.focus()
    page.keyboard.press("Enter")
    assert page.get_by_text("How it decides").first.is_visible()


def test_the_bars_of_the_layers_follow_the_slider(report, chrome):
    page = chrome().open(report.as_uri())
    panel = page.locator('[data-panel="layers:grad_norm"]')
    panel.scroll_into_view_if_needed()
    slider = panel.get_by_role("slider")
    value = panel.locator("td.num").first
    before = value.inner_text()
    slider.focus()
    page.keyboard.press("Home")
    assert "step" in slider.get_attribute("aria-valuetext")
    assert value.inner_text() != before
    assert panel.locator(".bar.off").count() >= 3  # the front layers are faint


def test_names_that_are_markup_stay_words(tmp_path, chrome):
    evil = a_sick_run(name=f"runs/{EVIL}</script><script>alert(2)</script>", **{})
    run = type(evil)(
        evil.name,
        [evil.series(*key) for key in evil.series_keys],
        config={EVIL: EVIL},
        notes=[EVIL],
        environment={"command": "</script><script>alert(3)</script>"},
    )
    watched = chrome()
    page = watched.open(written(run, tmp_path).as_uri())
    page.on("dialog", lambda dialog: watched.complaints.append(dialog.message))
    page.wait_for_selector(".uplot")
    assert page.locator("img").count() == 0
    assert EVIL in page.inner_text("main")
    assert watched.asked_elsewhere() == []


def test_it_prints_with_its_curves(report, chrome):
    page = chrome(color_scheme="dark").open(report.as_uri())
    page.wait_for_timeout(1500)
    drawn = page.locator(".uplot").count()
    assert drawn == page.locator(".panel .plot").count()
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert len(page.pdf()) > 50_000
