"""The observer changes nothing, and leaves the room as it found it."""

from __future__ import annotations

import pytest
import torch
from tests.collect.models import CASES
from torch import nn
from torch.amp.grad_scaler import GradScaler
from torch.nn import functional as F
from torch.nn.utils import clip_grad
from torch.utils._python_dispatch import TorchDispatchMode

import bedside
from bedside.record.sqlite.reader import open_run


def trained(case, tmp_path, *, watching, steps=50):
    torch.manual_seed(7)
    model = case.model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    monitor = bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True) if watching else None
    for _ in range(steps):
        inputs, targets = case.batch()
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), targets).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    if monitor is not None:
        monitor.close()
    return model, optimizer


@pytest.mark.parametrize("kind", CASES)
def test_weights_state_and_random_numbers_are_bitwise_equal_with_and_without_watching(kind, tmp_path):
    plain, plain_optimizer = trained(CASES[kind], tmp_path, watching=False)
    random_after = torch.get_rng_state()
    watched, watched_optimizer = trained(CASES[kind], tmp_path, watching=True)
    assert torch.equal(random_after, torch.get_rng_state())
    for name, value in plain.state_dict().items():
        assert torch.equal(value, watched.state_dict()[name]), name
    plain_state, watched_state = plain_optimizer.state_dict()["state"], watched_optimizer.state_dict()["state"]
    for index, state in plain_state.items():
        for key, value in state.items():
            assert torch.equal(value, watched_state[index][key]), (index, key)


def everything_that_could_be_patched(model, optimizer):
    return {
        "backward": torch.autograd.backward,
        "clip": clip_grad._clip_grads_with_norm_,
        "clip_grad_norm_": torch.nn.utils.clip_grad_norm_,
        "scale": GradScaler.scale,
        "scaler_step": GradScaler.step,
        "step": type(optimizer).step,
        "instance": set(vars(optimizer)),
        "pre": len(optimizer._optimizer_step_pre_hooks),
        "post": len(optimizer._optimizer_step_post_hooks),
        "forward": [
            (len(m._forward_hooks), len(m._forward_pre_hooks), len(m._backward_hooks), set(vars(m)))
            for m in model.modules()
        ],
        "accumulate": [len(p._post_accumulate_grad_hooks or ()) for p in model.parameters()],
    }


@pytest.mark.parametrize("end", ["close", "with", "exception", "before the first step"])
def test_no_hook_or_patch_is_left(end, tmp_path):
    model = CASES["mlp"].model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before = everything_that_could_be_patched(model, optimizer)
    monitor = bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True)
    assert everything_that_could_be_patched(model, optimizer) != before, "the probe would not notice a patch"
    inputs, targets = CASES["mlp"].batch()
    if end == "before the first step":
        monitor.close()
    elif end == "exception":
        with pytest.raises(ZeroDivisionError), monitor:
            1 / 0  # noqa: B018
    elif end == "with":
        with monitor:
            F.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
    else:
        F.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
        monitor.close()
    model.zero_grad()
    assert everything_that_could_be_patched(model, optimizer) == before


def test_two_monitors_share_the_patches_and_the_last_one_removes_them(tmp_path):
    original = torch.autograd.backward
    pairs = []
    for name in "ab":
        model = CASES["mlp"].model()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        pairs.append((model, optimizer, bedside.watch(model, optimizer, run_dir=tmp_path / name, quiet=True)))
    for model, optimizer, _ in pairs:
        inputs, targets = CASES["mlp"].batch()
        F.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
    pairs[0][2].close()
    assert torch.autograd.backward is not original
    pairs[1][2].close()
    assert torch.autograd.backward is original
    for name in "ab":  # each recorded its own loss only
        assert len(open_run(tmp_path / name).loss) == 1
        assert open_run(tmp_path / name).series("micro_batches").values.tolist() == [1.0]


class HostTransfers(TorchDispatchMode):
    """Counts what would make a GPU wait: reading a number into Python, or copying to the host."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func in (torch.ops.aten._local_scalar_dense.default, torch.ops.aten.is_nonzero.default):
            self.count += 1
        return func(*args, **(kwargs or {}))


def test_at_most_one_host_transfer_per_recorded_step(tmp_path):
    case = CASES["gpt"]
    model = case.model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=True)
    steps = 40

    def loop():
        with HostTransfers() as transfers:
            for _ in range(steps):
                inputs, targets = case.batch()
                optimizer.zero_grad()
                F.cross_entropy(model(inputs), targets).backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
        return transfers.count

    own = loop()
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True):
        watched = loop()
    assert watched - own <= steps
    with HostTransfers() as probe:
        torch.ones(1).item()
    assert probe.count == 1, "the probe would not notice a transfer"


def test_a_listener_that_fails_is_switched_off_and_training_goes_on(tmp_path, monkeypatch):
    case = CASES["mlp"]
    model = case.model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    monitor = bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True)
    monkeypatch.setattr(monitor._steps, "after", lambda *_: 1 / 0)
    before = [p.detach().clone() for p in model.parameters()]
    inputs, targets = case.batch()
    F.cross_entropy(model(inputs), targets).backward()
    with pytest.warns(RuntimeWarning, match="bedside stopped listening at step 0 .*ZeroDivisionError"):
        optimizer.step()
    assert any(not torch.equal(old, new) for old, new in zip(before, model.parameters(), strict=True))
    optimizer.step()  # no second warning
    monitor.close()
    assert [event.kind for event in open_run(tmp_path / "run").events].count("switched_off") == 1


def test_the_users_exception_wins_over_ours(tmp_path, monkeypatch):
    model = CASES["mlp"].model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    monitor = bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True)
    monkeypatch.setattr(monitor, "close", lambda finished: 1 / 0)
    with pytest.raises(KeyError, match="mine"), pytest.warns(RuntimeWarning, match="could not close"), monitor:
        raise KeyError("mine")
    monkeypatch.undo()
    monitor.close()
