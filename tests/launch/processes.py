"""Runs a script as `python` does and as `bedside run` does, in real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

PYTHON = [sys.executable]
BEDSIDE = [sys.executable, "-m", "bedside", "run"]

TRAINING = """
import os, signal, sys, torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
w = torch.randn(8, 3)
for step in range(80):
    x = torch.randn(32, 8)
    loss = nn.functional.cross_entropy(model(x), (x @ w).argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step == 59:
        {at_step_59}
print("weights", float(sum(p.sum() for p in model.parameters())))
"""


def run(command: list[str], folder: Path, **more: Any) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "OMP_NUM_THREADS": "1", **more.pop("env", {})}
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=280, env=env, preexec_fn=interruptible, **more
    )


def interruptible() -> None:
    """In the child: what is started in the background of a shell inherits that Ctrl-C is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def written(folder: Path, text: str, name: str = "script.py") -> str:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return name


def without_the_report(stderr: str) -> str:
    """What the script itself wrote."""
    lines = [line for line in stderr.splitlines() if not line.startswith("bedside: ")]
    begins = next((i for i, line in enumerate(lines) if "bedside-runs/" in line), len(lines))
    return "\n".join(lines[:begins]).rstrip("\n")
