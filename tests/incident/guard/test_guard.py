"""A step that is left out changes nothing: weights, moments, weight decay and step counts; whatever the optimizer."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from bedside.incident.capture.step_check import StepCheck
from bedside.incident.guard.guard import Guard

OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1, weight_decay=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.1),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.1),
    "one by one": lambda p: torch.optim.AdamW(p, lr=0.1, foreach=False),
    "foreach": lambda p: torch.optim.Adam(p, lr=0.1, foreach=True, amsgrad=True, weight_decay=0.1),
    "fused AdamW": lambda p: torch.optim.AdamW(p, lr=0.1, fused=True),
    "fused SGD": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, fused=True),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=0.1, momentum=0.5),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1, weight_decay=0.1),
}


class NobodyReads(TorchDispatchMode):
    """An error where a number is taken off its device."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        assert "_local_scalar_dense" not in str(func), "the host has read a number"
        return func(*args, **(kwargs or {}))


def guarded(optimizer, *, wait=None, spike=None):
    decisions = []
    check = StepCheck(spike, guards_spikes=spike is not None)
    guard = Guard(check, lambda bad, _: decisions.append(bad), wait=wait)
    optimizer.register_step_pre_hook(guard.before_step)
    optimizer.register_step_post_hook(guard.after_step)
    return decisions, check


def step(model, optimizer, check, *, bad=False):
    check.begin()
    optimizer.zero_grad()
    loss = model(torch.ones(4, 3)).square().mean()
    loss.backward()
    check.losses = [loss.detach()]
    if bad:
        model[0].weight.grad[0, 0] = float("nan")
    optimizer.step()


def everything(model, optimizer):
    state = copy.deepcopy(optimizer.state_dict())
    return [*(p.detach().clone() for p in model.parameters()), *_tensors(state)]


def _tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return [each for one in value.values() for each in _tensors(one)]
    if isinstance(value, list):
        return [each for one in value for each in _tensors(one)]
    return [torch.tensor(float(value))] if isinstance(value, int | float) else []


def same(one, other):
    return len(one) == len(other) and all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("wait", [True, False], ids=["read at once", "stays on the device"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_bad_step_changes_nothing_and_good_ones_are_those_without_a_guard(name, wait):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    twin = copy.deepcopy(model)
    optimizer, plain = OPTIMIZERS[name](model.parameters()), OPTIMIZERS[name](twin.parameters())
    decisions, check = guarded(optimizer, wait=wait)
    for number in range(6):
        step(model, optimizer, check)
        step(twin, plain, StepCheck())
        if number in (2, 3):
            before = everything(model, optimizer)
            step(model, optimizer, check, bad=True)
            assert torch.isnan(model[0].weight.grad).any(), "the gradient is there to be looked at"
            assert same(everything(model, optimizer), before)
    assert same(everything(model, optimizer), everything(twin, plain)), "bitwise the run that never had a bad batch"
    assert [bool(each) for each in decisions] == [False] * 3 + [True, False, True, False, False]


@pytest.mark.parametrize("name", ["SGD", "momentum", "AdamW", "fused AdamW", "fused SGD"])
def test_the_first_step_may_be_bad(name):
    model = nn.Sequential(nn.Linear(3, 4))
    optimizer = OPTIMIZERS[name](model.parameters())
    _, check = guarded(optimizer, wait=False)
    twin = copy.deepcopy(model)
    plain = OPTIMIZERS[name](twin.parameters())
    step(model, optimizer, check, bad=True)
    for _ in range(3):
        step(model, optimizer, check)
        step(twin, plain, StepCheck())
    assert same(everything(model, optimizer), everything(twin, plain))


@pytest.mark.parametrize("name", ["SGD", "momentum", "AdamW", "foreach", "fused AdamW"])
def test_nobody_reads_the_answer_off_the_device(name):
    model = nn.Sequential(nn.Linear(3, 4))
    optimizer = OPTIMIZERS[name](model.parameters())
    _, check = guarded(optimizer, wait=False, spike=6.0)
    step(model, optimizer, check)
    reads = _reads_of(OPTIMIZERS[name])
    with NobodyReads() if not reads else _Counting() as counting:
        step(model, optimizer, check)
        step(model, optimizer, check, bad=True)
    if reads:
        assert counting.reads == reads * 2, "no more than the optimizer does by itself"


class _Counting(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.reads = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.reads += "_local_scalar_dense" in str(func)
        return func(*args, **(kwargs or {}))


def _reads_of(make):
    """Of one step of the optimizer alone: Adam reads its step counts, which live on the CPU."""
    model = nn.Sequential(nn.Linear(3, 4))
    optimizer = make(model.parameters())
    step(model, optimizer, StepCheck())
    with _Counting() as counting:
        step(model, optimizer, StepCheck())
    return counting.reads


@pytest.mark.parametrize("by_name", [True, False])
def test_a_closure_is_guarded_where_it_has_made_the_gradients(by_name):
    model = nn.Sequential(nn.Linear(3, 4))
    optimizer = OPTIMIZERS["AdamW"](model.parameters())
    decisions, check = guarded(optimizer)
    bad = [False]

    def closure():
        check.begin()
        optimizer.zero_grad()
        loss = model(torch.ones(4, 3)).square().mean() * (float("nan") if bad[0] else 1.0)
        loss.backward()
        return loss

    take = (lambda: optimizer.step(closure=closure)) if by_name else (lambda: optimizer.step(closure))
    take()
    before = everything(model, optimizer)
    bad[0] = True
    loss = take()
    assert same(everything(model, optimizer), before)
    assert torch.isnan(loss)
    assert decisions == [False, True]


def test_lbfgs_is_stopped_at_its_first_evaluation():
    model = nn.Sequential(nn.Linear(3, 4))
    optimizer = torch.optim.LBFGS(model.parameters())
    _, check = guarded(optimizer)
    before = [p.detach().clone() for p in model.parameters()]

    def closure():
        check.begin()
        optimizer.zero_grad()
        loss = model(torch.ones(4, 3)).square().mean() * float("nan")
        loss.backward()
        return loss

    optimizer.step(closure)
    assert same(before, [p.detach() for p in model.parameters()])


def test_sparse_gradients_are_looked_at_too():
    model = nn.Embedding(5, 3, sparse=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    decisions, _ = guarded(optimizer)
    before = model.weight.detach().clone()
    model(torch.tensor([1, 2])).sum().mul(float("inf")).backward()
    optimizer.step()
    assert decisions == [True]
    assert torch.equal(model.weight, before)


def test_large_but_finite_gradients_are_no_reason():
    model = nn.Linear(3, 1, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-30)
    decisions, _ = guarded(optimizer)
    model.weight.grad = torch.full_like(model.weight, 1e30)  # its square overflows
    optimizer.step()
    assert decisions == [False]


def test_spikes_are_left_out_after_the_first_steps_and_a_new_level_is_not_held_up():
    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    decisions, check = guarded(optimizer, spike=6.0)

    def take(size):
        check.begin()
        optimizer.zero_grad()
        loss = model(torch.randn(8, 3)).sub(1).square().mean() * size
        loss.backward()
        check.losses = [loss.detach()]
        optimizer.step()

    take(1000.0)  # exempt
    for _ in range(100):
        take(1.0)
    assert not any(decisions)
    take(1000.0)
    assert decisions[-1]
    take(1.0)
    assert not decisions[-1]
    for _ in range(6):
        take(1000.0)
    assert decisions[-6:] == [True, True, True, False, False, False]
