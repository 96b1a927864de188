"""The eight trainings: one healthy, seven with one thing wrong. Plain torch, no tool in sight.

A ReLU network 32-256-256-256-8 learns a noisy linear teacher's choice among eight classes with AdamW at 1e-3, 300
steps of 128 fresh examples. Data come from a generator of their own, so that a tool that draws random numbers trains
on the same batches as one that does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor, nn

if TYPE_CHECKING:
    from .listener import Listener

STEPS = 300
BATCH = 128
CLASSES = 8
NAN_AT = 150
BAD_BATCH_AT = 200

SCENARIOS = {
    "healthy": "nothing is wrong",
    "lr_high": "learning rate 1.0 instead of 1e-3",
    "lr_low": "learning rate 1e-7 instead of 1e-3",
    "nan": f"module 4 takes the logarithm of negative numbers at step {NAN_AT}",
    "dead": "module 2 starts with biases of -20, so that the ReLU after it never fires",
    "head": "the last layer (module 6) is not in the optimizer",
    "no_zero_grad": "optimizer.zero_grad() is never called",
    "bad_batch": f"the inputs of step {BAD_BATCH_AT} are multiplied by 1000",
}


class LogOfNegative(nn.Module):
    """A learnable scale that, when switched on, takes a logarithm where there is none."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.on = False
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return torch.log(-x.abs() * self.scale) if self.on else x * self.scale


@dataclass
class Training:
    """A training that is about to start. A listener may replace the model or the optimizer by a wrapped one."""

    scenario: str
    seed: int
    model: nn.Module
    optimizer: torch.optim.Optimizer
    lr: float
    steps: int = STEPS
    losses: list[float] = field(default_factory=list)

    def batches(self) -> Iterator[tuple[Tensor, Tensor]]:
        """What the loop trains on, the bad batch included."""
        source = torch.Generator().manual_seed(self.seed)
        for step in range(self.steps):
            x, y = self.draw(source)
            yield (x * 1000 if self.scenario == "bad_batch" and step == BAD_BATCH_AT else x), y

    def held_out(self) -> tuple[Tensor, Tensor]:
        """For tools that want a validation loss: examples that are never trained on, always the same."""
        return self.draw(torch.Generator().manual_seed(1_000_000 + self.seed), size=16 * BATCH)

    def draw(self, source: torch.Generator, size: int = BATCH) -> tuple[Tensor, Tensor]:
        teacher = torch.randn(32, CLASSES, generator=torch.Generator().manual_seed(self.seed))
        x = torch.randn(size, 32, generator=source)
        noise = torch.randn(size, CLASSES, generator=source)
        return x, (x @ teacher + 0.5 * noise).argmax(dim=1)


def build(scenario: str, seed: int) -> Training:
    torch.manual_seed(seed)
    layers: list[nn.Module] = [nn.Linear(32, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU()]
    layers += [nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, CLASSES)]
    if scenario == "nan":
        layers.insert(4, LogOfNegative(256))
    model = nn.Sequential(*layers)
    if scenario == "dead":
        nn.init.constant_(model[2].bias, -20.0)
    left_out = "6." if scenario == "head" else None
    trained = [p for name, p in model.named_parameters() if left_out is None or not name.startswith(left_out)]
    lr = {"lr_high": 1.0, "lr_low": 1e-7}.get(scenario, 1e-3)
    return Training(scenario, seed, model, torch.optim.AdamW(trained, lr=lr), lr)


def train(training: Training, listener: Listener) -> None:
    """The loop that everyone writes; the four calls to the listener are the only sign of a tool."""
    bad_module = next((m for m in training.model.modules() if isinstance(m, LogOfNegative)), None)
    listener.start(training)
    for step, (x, y) in enumerate(training.batches()):
        if bad_module is not None:
            bad_module.on = step == NAN_AT
        listener.before_step(step, x, y)
        if training.scenario != "no_zero_grad":
            training.optimizer.zero_grad()
        loss = F.cross_entropy(training.model(x), y)
        loss.backward()
        listener.after_backward(step, loss)
        training.optimizer.step()
        training.losses.append(loss.item())
        listener.after_step(step, loss)
