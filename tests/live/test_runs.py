"""How often runs are judged again: all verdicts together take a tenth of a core, however many runs grow."""

from __future__ import annotations

import asyncio

import pytest
from tests.live.records import GrowingRecord

from bedside.live import runs as module
from bedside.live.runs import REST, Runs
from bedside.live.served_folder import Folder

SECONDS = 2.0  # that each verdict takes


@pytest.fixture
def judged(tmp_path, monkeypatch):
    """Three runs that have grown and were judged again."""
    records = [GrowingRecord(tmp_path / name) for name in "abc"]
    runs = Runs(Folder(tmp_path))
    monkeypatch.setattr(module.time, "monotonic", lambda: 100.0)

    async def judge() -> None:
        async def answer(*_):
            return {"seconds": SECONDS, "signature": None, "row": {}}

        runs.work = answer
        runs._turn = asyncio.Semaphore(1)
        for _ in range(2):
            for name in "abc":
                await runs._judged(name, runs.folder.run(name), 0.0)

    for record in records:
        record.grow(10)
    asyncio.run(judge())
    yield runs
    for record in records:
        record.close()


def test_a_run_in_the_list_waits_for_what_all_growing_runs_cost(judged):
    assert judged._wait("a", soon=False) == REST * 3 * SECONDS


def test_a_run_that_somebody_looks_at_waits_for_its_own_cost(judged):
    assert judged._wait("a", soon=True) == REST * SECONDS


def test_a_run_that_was_never_judged_does_not_wait(judged):
    assert judged._wait("new", soon=False) == 0.0
