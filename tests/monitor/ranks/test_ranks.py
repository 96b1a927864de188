"""Two real processes under torchrun: one file a rank, the same names and the same reduced gradients."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from bedside.record.sqlite.reader import open_run

SCRIPT = """
import sys, torch, bedside
import torch.distributed as dist
from torch import nn
dist.init_process_group("gloo")
torch.manual_seed(0)
model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
torch.manual_seed(dist.get_rank())
with bedside.watch(model, optimizer, run_dir=sys.argv[1], quiet=True):
    for _ in range(30):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(16, 8)), torch.randint(2, (16,))).backward()
        optimizer.step()
dist.destroy_process_group()
"""


def test_two_ranks_keep_a_file_each_and_agree_on_the_gradient(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run([*launcher, str(script), str(tmp_path / "run")], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    first, second = (open_run(tmp_path / "run", rank) for rank in (0, 1))
    assert first.owners("grad_norm") == second.owners("grad_norm") == ["0", "2"]
    assert first.steps == second.steps == 30
    np.testing.assert_allclose(first.series("grad_norm").values, second.series("grad_norm").values, rtol=1e-5)
    assert not np.allclose(first.loss.values, second.loss.values)  # each sees its own data
