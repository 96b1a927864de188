"""The guide fits its page with any font, and any window."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from tests.browser.chromium import needs_chromium, overflows, violations

from bedside.testing import a_run
from bedside.zoo import guide

pytestmark = needs_chromium

# What Helvetica may turn into, and worse: the last two are a third wider than any of them.
FONTS = {
    "as it comes": "",
    "DejaVu Sans": "*{font-family:'DejaVu Sans'!important}",
    "monospace": "*{font-family:monospace!important}",
    "wide": "*{font-family:'DejaVu Sans'!important;letter-spacing:.06em!important}",
    "tall": "*{font-family:serif!important;line-height:1.6!important}",
}


@pytest.fixture
def runs(monkeypatch):
    """Cards of all ten specimens from a run written by hand: what is tested is the layout, not the training."""
    rng = np.random.default_rng(0)
    layers = {str(i): 1 + rng.random(300) for i in range(11)}
    run = a_run(
        loss=2 * np.exp(-np.arange(300) / 50) + 0.1 * rng.random(300) + 1e-4,
        val_loss=list(2 + rng.random(20)),
        grad_norm={"": 1.2345e-4, **layers},
        batch_variation=layers,
    )
    monkeypatch.setattr(guide, "recorded", lambda specimen, severity, seed, cache: run)


@pytest.mark.parametrize("paper", ["a4", "letter"])
@pytest.mark.parametrize("font", FONTS)
def test_no_card_cuts_its_text_off_on_paper(runs, tmp_path, chrome, paper, font):
    text = guide.guide_page(0, Path(), paper, on_screen=True).replace("</style>", f"{FONTS[font]}</style>")
    path = tmp_path / "guide.html"
    path.write_text(text, encoding="utf-8")
    page = chrome(viewport={"width": 900, "height": 1200}).open(path.as_uri())
    cards = json.loads(
        page.evaluate(
            """() => JSON.stringify([...document.querySelectorAll('section')].map(card => ({
              inside: card.scrollHeight, room: card.clientHeight, plots: card.querySelector('.plots').clientHeight,
              wide: card.scrollWidth - card.clientWidth})))"""
        )
    )
    assert len(cards) == 10
    for card in cards:
        assert card["inside"] <= card["room"] + 1
        assert card["plots"] > 50  # pixels: a curve can still be read
        assert card["wide"] <= 1
    assert page.evaluate("document.body.scrollHeight <= document.body.clientHeight + 1")


def test_it_prints_on_one_page_from_the_responsive_one_too(runs, tmp_path, chrome):
    path = tmp_path / "guide.html"
    path.write_text(guide.guide_page(0, Path()), encoding="utf-8")
    page = chrome().open(path.as_uri())
    printed = page.pdf(prefer_css_page_size=True)
    assert re.findall(rb"/Count (\d+)", printed) == [b"1"]


def test_on_a_phone_the_cards_stand_below_each_other(runs, tmp_path, chrome):
    path = tmp_path / "guide.html"
    path.write_text(guide.guide_page(0, Path()), encoding="utf-8")
    page = chrome(viewport={"width": 320, "height": 640}).open(path.as_uri())
    assert not overflows(page)
    lefts = page.evaluate("[...document.querySelectorAll('section')].map(card => card.getBoundingClientRect().left)")
    assert len(set(lefts)) == 1
    assert violations(page) == []
