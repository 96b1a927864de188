"""The scaffolding scripts, run into a copy of the house: what they make must import, lint, and be in its place."""

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


def clean(copy: Path, *paths: str) -> None:
    for mode in (["check"], ["format", "--check"]):
        done = run(copy, "-m", "ruff", *mode, "--no-cache", *paths)
        assert done.returncode == 0, done.stdout


def test_a_new_rule_is_complete_but_for_its_thought(copy):
    made = run(copy, "scripts/new_rule.py", "GRD198", "sleeping-head", "--needs", "grad_norm per module")
    assert made.returncode == 0, made.stderr
    files = ["src/bedside/rules/sleeping_head.py", "src/bedside/rules/__init__.py", "tests/rules/test_sleeping_head.py"]
    clean(copy, *files)
    listed = run(copy, "-c", "from bedside.rules import CATALOGUE; print(*[r.code for r in CATALOGUE])").stdout.split()
    gradients = [code for code in listed if code.startswith("GRD")]
    assert gradients[-1] == "GRD198"  # in code order, and with its family
    assert listed.index("GRD198") - listed.index(gradients[0]) == len(gradients) - 1
    told = run(copy, "-c", "from bedside.cli import main; main()", "explain", "sleeping-head")
    assert "gradients · warning · preview since" in told.stdout
    assert "needs grad_norm per module" in told.stdout
    tested = run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/rules/test_sleeping_head.py")
    assert "1 failed, 1 passed" in tested.stdout  # silent on a healthy run; has not learnt to speak


def test_a_new_vital_is_in_the_vocabulary_with_a_test_that_waits_for_it(copy):
    made = run(copy, "scripts/new_vital.py", "sleeping_fraction", "--moment", "forward", "--per", "module")
    assert made.returncode == 0, made.stderr
    files = ["src/bedside/collect/sleeping_fraction.py", "src/bedside/record/vocabulary.py"]
    clean(copy, *files, "tests/collect/test_sleeping_fraction.py")
    told = run(copy, "-c", "from bedside.record.vocabulary import VITALS; print(VITALS['sleeping_fraction'].per_owner)")
    assert told.stdout == "sleeping_fraction per module\n"
    tested = run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/collect/test_sleeping_fraction.py")
    assert "NotImplementedError" in tested.stdout


@pytest.mark.parametrize(
    ("args", "first"),
    [
        (["new_rule.py", "NUM101", "new-name"], "NUM101 is nonfinite-loss."),
        (["new_rule.py", "XYZ101", "new-name"], "No family is called 'XYZ'."),
        (["new_rule.py", "NUM198", "New Name"], "'New Name' is not a rule's name."),
        (["new_rule.py", "NUM198", "nonfinite-loss"], "src/bedside/rules/nonfinite_loss.py is already there."),
        (["new_rule.py", "NUM198", "new-name", "--needs", "grad_nrom"], "No vital is called 'grad_nrom'."),
        (["new_vital.py", "loss", "--moment", "loss"], "loss is in the vocabulary already."),
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
