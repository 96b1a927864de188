"""What is made of a watched model (saved, copied, scripted, traced, exported, compiled) is as if nobody watched."""

from __future__ import annotations

import copy
import io
import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import bedside


def train(steps, model, optimizer):
    for _ in range(steps):
        optimizer.zero_grad()
        F.mse_loss(model(torch.randn(8, 4)), torch.randn(8, 2)).backward()
        optimizer.step()


def a_model():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
    return model, torch.optim.SGD(model.parameters(), lr=0.01)


# The first step, a step that is read in full, and one on the fast path.
@pytest.fixture(params=[0, 3, 130])
def pair(request, tmp_path):
    """The same model after so many steps, watched and not."""
    plain, optimizer = a_model()
    train(request.param, plain, optimizer)
    watched, optimizer = a_model()
    vitals = {"vitals": ["loss"]} if request.param > 100 else {}
    monitor = bedside.watch(watched, optimizer, run_dir=tmp_path / "run", quiet=True, **vitals)
    train(request.param, watched, optimizer)
    yield watched, plain
    train(2, watched, optimizer)
    monitor.close()
    assert monitor.step == request.param + 2
    assert bedside.load(tmp_path / "run").loss.values.tolist()


def saved(value):
    file = io.BytesIO()
    torch.save(value, file)
    return file.getvalue()


def test_it_is_saved_byte_for_byte_the_same(pair):
    watched, plain = pair
    assert saved(watched) == saved(plain)
    assert saved(watched.state_dict()) == saved(plain.state_dict())


def test_the_file_is_loaded_with_safe_globals_where_bedside_is_not_installed(pair, tmp_path):
    watched, _ = pair
    torch.save(watched, tmp_path / "model.pt")
    program = f"""
import sys, torch
from torch import nn
sys.modules["bedside"] = None  # importing it fails
import torch.nn.modules as modules
safe = [nn.Sequential, nn.Linear, nn.BatchNorm1d, nn.ReLU, set]
with torch.serialization.safe_globals(safe):
    model = torch.load({str(tmp_path / "model.pt")!r}, weights_only=True)
assert model(torch.ones(3, 4)).shape == (3, 2)
print(torch.load({str(tmp_path / "model.pt")!r}, weights_only=False)(torch.ones(3, 4)).shape)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "[3, 2]" in done.stdout


def test_a_copy_has_nothing_of_ours(pair):
    watched, plain = pair
    for make in (copy.deepcopy, copy.copy):
        for one, other in zip(make(watched).modules(), make(plain).modules(), strict=True):
            assert vars(one).keys() == vars(other).keys()
            assert not one._forward_hooks
            assert not one._forward_pre_hooks


WAYS = {
    "script": torch.jit.script,
    "trace": lambda model: torch.jit.trace(model, torch.ones(3, 4)),
    "export": lambda model: torch.export.export(model, (torch.ones(3, 4),)).module(),
    "strict export": lambda model: torch.export.export(model, (torch.ones(3, 4),), strict=True).module(),
    "fx": torch.fx.symbolic_trace,
}


@pytest.mark.filterwarnings("ignore")  # torch's own
@pytest.mark.parametrize("way", WAYS)
def test_what_is_made_of_it_computes_the_same_by_the_same_code(way, pair):
    watched, plain = (WAYS[way](model.eval()) for model in pair)
    for model in pair:
        model.train()
    assert str(watched.code) == str(plain.code)
    assert torch.equal(watched(torch.ones(3, 4)), plain(torch.ones(3, 4)))


def test_called_with_other_weights_it_gives_what_these_give(pair):
    watched, plain = (
        torch.func.functional_call(model, {name: p * 2 for name, p in model.named_parameters()}, (torch.ones(3, 4),))
        for model in pair
    )
    assert torch.equal(watched, plain)


@pytest.mark.parametrize("in_place", [False, True])
def test_compiled_in_the_middle_of_a_run_it_has_the_same_graphs(in_place, pair):
    found = []
    for model in pair:
        torch._dynamo.reset()
        counter = torch._dynamo.testing.CompileCounter()
        if in_place:
            model.compile(backend=counter)
        compiled = model if in_place else torch.compile(model, backend=counter)
        torch.manual_seed(1)
        outputs = [compiled(torch.ones(3, 4)) for _ in range(3)]
        found.append((outputs[-1], counter.frame_count, counter.op_count))
    torch._dynamo.reset()
    assert found[0][1:] == found[1][1:]
    assert torch.equal(found[0][0], found[1][0])
