from __future__ import annotations

from dataclasses import dataclass

import pytest

from bedside.rules import CATALOGUE
from bedside.rules.page import SECTIONS, limits_of, page


@dataclass(frozen=True)
class Limits:
    ratio: float = 1e-4  # healthy runs stay above it
    # long enough to see past one quiet batch,
    # short enough for a live run
    window: int = 5000
    bare: int = 1


def test_limits_carry_their_origin_from_the_comment_beside_or_above():
    result = {each.name: (each.value, each.origin) for each in limits_of(Limits())}
    assert result["ratio"] == ("1e-4", "healthy runs stay above it")
    assert result["window"] == ("5,000", "long enough to see past one quiet batch, short enough for a live run")
    assert result["bare"] == ("1", "not stated")


@pytest.mark.parametrize("rule", CATALOGUE, ids=lambda rule: rule.code)
def test_every_page_has_its_sections_in_order_and_states_every_origin(rule):
    text = page(rule)
    headings = [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]
    assert headings == [*SECTIONS, *(["Limits"] if limits_of(rule.limits) else [])]
    assert all(limit.origin != "not stated" for limit in limits_of(rule.limits))
    assert text.startswith(f"# {rule.code} {rule.name}\n")
    assert text.count("```") == 2
