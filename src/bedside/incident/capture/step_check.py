"""Is this step sound? Checked once, before it is taken; the black box and the guard share the answer. Finiteness is
checked on the largest entry of every gradient, which cannot overflow as a sum of squares can. Spikes are looked for in
the loss and in the norm before clipping. The answers are tensors on the gradients' device: on the CPU they can be read
at once, and on another device nothing has to wait for them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.optim import Optimizer

from bedside.incident.capture.device_spikes import Spikes


class StepCheck:
    """Losses and norms of the step under way, and what is wrong with it."""

    def __init__(self, spike: float | None = None, *, guards_spikes: bool = False) -> None:
        self.losses: list[float | Tensor] = []
        self.norm: Tensor | None = None  # of all gradients together, before clipping, where somebody computed it
        self._spikes = {"loss": Spikes(spike), "gradient norm": Spikes(spike)} if spike else {}
        self._guards_spikes = guards_spikes
        self.reads_cpu = True  # numbers on the CPU may be read at once
        self._answers: dict[int, tuple[Tensor, dict[str, Tensor]]] = {}  # per optimizer, of this step

    @property
    def needs_every_step(self) -> bool:
        """Whether losses and norms of all steps are compared."""
        return bool(self._spikes)

    def begin(self) -> None:
        """The next step."""
        self.losses, self.norm, self._answers = [], None, {}

    def is_bad(self, optimizer: Optimizer) -> Tensor:
        """Whether the guard should leave this step out, as a tensor on the gradients' device."""
        nonfinite, spikes = self.answer(optimizer)
        if self._guards_spikes:
            for each in spikes.values():
                nonfinite = nonfinite | each.to(nonfinite.device)
        return nonfinite

    def answer(self, optimizer: Optimizer) -> tuple[Tensor, dict[str, Tensor]]:
        """Whether a gradient is not finite, and which series have a spike: checked once a step."""
        if id(optimizer) not in self._answers:
            self._answers[id(optimizer)] = self._nonfinite(optimizer), self._spiking(optimizer)
        return self._answers[id(optimizer)]

    def usual(self, series: str) -> tuple[float, float]:
        """Median and limit of a series before this step."""
        before = self._spikes[series].before
        assert before is not None  # a spike was seen, so there was a history
        return float(before[0]), float(before[0] + self._spikes[series].multiple * before[1])

    def _nonfinite(self, optimizer: Optimizer) -> Tensor:
        gradients = gradients_of(optimizer)
        if not gradients or (self.reads_cpu and _plainly_finite(gradients)):
            return torch.zeros((), dtype=torch.bool)
        largest = torch._foreach_norm(gradients, torch.inf)
        if len({(each.device, each.dtype) for each in largest}) > 1:
            largest = [each.to(largest[0].device, torch.float32) for each in largest]
        return ~torch.isfinite(torch.stack(list(largest))).all()

    def _spiking(self, optimizer: Optimizer) -> dict[str, Tensor]:
        if not self._spikes:
            return {}
        answers = {}
        if self.losses:
            losses = [torch.as_tensor(each, dtype=torch.float32).detach().reshape(()) for each in self.losses]
            answers["loss"] = self._spikes["loss"].check(torch.stack(losses).mean())
        if self.norm is None:
            self.norm = norm_of(gradients_of(optimizer))
        if self.norm is not None:
            answers["gradient norm"] = self._spikes["gradient norm"].check(self.norm)
        return answers


def _plainly_finite(gradients: Sequence[Tensor]) -> bool:
    """Whether the norm alone answers it, which on the CPU is twenty times as quick as the largest entry. An infinite
    norm decides nothing: squares overflow."""
    if any(each.device.type != "cpu" or each.dtype is not torch.float32 for each in gradients):
        return False
    return math.isfinite(torch.stack(list(torch._foreach_norm(list(gradients), 2))).sum().item())


def gradients_of(optimizer: Optimizer) -> list[Tensor]:
    """The gradients it will use: dense and local, as far as they hold numbers."""
    found = []
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            gradient = parameter.grad
            if gradient is None:
                continue
            local = getattr(gradient, "to_local", None)
            gradient = local() if callable(local) else gradient
            if gradient.layout is torch.sparse_coo:
                gradient = gradient.coalesce().values()
            if gradient.numel() and gradient.layout is torch.strided:
                found.append(torch.view_as_real(gradient) if gradient.is_complex() else gradient)
    return found


def norm_of(gradients: Sequence[Tensor]) -> Tensor | None:
    """Of all of them together."""
    if not gradients:
        return None
    squares = torch._foreach_norm(list(gradients), 2, torch.float32)
    return torch.linalg.vector_norm(torch.stack([each.to(gradients[0].device) for each in squares]))
