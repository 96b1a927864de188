"""docs/coverage.md and docs/peers.md, made from `seed_tables.py` and `peer_tables.py`."""

from __future__ import annotations

from collections.abc import Iterator

from peer_tables import ASKS, DETECTORS
from seed_tables import TABLES, Row

from bedside.diagnosis.experiments import EXPERIMENTS
from bedside.rules import find_rule


def coverage_page() -> str:
    """Each row of each table, and what answers it."""
    return "\n".join(_coverage()) + "\n"


def _coverage() -> Iterator[str]:
    yield "# What answers what\n"
    yield (
        "Everything that bedside set out to recognise, by what is seen, and the rule or the test that answers it. A\n"
        "row without an answer is a healthy state, in which every rule is silent. What is still to come says so."
    )
    for title, rows in TABLES.items():
        yield f"\n## {title}\n"
        yield "| what is seen | answered by |\n|---|---|"
        for row in rows:
            yield f"| {row.seen} | {answer(row)} |"


def answer(row: Row) -> str:
    """The links and words of one row."""
    parts = [rule_link(name) for name in row.rules.split()]
    if row.tests:
        parts.append("test: " + ", ".join(EXPERIMENTS[name].name for name in row.tests.split()))
    parts += [row.also] if row.also else []
    parts += [f"*later: {row.later}*"] if row.later else []
    return "; ".join(parts) or "healthy: no rule speaks"


def rule_link(name: str) -> str:
    rule = find_rule(name)
    return f"[{rule.name}](rules/{rule.code}.md)"


def peers_page() -> str:
    """Each detector of other tools and its home here, and each thing that users ask for."""
    return "\n".join(_peers()) + "\n"


def _peers() -> Iterator[str]:
    yield "# Detectors of other tools, and what users ask for\n"
    yield (
        "The detectors found in some thirty other tools, deduplicated, and where each has its home here. Their\n"
        "thresholds are starting points only: rules here judge change against the run's own past. `comparison.md` has\n"
        "what the tools say on the same trainings."
    )
    yield "\n## Detectors\n\n| # | detector | home |\n|---|---|---|"
    for number, row in DETECTORS.items():
        yield f"| {number} | {row.seen} | {answer(row)} |"
    yield "\n## What users ask for\n\n| # | ask | answer |\n|---|---|---|"
    for number, row in ASKS.items():
        yield f"| {number} | {row.seen} | {answer(row)} |"
