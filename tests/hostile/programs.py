"""Real programs that are really harmed: each runs in a process of its own, and is judged by what it leaves behind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

# A training that says at its end what it would save. The parts in braces are the attack's.
TRAINING = """
import hashlib, os, sys, time, warnings
import torch, bedside
from pathlib import Path
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
def train(steps):
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(16, 8)), torch.randint(2, (16,))).backward()
        optimizer.step()
def weights():
    return hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters())).hexdigest()
"""


def run(
    program: str,
    *arguments: str | Path,
    python: Sequence[str] = (),
    shell: str = "",
    timeout: float = 120,
    **options: object,
) -> subprocess.CompletedProcess[str]:
    """Run a program; `shell`, if given, is what runs `"$@"`."""
    command = [sys.executable, *python, "-c", TRAINING + program, *map(str, arguments)]
    if shell:
        command = ["sh", "-c", shell, "sh", *command]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        command, capture_output=True, text=True, errors="replace", timeout=timeout, env=environment, **options
    )  # type: ignore[call-overload, no-any-return]  # options are subprocess.run's own


def can_mount() -> bool:
    """Whether this machine lets a program have a small disk of its own."""
    try:
        done = subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True)
    except OSError:
        return False
    return done.returncode == 0


def on_a_small_disk(program: str, disk: Path, kilobytes: int) -> subprocess.CompletedProcess[str]:
    """Run a program whose first argument is a folder on a disk of this size; what lies there at its end is kept."""
    if not can_mount():
        pytest.skip("no user namespaces here: a full disk is tested with a limit on the size of files")
    disk.mkdir()
    kept = disk.with_name("kept")
    mounted = (
        f'unshare -rm sh -c \'mount -t tmpfs -o size={kilobytes}k none "{disk}" && '
        f'{{ "$@"; code=$?; cp -r "{disk}" "{kept}"; exit $code; }}\' sh "$@"'
    )
    return run(program, disk, shell=mounted)
