"""The examples run, and the three that teach the vitals print the same numbers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent / "examples"


def printed(name: str) -> str:
    command = [sys.executable, "-W", "error", str(EXAMPLES / name)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_same_vitals_by_hand_in_numpy_and_with_bedside():
    by_hand = printed("vitals_by_hand.py")
    assert len(by_hand.splitlines()) == 7
    assert printed("vitals_in_numpy.py") == by_hand
    assert printed("vitals_with_bedside.py") == by_hand


def test_the_lab_runs_on_a_small_classifier():
    told = printed("lab.py")
    assert "Use a learning rate of about" in told
    assert "won 3 of 3" in told


def test_preflight_passes_a_healthy_classifier_and_finds_the_softmax():
    told = printed("preflight.py")
    assert " 0 failed" in told
    assert "PRE102 loss-fits-output: cross_entropy takes scores" in told
