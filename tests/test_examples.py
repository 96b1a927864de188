"""The examples run, and the three that teach the vitals print the same numbers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bedside.lab import EXPERIMENTS

EXAMPLES = Path(__file__).parent.parent / "examples"


def printed(name: str, folder: Path | None = None) -> str:
    command = [sys.executable, "-W", "error", str(EXAMPLES / name)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_the_same_vitals_by_hand_in_numpy_and_with_bedside():
    by_hand = printed("vitals_by_hand.py")
    assert len(by_hand.splitlines()) == 7
    assert printed("vitals_in_numpy.py") == by_hand
    assert printed("vitals_with_bedside.py") == by_hand


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_example_of_every_experiment_says_what_its_page_shows(name, tmp_path):
    said = printed(f"lab/{name}.py", tmp_path)
    shown = (EXAMPLES.parent / f"docs/pictures/lab/{name}.txt").read_text(encoding="utf-8")
    assert said.split()[:3] == shown.split()[:3]  # the answer; its digits may differ on another processor
    assert (tmp_path / f"{name}.png").exists() == (EXAMPLES.parent / f"docs/pictures/lab/{name}.png").exists()
