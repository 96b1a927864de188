"""The scaffolding scripts refuse what cannot be; that what they make works is tested in test_contributing.py."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def copy(tmp_path):
    for folder in ("src", "scripts"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def run(copy: Path, *args: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PYTHONPATH": str(copy / "src")}
    return subprocess.run([sys.executable, *args], cwd=copy, capture_output=True, text=True, check=False, env=env)


@pytest.mark.parametrize(
    ("args", "first"),
    [
        (["new_rule.py", "NUM101", "new-name"], "NUM101 is nonfinite-loss."),
        (["new_rule.py", "XYZ101", "new-name"], "No family is called 'XYZ'."),
        (["new_rule.py", "NUM198", "New Name"], "'New Name' is not a rule's name."),
        (["new_rule.py", "NUM198", "nonfinite-loss"], "src/bedside/rules/nonfinite_loss.py is already there."),
        (["new_rule.py", "NUM198", "new-name", "--needs", "grad_nrom"], "No vital is called 'grad_nrom'."),
        (["new_vital.py", "loss", "--moment", "loss"], "loss is in the vocabulary already."),
        (
            ["new_specimen.py", "dead-relu", "--expects", "dead-units"],
            "src/bedside/zoo/specimens/dead_relu.py is already there.",
        ),
        (["new_specimen.py", "sleepy", "--expects", "dead-unit"], "No rule is called 'dead-unit'."),
        (
            ["new_specimen.py", "sleepy", "--expects", "dead-units", "--model", "MPL"],
            "No kind of model is called 'MPL'.",
        ),
        (["new_vital.py", "Loss", "--moment", "loss"], "'Loss' is not a vital's name."),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(copy, args, first):
    before = sorted(copy.rglob("*.py"))
    done = run(copy, f"scripts/{args[0]}", *args[1:])
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == first
    assert done.stderr.splitlines()[1].startswith("  Expected: ")
    assert sorted(copy.rglob("*.py")) == before
