"""Tensors that were moved, cut or freed while they are watched: nothing of ours reads memory that is not theirs."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import bedside
from bedside.collect.reading.array_view import array_view

# Whoever reads where nothing is ends the process, so this one is its own. Names what it survived.
PROGRAM = """
import sys, tempfile
import torch
from torch import nn
import bedside
from bedside.collect.reading.native import sums as native

def taken_away(weight): weight.data = torch.empty(0)
def cut(weight): weight.data, weight.grad = weight.data[:10].clone(), None
def cut_where_it_lies(weight): weight.data = weight.data[:1]
def cut_its_gradient(weight): weight.grad.data = weight.grad.data[:10].clone()
def halved(weight): weight.data = weight.data.half()
def freed(weight): weight.grad = None; weight.data.untyped_storage().resize_(0)

assert sys.argv[1] == "plain" or native.load()
vitals, steps = (None, 12) if sys.argv[2] == "everything" else (["grad_norm", "update_norm", "param_norm"], 112)
for change in (taken_away, cut, cut_where_it_lies, cut_its_gradient, halved, freed):
    model = nn.Sequential(nn.Linear(200, 300), nn.ReLU(), nn.Linear(300, 200), nn.ReLU(), nn.Linear(200, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    folder = tempfile.mkdtemp() + "/run"
    monitor = bedside.watch(model, optimizer, run_dir=folder, quiet=True, budget=None, vitals=vitals)
    for step in range(steps):
        optimizer.zero_grad()
        try:
            model(torch.randn(8, 200)).square().mean().backward()
            if step == steps - 4:
                change(model[2].weight)
            optimizer.step()
        except RuntimeError:
            pass  # torch's own, about shapes that do not fit
        if change is freed and step == steps - 4:
            break  # the next forward of torch itself would read it
    monitor.close()
    print(change.__name__, flush=True)
"""


@pytest.mark.parametrize("way", ["plain", "native"])
@pytest.mark.parametrize("what", ["everything", "norms on the fast path"])
@pytest.mark.timeout(900)
def test_a_parameter_that_changes_in_the_middle_of_a_step_ends_no_process(what, way):
    if way == "native":
        pytest.importorskip("numba")
    environment = os.environ | {"OMP_NUM_THREADS": "1", **({"BEDSIDE_NATIVE": "0"} if way == "plain" else {})}
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, way, what]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=800)
    survived = ["taken_away", "cut", "cut_where_it_lies", "cut_its_gradient", "halved", "freed"]
    assert (done.returncode, done.stdout.split()) == (0, survived), done.stderr[-2000:]


class GivesBack(nn.Module):
    """As reversible nets do: what a layer was given is thrown away and computed anew in the backward pass."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(300, 300), nn.ReLU()) for _ in range(3))
        self.head = nn.Linear(300, 1)

    def forward(self, x):
        for layer in self.layers:
            before, x = x, layer(x).detach()
            before.untyped_storage().resize_(0)
        return self.head(x)


def test_outputs_whose_memory_is_given_back_during_the_forward_are_read_in_time(tmp_path, way):
    model = GivesBack()
    optimizer = torch.optim.SGD(model.head.parameters(), lr=0.1)
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True, budget=None):
        for _ in range(5):
            optimizer.zero_grad()
            F.mse_loss(model(torch.randn(64, 300)), torch.randn(64, 1)).backward()
            optimizer.step()
    run = bedside.load(tmp_path / "run")
    assert len(run.series("activation_rms", "layers.0.1")), "read, though it is freed before the forward ends"


def test_a_tensor_that_was_looked_at_can_still_be_resized():
    tensor = torch.arange(6.0, requires_grad=True)
    view = array_view(tensor)
    assert view.tolist() == [0, 1, 2, 3, 4, 5]
    tensor.data.untyped_storage().resize_(0)  # `tensor.numpy()` would forbid it


def test_parameters_and_batches_can_be_resized_after_they_were_watched(tmp_path, way):
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = torch.optim.AdamW(model.parameters())
    inputs, targets = torch.randn(16, 4), torch.randint(2, (16,))
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True, budget=None):
        for _ in range(3):
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
    for each in (inputs, targets, *(p.data for p in model.parameters()), *(p.grad for p in model.parameters())):
        each.untyped_storage().resize_(each.untyped_storage().nbytes() + 64)
