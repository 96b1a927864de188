"""The recipes of the page about CI work as they stand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import yaml

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "ci.md").read_text(encoding="utf-8")
TRAIN = """
import torch
torch.manual_seed(0)
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr={rate})
for _ in range(80):
    x = torch.randn(32, 8)
    loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def block(language: str) -> str:
    [code] = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(code)


def test_the_tests_of_the_page_pass(tmp_path):
    (tmp_path / "test_page.py").write_text(block("python"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def workflow(folder: Path, rate: float) -> list[subprocess.CompletedProcess[str]]:
    (folder / "train.py").write_text(TRAIN.format(rate=rate))
    commands = [step["run"] for step in yaml.safe_load(block("yaml")) if "run" in step]
    assert [each.split()[1] for each in commands] == ["run", "diagnose", "report"]
    return [
        subprocess.run(
            [sys.executable, "-m", *each.split()], cwd=folder, capture_output=True, text=True, check=False, timeout=120
        )
        for each in commands
    ]


def test_the_workflow_fails_where_the_training_diverges(tmp_path):
    run, diagnose, report = workflow(tmp_path, rate=3.0)
    assert (run.returncode, diagnose.returncode, report.returncode) == (0, 1, 0)
    assert diagnose.stdout.startswith("::error title=")
    assert "Try%3A" in diagnose.stdout or "Try: " in diagnose.stdout
    assert (tmp_path / "report.html").stat().st_size > 10_000


def test_the_workflow_passes_where_it_does_not(tmp_path):
    run, diagnose, _ = workflow(tmp_path, rate=0.05)
    assert (run.returncode, diagnose.returncode) == (0, 0), diagnose.stdout
