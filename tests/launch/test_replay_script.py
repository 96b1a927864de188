"""`bedside replay INCIDENT --script train.py`: the loop of an unchanged script runs the kept step again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import sys, torch, bedside
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

print("the script's own output")
torch.manual_seed(0)
x, y = torch.rand(320, 4), torch.randint(0, 3, (320,))
x[{bad}, 0] = -4.0

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.drop, self.last = nn.Linear(4, 16), nn.Dropout(0.5), nn.Linear(16, 3)
    def forward(self, x):
        return self.last(self.drop(self.first(x)).relu()) * (x[:, :1] + 3).{operation}()

model = Net()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
monitor = bedside.watch(model, optimizer, run_dir={run!r}, black_box=True, quiet=True)
for epoch in range(2):
    for number, (inputs, targets) in enumerate(DataLoader(TensorDataset(x, y), 16, shuffle=True)):
        loss = F.cross_entropy(model(inputs), targets) / {accumulate}
        loss.backward()
        if number % {accumulate} == {accumulate} - 1:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
monitor.log(val_loss=1.0)
monitor.close()
"""


def run(*command: object) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, timeout=240, env=env)


def written(tmp_path: Path, *, bad: str = "77", accumulate: int = 1, operation: str = "log") -> Path:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT.format(bad=bad, accumulate=accumulate, operation=operation, run=str(tmp_path / "run")))
    done = run(script)
    assert done.returncode == 0, done.stderr
    return script


def replayed(tmp_path: Path, *more: object) -> subprocess.CompletedProcess[str]:
    return run("-m", "bedside", "replay", tmp_path / "run", *more)


@pytest.mark.parametrize("accumulate", [1, 4])
def test_the_script_fails_again_with_the_same_bits_and_is_then_left(tmp_path, accumulate):
    script = written(tmp_path, accumulate=accumulate)
    before = sorted(each.name for each in tmp_path.iterdir())
    done = replayed(tmp_path, "--script", script)
    assert done.returncode == 1, done.stderr
    assert "fails again: nonfinite loss, loss" in done.stdout
    assert "the same bits as then" in done.stdout
    assert "operation aten.log in the model itself" in done.stdout
    assert "train.py:17 in forward" in done.stdout
    assert "(index 77 of the data set): run again with NaN, without" in done.stdout
    assert "the script's own output" in done.stderr
    assert sorted(each.name for each in tmp_path.iterdir()) == before, "no second record"


def test_a_repaired_script_does_not_fail_again(tmp_path):
    script = written(tmp_path)
    script.write_text(script.read_text().replace("+ 3).log()", "+ 3).abs().log()"))
    done = replayed(tmp_path, "--script", script, "--format", "json")
    assert done.returncode == 0, done.stderr
    again = json.loads(done.stdout)
    assert again["reproduced"] is False
    assert "does not fail again" in again["text"]


def test_without_a_script_the_incident_is_described(tmp_path):
    written(tmp_path)
    done = replayed(tmp_path)
    assert done.returncode == 0
    assert "the loss is NaN" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--script", "no_such.py"], "There is no script 'no_such.py'."),
        (["--script", "{other}"], "The script did not come to the kept step"),
        (["--scirpt", "x"], "No option is called '--scirpt'."),
    ],
)
def test_what_cannot_be_replayed_is_three_lines_and_exit_code_2(tmp_path, arguments, what):
    written(tmp_path)
    other = tmp_path / "other.py"
    other.write_text("import torch\nmodel = torch.nn.Linear(2, 2)\nmodel(torch.ones(1, 2)).sum().backward()\n")
    done = replayed(tmp_path, *(each.format(other=other) for each in arguments))
    assert done.returncode == 2
    assert what in done.stderr
    assert len(done.stderr.strip().splitlines()) == 3


def test_a_healthy_run_has_nothing_to_replay(tmp_path):
    written(tmp_path, bad="[]")
    done = replayed(tmp_path)
    assert done.returncode == 2
    assert "holds no incident" in done.stderr


WITHOUT_A_LOADER = """
import torch, bedside
from torch import nn
torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
with bedside.watch(model, optimizer, run_dir={run!r}, black_box=True, quiet=True):
    for step in range(60):
        x = torch.rand(8, 4)
        if step == 30:
            x[6, 2] = -5.0
        optimizer.zero_grad()
        (model(x.add(1).log()) - x.sum(1, keepdim=True)).square().mean().backward()
        optimizer.step()
"""


def test_a_loop_that_makes_its_own_batches_is_replayed_with_the_kept_inputs(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(WITHOUT_A_LOADER.format(run=str(tmp_path / "run")))
    assert run(script).returncode == 0
    done = replayed(tmp_path, "--script", script)
    assert done.returncode == 1, done.stderr
    assert "in batch.inputs[0]" in done.stdout, "the input of the model was NaN already"
    assert "The cause is row 6: run again with NaN, without" in done.stdout
