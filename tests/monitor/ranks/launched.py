"""Starts `programs.py` under torchrun, as a user would."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAMS = Path(__file__).with_name("programs.py")
PATIENCE = 150  # seconds: a hang is a failure, not a test that never ends


def launched(folder: Path, *programs: str, ranks: int = 2, check: bool = True, restarts: int = 0) -> str:
    """Run these programs one after the other on every rank; returns everything that was printed."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    command = [*launcher, f"--max-restarts={restarts}", str(PROGRAMS), str(folder), *programs]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=environment, cwd=folder)
    printed = done.stdout + done.stderr
    assert not check or done.returncode == 0, printed[-4000:]
    return printed
