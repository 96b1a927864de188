"""Two ranks on one machine: this process is rank 0, and one process beside it is rank 1."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import torch
from torch import distributed

from bedside.zoo.specimen import Case

Work = Callable[[Case, int], None]
PATIENCE = timedelta(seconds=60)  # for a rank that does not come, or does not end


def two_ranks(case: Case, work: Work) -> None:
    """Run `work(case, rank)` on two ranks that can talk to each other. `work` stands at the top of its module."""
    with tempfile.TemporaryDirectory(prefix="bedside-zoo-") as folder:
        meeting = Path(folder) / "meeting"
        case_json = json.dumps([case.sick, case.severity, case.seed, str(case.folder)])
        command = [sys.executable, "-m", __name__, work.__module__, work.__name__, str(meeting), case_json]
        other = subprocess.Popen(command)
        try:
            _join(0, meeting)
            work(case, 0)
        finally:
            if distributed.is_initialized():
                distributed.destroy_process_group()
            try:
                other.wait(PATIENCE.total_seconds())
            except subprocess.TimeoutExpired:
                other.kill()
                other.wait()


def _join(rank: int, meeting: Path) -> None:
    distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2, timeout=PATIENCE)


def rank_one(module: str, function: str, meeting: str, case_json: str) -> None:
    """What the other process does."""
    sick, severity, seed, folder = json.loads(case_json)
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    _join(1, Path(meeting))
    getattr(importlib.import_module(module), function)(Case(sick, severity, seed, Path(folder)), 1)
    distributed.destroy_process_group()


if __name__ == "__main__":
    rank_one(*sys.argv[1:])
