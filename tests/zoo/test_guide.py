"""The guide to hang above the desk."""

from __future__ import annotations

import re

import pytest

from bedside.errors import BedsideError
from bedside.zoo import guide
from bedside.zoo.specimens import find_specimen


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("zoo")


@pytest.fixture
def two_cards(monkeypatch):
    chosen = tuple(card for card in guide.CARDS if card.specimen in ("textbook", "learning-rate-ten"))
    monkeypatch.setattr(guide, "CARDS", chosen)
    return chosen


def test_every_card_names_a_specimen_and_one_of_its_severities():
    assert len(guide.CARDS) == 10
    assert {"Oscillating", "Underfitting"} <= {card.title for card in guide.CARDS}
    for card in guide.CARDS:
        assert card.severity in find_specimen(card.specimen).severities


def test_a_card_draws_the_run_its_twin_and_its_layers(two_cards, cache, tmp_path):
    guide.write_guide(tmp_path / "guide.html", 100, cache)
    page = (tmp_path / "guide.html").read_text(encoding="utf-8")
    healthy, sick = re.findall(r"<section.*?</section>", page, re.DOTALL)
    assert all(card.do in part for card, part in zip(two_cards, (healthy, sick), strict=True))
    assert healthy.count("<svg") == sick.count("<svg") == 3
    assert (guide.TWIN in sick, guide.TWIN in healthy) == (True, False)
    assert re.search(r"train <b>[\d.]+</b> · val <b>[\d.]+</b> · gap <b>-?[\d.]+</b> · gradient <b>[\d.]+</b>", healthy)
    assert "http" not in page.replace("http://www.w3.org", "")


@pytest.mark.browser
def test_the_pdf_is_one_page_of_a4(two_cards, cache, tmp_path):
    guide.write_guide(tmp_path / "guide.pdf", 100, cache)
    printed = (tmp_path / "guide.pdf").read_bytes()
    assert re.findall(rb"/Count (\d+)", printed) == [b"1"]
    width, height = re.search(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", printed).groups()
    assert (round(float(width)), round(float(height))) == (595, 842)


@pytest.mark.browser
def test_the_picture_is_fit_for_print(two_cards, cache, tmp_path):
    guide.write_guide(tmp_path / "guide.png", 100, cache)
    head = (tmp_path / "guide.png").read_bytes()[16:24]
    assert int.from_bytes(head[:4], "big") >= 2480
    assert int.from_bytes(head[4:], "big") >= 3507


def test_other_kinds_of_file_are_refused_before_anything_is_trained(tmp_path):
    with pytest.raises(BedsideError) as refused:
        guide.write_guide(tmp_path / "guide.docx", 100, tmp_path / "nowhere")
    assert "'guide.docx'" in str(refused.value)
    assert not (tmp_path / "nowhere").exists()
