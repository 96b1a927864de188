"""Real programs that are really harmed: each runs in a process of its own, and is judged by what it leaves behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
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


def boxed(program: str) -> str:
    """The same program with the black box and the guard on."""
    return program.replace("run_dir=", 'black_box=True, on_nan="skip", run_dir=')


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


MEASURED = """
import resource, sys
from bedside.cli import run
code = run(sys.argv[1:])
own = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
workers = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(f"{max(own, workers) // 1024} MB", file=sys.stderr)
sys.exit(code)
"""


@dataclass(frozen=True)
class Result:
    """What the command printed, how it ended, and what it took."""

    code: int
    out: str
    err: str
    seconds: float
    megabytes: int


def command(*arguments: str | Path, timeout: float = 120) -> Result:
    """The `bedside` command in a process of its own, measured."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *map(str, arguments)],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout,
    )
    *err, megabytes = done.stderr.splitlines()
    took = time.monotonic() - began
    return Result(done.returncode, done.stdout, "\n".join(err), took, int(megabytes.split()[0]))


def a_healthy_table(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("step,loss\n" + "".join(f"{step},{2 / (1 + 0.1 * step)}\n" for step in range(200)))


def is_a_three_line_error(result: Result) -> bool:
    lines = result.err.splitlines()
    expected = len(lines) == 3 and lines[1].startswith("  Expected: ") and lines[2].startswith("  Try: ")
    return result.code == 2 and expected and "bedside itself failed" not in result.err
