"""`kill -9` loses at most one second, and what is left can be read and resumed."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.hostile.kills import PACES, kill_after

from bedside.record.sqlite.writer import Store

KILLS = 2  # of each pace; `make hostile` makes 200


@pytest.mark.parametrize("pace", PACES)
def test_killing_a_training_loses_at_most_one_second(tmp_path: Path, pace: str) -> None:
    for attempt in range(KILLS):
        folder = tmp_path / f"run-{attempt}"
        found = kill_after(folder, random.uniform(1.5, 4.0), pace, evaluates=pace == "usual")
        store = Store.resume(folder)
        assert store.last_step >= found.recorded - 1
        store.close()
        assert found.lost_seconds <= 1.0, found
