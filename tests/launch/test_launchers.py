"""Under torchrun and accelerate, and in front of them: every rank is watched, and rank 0 speaks."""

from __future__ import annotations

import sys

import pytest
from tests.launch.processes import BEDSIDE, run, written

import bedside
from bedside.errors import BadOption
from bedside.launch.launchers import launcher_command
from bedside.record.sqlite.reader import open_run

SCRIPT = """
import sys, torch
import torch.distributed as dist
from torch import nn
dist.init_process_group("gloo")
torch.manual_seed(0)
model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
torch.manual_seed(dist.get_rank())
for _ in range(30):
    x = torch.randn(16, 8)
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), (x.sum(1) > 0).long()).backward()
    optimizer.step()
if dist.get_rank() == 0:
    print("done", sys.argv[1:])
dist.destroy_process_group()
"""


@pytest.mark.slow
@pytest.mark.parametrize("place", ["in front", "under"])
def test_every_rank_keeps_a_record_and_rank_0_reports(tmp_path, place):
    name = written(tmp_path, SCRIPT)
    torchrun = ["--standalone", "--nproc-per-node=2"]
    ours = ["--run-dir", str(tmp_path / "run")]
    if place == "in front":
        command = [*BEDSIDE, *ours, "torchrun", *torchrun, name, "--lr", "3"]
    else:
        command = [
            sys.executable,
            "-m",
            "torch.distributed.run",
            *torchrun,
            "-m",
            "bedside",
            "run",
            *ours,
            name,
            "--lr",
            "3",
        ]
    launched = run(command, tmp_path)
    assert launched.returncode == 0, launched.stderr
    assert launched.stdout == "done ['--lr', '3']\n"
    assert launched.stderr.count("30 steps") == 1
    assert [open_run(tmp_path / "run", rank).steps for rank in (0, 1)] == [30, 30]
    assert bedside.load(tmp_path / "run").owners("grad_norm") == ["0", "2"]


def test_the_launcher_s_own_parser_finds_the_script():
    command = launcher_command(["torchrun", "--nproc-per-node", "2", "train.py", "--nproc-per-node", "9"], ["--quiet"])
    assert command[3:] == [
        "--nproc-per-node",
        "2",
        "-m",
        "bedside",
        "run",
        "--quiet",
        "train.py",
        "--nproc-per-node",
        "9",
    ]
    command = launcher_command(["torchrun", "-m", "pkg.train", "-x"], [])
    assert command[3:] == ["-m", "bedside", "run", "-m", "pkg.train", "-x"]
    command = launcher_command(["accelerate", "launch", "--cpu", "train.py", "--a"], [])
    assert command[3:] == ["launch", "--cpu", "-m", "bedside", "run", "train.py", "--a"]
    assert launcher_command(["train.py", "torchrun"], []) is None


def test_a_program_that_is_no_python_is_refused():
    with pytest.raises(BadOption, match="--no-python"):
        launcher_command(["torchrun", "--no-python", "./train.sh"], [])
