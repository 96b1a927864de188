"""The fixture in pytest sessions of their own, as a project would have them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HEAVY = ("numpy", "torch", "rich", "click")
LOGS = """
import math

def log(path, losses):
    path.write_text("step,train_loss\\n" + "".join(f"{i},{x}\\n" for i, x in enumerate(losses)))
    return path

FALLING = [2.3 * 0.97**i + 0.1 for i in range(200)]
BROKEN = [*FALLING[:60], *[math.nan] * 40]
"""


def session(folder: Path, tests: str, *options: str, **env: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(tests)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GITHUB")}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=clean | env)


TESTS = (
    LOGS
    + """
import pytest, bedside

def test_healthy(bedside_healthy, tmp_path):
    assert bedside_healthy(log(tmp_path / "a.csv", FALLING), ignore=["GEN"]).verdict == "healthy"

def test_sick(bedside_healthy, tmp_path):
    bedside_healthy(log(tmp_path / "a.csv", BROKEN))

def test_short(bedside_healthy, tmp_path):
    bedside_healthy(log(tmp_path / "a.csv", FALLING[:5]))

def test_short_on_purpose(bedside_healthy, tmp_path):
    assert bedside_healthy(log(tmp_path / "a.csv", FALLING[:5]), allow_unclear=True).verdict == "unclear"

def test_sick_is_never_allowed(bedside_healthy, tmp_path):
    with pytest.raises(pytest.fail.Exception, match="nonfinite-loss"):
        bedside_healthy(log(tmp_path / "a.csv", BROKEN), allow_unclear=True)

def test_a_diagnosis(bedside_healthy, tmp_path):
    diagnosis = bedside.diagnose(log(tmp_path / "a.csv", FALLING), ignore=["GEN"])
    assert bedside_healthy(diagnosis) is diagnosis

def test_nowhere(bedside_healthy, tmp_path):
    bedside_healthy(tmp_path / "nowhere")
"""
)


def test_it_fails_what_is_not_healthy_and_says_why(tmp_path):
    done = session(tmp_path, TESTS)
    assert done.returncode == 1
    failed = [line.split("::")[1].split()[0] for line in done.stdout.splitlines() if line.startswith("FAILED")]
    assert failed == ["test_sick", "test_short", "test_nowhere"], done.stdout
    assert "NUM101 nonfinite-loss" in done.stdout
    assert "bedside_healthy(run, allow_unclear=True)" in done.stdout
    assert "nowhere does not exist." in done.stdout
    assert "Expected: a run folder or a log file" in done.stdout
    assert "pytest_plugin.py" not in done.stdout  # the reader's own lines only
    assert "::error" not in done.stdout


def test_on_github_a_failure_is_an_annotation_also_from_workers(tmp_path):
    done = session(tmp_path, TESTS, "-n", "1", GITHUB_ACTIONS="true")
    annotations = [line for line in done.stdout.splitlines() if line.startswith("::error")]
    assert len(annotations) == 1, done.stdout
    assert "NUM101 nonfinite-loss" in annotations[0]


def test_a_monitor_can_be_given_while_it_watches(tmp_path):
    tests = """
import bedside, torch

def test_training(bedside_healthy, tmp_path):
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True) as monitor:
        for _ in range(30):
            x = torch.randn(32, 4)
            loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        assert bedside_healthy(monitor, allow_unclear=True).steps == 30
    assert bedside_healthy(monitor.run_dir, allow_unclear=True).steps == 30
"""
    done = session(tmp_path, tests)
    assert done.returncode == 0, done.stdout


def test_other_tests_pay_nothing_for_it(tmp_path):
    tests = f"""
import sys

def test_theirs(pytestconfig):
    assert pytestconfig.pluginmanager.has_plugin("bedside")
    assert not [name for name in {HEAVY} if name in sys.modules]
    assert sorted(name for name in sys.modules if name.startswith("bedside")) == ["bedside", "bedside.pytest_plugin"]
"""
    others = ["no:hypothesispytest", "no:anyio", "no:xdist", "no:timeout", "no:typeguard", "no:jaxtyping"]
    done = session(tmp_path, tests, *[word for each in others for word in ("-p", each)])
    assert done.returncode == 0, done.stdout
