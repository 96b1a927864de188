"""Every rule and test that the coverage pages name exists, and every rule has a place in them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


@pytest.fixture(scope="module")
def tables():
    sys.path.insert(0, str(SCRIPTS))
    try:
        import coverage_pages
        import peer_tables
        import seed_tables
    finally:
        sys.path.remove(str(SCRIPTS))
    return seed_tables, peer_tables, coverage_pages


def every_row(tables):
    seeds, peers, _ = tables
    return [row for rows in seeds.TABLES.values() for row in rows] + [*peers.DETECTORS.values(), *peers.ASKS.values()]


def test_every_rule_and_test_that_is_named_exists(tables):
    from bedside.diagnosis.experiments import EXPERIMENTS
    from bedside.rules import CATALOGUE

    names = {rule.name for rule in CATALOGUE}
    for row in every_row(tables):
        assert set(row.rules.split()) <= names, row
        assert set(row.tests.split()) <= set(EXPERIMENTS), row


def test_every_rule_answers_something(tables):
    from bedside.rules import CATALOGUE

    named = {name for row in every_row(tables) for name in row.rules.split()}
    assert {rule.name for rule in CATALOGUE} <= named


def test_all_detectors_and_all_asks_are_gone_through(tables):
    _, peers, _ = tables
    assert list(peers.DETECTORS) == list(range(1, 95))
    assert list(peers.ASKS) == list(range(1, 16))
    for row in (*peers.DETECTORS.values(), *peers.ASKS.values()):
        assert row.rules or row.tests or row.also or row.later, row


def test_a_row_without_an_answer_is_said_to_be_healthy(tables):
    seeds, _, pages = tables
    assert pages.answer(seeds.Row("all is well")) == "healthy: no rule speaks"
    assert "*later: preflight*" in pages.answer(seeds.Row("x", later="preflight"))
