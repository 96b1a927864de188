"""The same numbers by a slow, obvious route: float64, parameter by parameter, module by module."""

from __future__ import annotations

import math
from collections import defaultdict

import torch
from torch import nn

Numbers = dict[tuple[str, str], list[float]]


def owners(model: nn.Module) -> dict[str, list[nn.Parameter]]:
    """Every named module with trainable parameters, and every parameter that hangs on a module with children."""
    found: dict[str, list[nn.Parameter]] = {}
    for name, module in model.named_modules():
        trainable = [p for p in module.parameters() if p.requires_grad]
        if name and trainable:
            found[name] = trainable
        if list(module.children()):
            for short, p in module.named_parameters(recurse=False):
                if p.requires_grad:
                    found[f"{name}.{short}" if name else short] = [p]
    return found


def norm(tensors: list[torch.Tensor]) -> float:
    return math.sqrt(sum(float((t.detach().double().abs() ** 2).sum()) for t in tensors))


class Obvious:
    """Call `before_clip`, `after_clip` and `after_step` around a plain loop."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.numbers: Numbers = defaultdict(list)

    def _norms(self, vital: str, tensor_of) -> None:
        everything = [p for p in self.model.parameters() if p.requires_grad]
        for owner, parameters in {"": everything, **owners(self.model)}.items():
            self.numbers[(vital, owner)].append(norm([tensor_of(p) for p in parameters]))

    def before_clip(self) -> None:
        self._norms("grad_norm", lambda p: p.grad)

    def after_clip(self) -> None:
        self._norms("grad_norm_clipped", lambda p: p.grad)
        self.old = {id(p): p.detach().clone() for p in self.model.parameters()}

    def after_step(self) -> None:
        self._norms("param_norm", lambda p: p)
        self._norms("update_norm", lambda p: p.detach().double() - self.old[id(p)].double())
        for owner in ["", *owners(self.model)]:
            update = self.numbers[("update_norm", owner)][-1]
            weights = self.numbers[("param_norm", owner)][-1]
            gradient = self.numbers[("grad_norm_clipped", owner)][-1]
            self.numbers[("relative_update_norm", owner)].append(update / weights if weights else math.nan)
            self.numbers[("effective_lr_ratio", owner)].append(update / gradient if gradient else math.nan)
