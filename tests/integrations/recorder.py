"""An independent recorder: an optimizer that writes down what it sees, and the return values of torch's clipping."""

from __future__ import annotations

from typing import Any

import torch


def norm(parameters: Any) -> float:
    grads = [p.grad.double() for p in parameters if p.grad is not None]
    return float(torch.sqrt(sum((g**2).sum() for g in grads)))


class RecordingSGD(torch.optim.SGD):
    """Knows nothing of hooks: it is the step itself."""

    def __init__(self, params: Any, lr: float) -> None:
        super().__init__(params, lr=lr)
        self.rates: list[float] = []
        self.clipped: list[float] = []

    def step(self, closure: Any = None) -> Any:
        result = None
        if closure is not None:
            with torch.enable_grad():
                result = closure()
        self.rates.append(self.param_groups[0]["lr"])
        self.clipped.append(norm(p for group in self.param_groups for p in group["params"]))
        super().step()
        return result


def record_clipping(monkeypatch: Any) -> list[float]:
    """The norms before clipping, as `clip_grad_norm_` returns them."""
    found: list[float] = []
    original = torch.nn.utils.clip_grad_norm_

    def clip_grad_norm_(parameters: Any, max_norm: float, *args: Any, **kwargs: Any) -> Any:
        parameters = list(parameters)
        found.append(norm(parameters))
        return original(parameters, max_norm, *args, **kwargs)

    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", clip_grad_norm_)
    return found
