"""How a run was made, and what watching it cost: the tables at the end of a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bedside.record.run import Run
from bedside.wording import count, number, percent, printable, value, words

MAX_ROWS = 200
MAX_CHARACTERS = 300  # of one value: a config may hold a whole dataset


def facts(run: Run) -> list[dict[str, Any]]:
    """Tables of [name, value], those without a row left out."""
    tables = [
        ("Configuration", list(_flat(run.config))),
        ("Environment", list(_flat(run.environment))),
        ("Model", list(_model(run))),
        ("What watching cost", list(_cost(run))),
    ]
    return [{"title": title, "rows": rows[:MAX_ROWS]} for title, rows in tables if rows]


def _flat(given: Mapping[str, Any], name: str = "") -> Iterator[list[str]]:
    """Settings within settings under dotted names."""
    for key, each in given.items():
        full = f"{name}.{key}" if name else str(key)
        if isinstance(each, Mapping) and each:
            yield from _flat(each, full)
        elif isinstance(each, list) and each and all(isinstance(item, Mapping) for item in each):
            for place, item in enumerate(each):
                yield from _flat(item, f"{full}.{place}" if len(each) > 1 else full)
        else:
            said = "none" if each is None else value(each)
            yield [printable(full), said if len(said) <= MAX_CHARACTERS else said[:MAX_CHARACTERS] + " …"]


def _model(run: Run) -> Iterator[list[str]]:
    if not run.parameters:
        return
    yield ["parameter tensors", count(len(run.parameters))]
    yield ["parameters", count(sum(each.size for each in run.parameters))]
    yield ["trainable", count(sum(each.size for each in run.parameters if each.trainable))]
    yield ["kept as", ", ".join(dict.fromkeys(each.dtype for each in run.parameters))]


def _cost(run: Run) -> Iterator[list[str]]:
    """What bedside itself took, as the run measured it."""
    events = run.events_of("cost")
    if not events:
        return
    cost = events[-1].data
    share, budget = cost.get("share"), cost.get("budget")
    if isinstance(share, float):
        yield ["share of the step time", percent(share)]
    yield ["budget", "none: everything was read at every step" if budget is None else percent(float(budget))]
    for name, microseconds in sorted(dict(cost.get("microseconds", {})).items(), key=lambda each: -float(each[1])):
        every = cost.get("every", {}).get(name, 1)
        when = "every step" if every == 1 else f"every {count(every)} steps"
        yield [words(name), f"{number(float(microseconds))} µs, {when}"]
