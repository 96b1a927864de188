"""Other people's ways of measuring, written from their formulas: one tensor at a time, a number each."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

from .watchers import Watcher
from .workloads import Training


def _norm(tensors: Iterable[Tensor]) -> float:
    """As tutorials have it for gradients: one tensor at a time, a number each."""
    return math.sqrt(sum(t.norm().item() ** 2 for t in tensors))


def _norm_of_all(tensors: Iterable[Tensor]) -> float:
    """As it has it for updates and weights: joined to one long vector first."""
    return torch.linalg.vector_norm(torch.cat([t.flatten() for t in tensors])).item()


class InTheLoop(Watcher):
    """All it does it does when it is called, so that the time around these calls is what it takes."""

    def __init__(self) -> None:
        self._spent = 0.0
        for moment in ("before_step", "after_backward", "after_step"):
            setattr(self, moment, self._timed(getattr(self, moment)))

    def _timed(self, call: Callable[..., None]) -> Callable[..., None]:
        def timed(*args: object) -> None:
            began = time.perf_counter()
            call(*args)
            self._spent += time.perf_counter() - began

        return timed

    def own_seconds(self) -> float:
        return self._spent


class NaiveBrief(InTheLoop):
    """The usual way of a tutorial: gradient norms of every module, each over all its parameters; gradients once
    more after clipping, by a call that clips nothing; norms of the whole update, from a copy, and of all weights."""

    def start(self, training: Training) -> None:
        self.model, self.clips = training.model, training.clip is not None

    def after_backward(self, step: int, loss: Tensor) -> None:
        self.numbers = {"loss": loss.item()}
        for name, module in self._modules():
            self.numbers[f"grad/{name}"] = _norm(p.grad for p in module.parameters())
        self.old = {name: p.detach().clone().cpu() for name, p in self.model.named_parameters()}

    def after_step(self, step: int, loss: Tensor) -> None:
        if self.clips:
            clipped = nn.utils.clip_grad_norm_(self.model.parameters(), math.inf)  # as the optimizer met them
            self.numbers["clipped"] = clipped.item()
        new = {name: p.detach().cpu() for name, p in self.model.named_parameters()}
        self.numbers["update"] = _norm_of_all([p - self.old[name] for name, p in new.items()])
        self.numbers["param"] = _norm_of_all(new.values())

    def _modules(self) -> list[tuple[str, nn.Module]]:
        """Those with parameters, the whole model first."""
        return [(name, module) for name, module in self.model.named_modules() if list(module.parameters())]


class NaiveFull(NaiveBrief):
    """The same for everything that bedside reads at a step: gradients before and after clipping, weights and updates of
    every module, and whether all is finite."""

    def after_backward(self, step: int, loss: Tensor) -> None:
        super().after_backward(step, loss)
        bad = [name for name, p in self.model.named_parameters() if not torch.isfinite(p.grad).all().item()]
        self.numbers["bad_gradients"] = len(bad)

    def after_step(self, step: int, loss: Tensor) -> None:
        for name, module in self._modules():
            parameters = list(module.named_parameters(prefix=name))
            if self.clips:
                self.numbers[f"clipped/{name}"] = _norm(p.grad for _, p in parameters)
            self.numbers[f"param/{name}"] = _norm(p.detach() for _, p in parameters)
            self.numbers[f"update/{name}"] = _norm_of_all([p.detach().cpu() - self.old[n] for n, p in parameters])
        bad = [name for name, p in self.model.named_parameters() if not torch.isfinite(p).all().item()]
        self.numbers["bad_weights"] = len(bad)


class NaiveEverything(NaiveFull):
    """And of every module's output mean, spread, extremes, zeros, dead units and saturation, by a hook on each. Still
    without what bedside reads of inputs, labels, rounding, gradient noise and the loop."""

    def start(self, training: Training) -> None:
        super().start(training)
        self.outputs: dict[str, float] = {}
        for name, module in self.model.named_modules():
            if not any(module.children()):
                module.register_forward_hook(self._hook(name))

    def _hook(self, name: str) -> Callable[..., None]:
        def hook(module: nn.Module, args: object, output: Tensor) -> None:
            x = output.detach()
            units = x.flatten(0, -2) if x.dim() < 4 else x.transpose(0, 1).flatten(1).T
            self.outputs |= {
                f"mean/{name}": x.mean().item(),
                f"std/{name}": x.std().item(),
                f"max/{name}": x.abs().max().item(),
                f"zero/{name}": (x == 0).float().mean().item(),
                f"dead/{name}": (units == 0).all(0).float().mean().item(),
                f"saturated/{name}": (x.abs() > 0.99).float().mean().item(),
                f"bad/{name}": (~torch.isfinite(x)).sum().item(),
            }

        return self._timed(hook)


class ComposerFormula(InTheLoop):
    """Per parameter the norms of gradient, weight, first moment and AdamW's step by its formula; then that of all
    gradients, added up tensor by tensor, and a number of each."""

    def start(self, training: Training) -> None:
        self.model, self.optimizer = training.model, training.optimizer

    def after_step(self, step: int, loss: Tensor) -> None:
        norms: dict[str, Tensor] = {}
        group, norm = self.optimizer.param_groups[0], torch.linalg.vector_norm
        beta1, beta2 = group["betas"]
        for name, p in self.model.named_parameters():
            state = self.optimizer.state[p]
            count = state["step"].item()
            scale = (state["exp_avg_sq"].sqrt() / math.sqrt(1 - beta2**count)).add_(group["eps"])
            move = group["lr"] / (1 - beta1**count) * state["exp_avg"].div(scale)
            move.add_(p.detach(), alpha=-group["weight_decay"])
            norms[f"moment/{name}"] = norm(state["exp_avg"])
            norms[f"param/{name}"] = norm(p.detach())
            norms[f"update/{name}"] = norm(move)
            norms[f"grad/{name}"] = norm(p.grad)
        total = sum(value**2 for key, value in norms.items() if key.startswith("grad/"))
        self.numbers = {key: value.item() for key, value in (norms | {"grad": total**0.5}).items()}


class LightningGradNorm(InTheLoop):
    """Per parameter the gradient norm, and the norm of those; as numbers, as a logger takes them."""

    def start(self, training: Training) -> None:
        self.model = training.model

    def after_backward(self, step: int, loss: Tensor) -> None:
        norms = {name: p.grad.data.norm(2) for name, p in self.model.named_parameters() if p.grad is not None}
        total = torch.tensor(list(norms.values())).norm(2)
        self.numbers = {name: float(norm) for name, norm in norms.items()} | {"total": float(total)}


class TensorBoard100(InTheLoop):
    """A hundred scalars a step."""

    def start(self, training: Training) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self.writer = SummaryWriter(tempfile.mkdtemp(prefix="bedside-cost-"))

    def after_step(self, step: int, loss: Tensor) -> None:
        value = loss.item()
        for i in range(100):
            self.writer.add_scalar(f"metric/{i}", value, step)
