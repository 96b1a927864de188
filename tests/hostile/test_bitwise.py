"""Wherever a model keeps its state, a watched training is the unwatched one, to the last bit.

These are the models of `benchmarks/stateful_models.py`; `python -m benchmarks.bitwise` adds the zoo and the healthy
programs.
"""

from __future__ import annotations

import pytest
from benchmarks.bitwise import Training, compare
from benchmarks.stateful_models import TRAININGS


@pytest.mark.parametrize("name", TRAININGS)
def test_a_training_is_the_same_watched_and_not(name: str) -> None:
    found = compare(Training("stateful", name, TRAININGS[name]), steps=60)
    assert found["steps"] >= 12
    assert found["result"] == "same", found


def test_the_comparison_would_notice_one_random_number(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    import bedside

    watch = bedside.watch
    monkeypatch.setattr(bedside, "watch", lambda *args, **options: (torch.rand(1), watch(*args, **options))[1])
    assert compare(Training("stateful", "dict", TRAININGS["dict"]), steps=60)["result"] == "different"
