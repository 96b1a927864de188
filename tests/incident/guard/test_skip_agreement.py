"""Two real processes: all ranks leave a step out, or none does; and nobody waits for a rank without a guard."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys, torch, bedside
import torch.distributed as dist
from datetime import timedelta
from torch import nn
from bedside.incident.guard import skip_agreement
dist.init_process_group("gloo")
skip_agreement.PATIENCE = timedelta(seconds=3)
rank, guarded = dist.get_rank(), sys.argv[2].split(",")
torch.manual_seed(0)
model = nn.Linear(4, 2)  # not DDP: each rank has gradients of its own
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
options = {"on_nan": "skip"} if str(rank) in guarded else {}
with bedside.watch(model, optimizer, run_dir=sys.argv[1], quiet=True, **options) as monitor:
    for step in range(20):
        optimizer.zero_grad()
        x = torch.full((8, 4), float("nan")) if rank == 1 and step == 7 else torch.ones(8, 4)
        model(x).square().mean().backward()
        optimizer.step()
    taken = int(optimizer.state_dict()["state"][0]["step"])
    finite = all(bool(torch.isfinite(p).all()) for p in model.parameters())
    print(f"rank {rank}: taken {taken}, finite {finite}, guarded {monitor.summary()['guarded_steps']}", flush=True)
dist.barrier()
dist.destroy_process_group()
"""


def launched(tmp_path, guarded: str) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command = [*launcher, str(script), str(tmp_path / "run"), guarded]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)


def test_both_skip_the_step_that_is_bad_on_one(tmp_path):
    done = launched(tmp_path, "0,1")
    assert done.returncode == 0, done.stderr
    assert "rank 0: taken 19, finite True, guarded 1" in done.stdout
    assert "rank 1: taken 19, finite True, guarded 1" in done.stdout


def test_a_rank_without_a_guard_is_not_waited_for(tmp_path):
    done = launched(tmp_path, "0")
    assert done.returncode == 0, done.stderr
    assert "rank 0: taken 20, finite True, guarded 0" in done.stdout
    assert "bedside guards no step: on_nan= has to be given on every rank" in done.stderr
