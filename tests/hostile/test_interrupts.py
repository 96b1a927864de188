"""Ctrl-C at any line of ours: the model stays usable, `close` leaves nothing behind, weights are what they would be.

A trace function raises KeyboardInterrupt at the n-th line that is executed in bedside's code while a few steps are
trained: at a sample of all n here, and at every n with BEDSIDE_EVERY_LINE=1 (an hour).
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import bedside
from bedside.collect.hooks import torch_patches
from bedside.collect.hooks.call_slot import SLOT, STANDING
from bedside.collect.reading.squared_norms import SquaredNorms
from bedside.collect.sampling import budget as budget_module

OURS = str(Path(bedside.__file__).parent)
EVERY_LINE = bool(os.environ.get("BEDSIDE_EVERY_LINE"))
SAMPLES = 24  # of each program, in the ordinary suite
FUNCTIONS = {
    (home, name): getattr(home, name)
    for home, name in (
        (torch.autograd, "backward"),
        (torch.nn.utils.clip_grad, "_clip_grads_with_norm_"),
        (torch._C._nn, "cross_entropy_loss"),
        (F, "relu"),
        (torch, "relu"),
        (F, "dropout"),
        (F, "scaled_dot_product_attention"),
        (torch.optim.lr_scheduler.LRScheduler, "step"),
    )
}


class Interrupt:
    """Raises at the n-th line that is executed in our code; without an n it counts."""

    def __init__(self, at: int | None = None) -> None:
        self.at, self.lines = at, 0

    def __enter__(self) -> Interrupt:
        sys.settrace(self._frame)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _frame(self, frame, event, argument):
        return self._line if frame.f_code.co_filename.startswith(OURS) else None

    def _line(self, frame, event, argument):
        if event == "line":
            self.lines += 1
            if self.lines == self.at:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self._line


class Program:
    """A small training whose state is noted after every operation of the user's, so that it is known at which states
    an interrupt could have stopped it without us."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 3))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        self.schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, 2, gamma=0.999)
        self.states: list[list[bytes]] = []

    def state(self) -> list[bytes]:
        tensors = [*self.model.state_dict().values(), torch.get_rng_state()]
        momenta = [s["momentum_buffer"] for s in self.optimizer.state.values() if s.get("momentum_buffer") is not None]
        return [t.detach().numpy().tobytes() for t in (*tensors, *momenta)]

    def step(self, note: bool = False) -> None:
        def noted() -> None:
            if note:
                self.states.append(self.state())

        noted()
        inputs = torch.randn(5, 6)
        noted()
        targets = torch.randint(3, (5,))
        noted()
        self.optimizer.zero_grad()
        outputs = self.model(inputs)
        noted()
        loss = F.cross_entropy(outputs, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        noted()
        self.schedule.step()


def possible_states(steps: int) -> list[list[bytes]]:
    program = Program()
    for _ in range(steps):
        program.step(note=True)
    return [*program.states, program.state()]


def leave_nothing(program: Program) -> None:
    for module in program.model.modules():
        assert SLOT not in vars(module)
        assert not module._forward_hooks
        assert not module._forward_pre_hooks
    assert not program.optimizer._optimizer_step_pre_hooks
    assert not program.optimizer._optimizer_step_post_hooks
    assert not torch_patches.DISPATCHERS
    assert not STANDING
    for (home, name), function in FUNCTIONS.items():
        assert getattr(home, name) is function, name


def trained(folder: Path, steps: int, warm_up: int, at: int | None, options: dict) -> tuple[Program, Interrupt, bool]:
    """Watch and train, interrupted at that line; says whether it was."""
    program, monitor, interrupted = Program(), None, False
    if warm_up:
        monitor = bedside.watch(program.model, program.optimizer, run_dir=folder, quiet=True, **options)
        for _ in range(warm_up):
            program.step()
    with Interrupt(at) as interrupt:
        try:
            if monitor is None:
                monitor = bedside.watch(program.model, program.optimizer, run_dir=folder, quiet=True, **options)
            for _ in range(steps):
                program.step()
        except KeyboardInterrupt:
            interrupted = True
    stopped_at = program.state()
    before = program.optimizer.param_groups[0]["lr"]
    program.model(torch.randn(5, 6)).sum().backward()  # it is usable, also before anybody closes anything
    program.optimizer.param_groups[0]["lr"] = 0.0
    program.optimizer.step()
    program.optimizer.param_groups[0]["lr"] = before
    if monitor is not None:
        monitor.close()
    program.stopped_at = stopped_at
    return program, interrupt, interrupted


PROGRAMS = {
    "the first steps, watch included": (3, 0, {}),
    "steps on the fast path": (12, 130, {"vitals": ["loss"]}),
    "norms at every step": (3, 104, {"budget": None, "vitals": ["grad_norm", "update_norm"]}),
}


@pytest.mark.filterwarnings("ignore:bedside")  # that it stopped recording
@pytest.mark.parametrize("which", PROGRAMS)
@pytest.mark.timeout(3600)
def test_an_interrupt_at_any_line_harms_nothing(which, tmp_path, monkeypatch):
    monkeypatch.setattr(budget_module, "FULL_RECORDING_SHARE", 0.0)
    monkeypatch.setattr(budget_module, "QUICK_START_SECONDS", 0.0)
    monkeypatch.setattr("bedside.errors._instead_of_raising", lambda message: None, raising=False)
    steps, warm_up, options = PROGRAMS[which]
    states = possible_states(warm_up + steps)
    _, counted, interrupted = trained(tmp_path / "counted", steps, warm_up, None, options)
    assert not interrupted
    chosen = range(1, counted.lines)
    if not EVERY_LINE:
        chosen = random.Random(0).sample(chosen, min(SAMPLES, len(chosen)))
    hit = 0
    for at in chosen:
        program, _, interrupted = trained(tmp_path / str(at), steps, warm_up, at, options)
        hit += interrupted
        assert program.stopped_at in states, f"at line {at} the weights are those of no interrupted training"
        leave_nothing(program)
        weights = program.model[0].weight.detach().clone()
        program.step()
        assert weights.isfinite().all()
        assert not torch.equal(weights, program.model[0].weight), "it trains on"
    assert hit >= 0.5 * len(chosen)  # how many lines there are depends on the clock, too


def test_an_interrupt_while_norms_are_read_leaves_gradients_on():
    parameters = list(nn.Linear(6, 8).parameters())
    norms = SquaredNorms(parameters)
    norms.squares(parameters)
    with Interrupt() as counted:
        norms.squares(parameters)
    assert counted.lines > 5
    for at in range(1, counted.lines + 1):
        with Interrupt(at), pytest.raises(KeyboardInterrupt):
            norms.squares(parameters)
        tracked = (2 * parameters[0]).requires_grad
        torch.set_grad_enabled(True)
        assert tracked, f"interrupted at line {at}"
