"""A small training that is interrupted at a chosen line of our code, and what must hold of it afterwards."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from types import CodeType
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

import bedside
from bedside.collect.hooks import torch_patches
from bedside.collect.hooks.call_slot import SLOT, STANDING

OURS = str(Path(bedside.__file__).parent)
Line = tuple[str, int]  # file and number
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
# Steps that may be interrupted, steps before them, and options of `watch`, which is interrupted too if there are none.
PROGRAMS: dict[str, tuple[int, int, dict[str, Any]]] = {
    "the first steps, watch included": (3, 0, {}),
    "steps on the fast path": (12, 130, {"vitals": ["loss"]}),
    "norms at every step": (3, 104, {"budget": None, "vitals": ["grad_norm", "update_norm"]}),
}


class Interrupt:
    """Raises KeyboardInterrupt when a line of ours is executed for the n-th time; without a line it counts them all."""

    def __init__(self, line: Line | None = None, hit: int = 1) -> None:
        self._line, self._hit = line, hit
        self.hits: Counter[Line] = Counter()
        self._concerned: dict[CodeType, bool] = {}

    def __enter__(self) -> Interrupt:
        sys.settrace(self._frame)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _frame(self, frame: Any, event: str, argument: Any) -> Any:
        code = frame.f_code
        concerned = self._concerned.get(code)
        if concerned is None:
            concerned = self._concerned[code] = code.co_filename.startswith(OURS) and self._may_run_it(code)
        return self._executed if concerned else None

    def _may_run_it(self, code: CodeType) -> bool:
        if self._line is None:
            return True
        return code.co_filename == self._line[0] and any(line == self._line[1] for _, _, line in code.co_lines())

    def _executed(self, frame: Any, event: str, argument: Any) -> Any:
        if event == "line":
            line = (frame.f_code.co_filename, frame.f_lineno)
            self.hits[line] += 1
            if line == self._line and self.hits[line] == self._hit:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self._executed


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
        outputs = inputs
        for layer in self.model if note else [self.model]:  # an interrupt may come between two layers, too
            outputs = layer(outputs)
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


def left_behind(program: Program) -> list[str]:
    """What of ours is still on the model, its optimizer or torch."""
    left = []
    for name, module in program.model.named_modules():
        if SLOT in vars(module) or module._forward_hooks or module._forward_pre_hooks:
            left.append(f"something on module {name!r}")
    if program.optimizer._optimizer_step_pre_hooks or program.optimizer._optimizer_step_post_hooks:
        left.append("a hook of the optimizer")
    if torch_patches.DISPATCHERS or torch_patches.ACTIVE:
        left.append("a dispatcher")
    if STANDING:
        left.append("a standing slot")
    return left + [name for (home, name), function in FUNCTIONS.items() if getattr(home, name) is not function]


def trained(which: str, folder: Path, interrupt: Interrupt) -> tuple[Program, list[bytes], bool]:
    """Watch and train with interruptions; the program, its state when it stopped, and whether it was interrupted. It
    must be usable before anybody closes anything, and after."""
    steps, warm_up, options = PROGRAMS[which]
    program, monitor, interrupted = Program(), None, False
    if warm_up:
        monitor = bedside.watch(program.model, program.optimizer, run_dir=folder, quiet=True, **options)
        for _ in range(warm_up):
            program.step()
    with interrupt:
        try:
            if monitor is None:
                monitor = bedside.watch(program.model, program.optimizer, run_dir=folder, quiet=True, **options)
            for _ in range(steps):
                program.step()
        except KeyboardInterrupt:
            interrupted = True
    stopped_at = program.state()
    rate = program.optimizer.param_groups[0]["lr"]
    program.model(torch.randn(5, 6)).sum().backward()
    program.optimizer.param_groups[0]["lr"] = 0.0
    program.optimizer.step()
    program.optimizer.param_groups[0]["lr"] = rate
    if monitor is not None:
        monitor.close()
    return program, stopped_at, interrupted


def trains_on(program: Program) -> bool:
    weights = program.model[0].weight.detach().clone()
    program.step()
    return bool(weights.isfinite().all()) and not torch.equal(weights, program.model[0].weight)
