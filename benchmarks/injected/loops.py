"""Faults of the training loop: the order of its calls, the modes, the sign and the size of the loss."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from injected.injection import BLEW_UP, NEVER_LEARNED, NOT_ON_NEW_DATA, Injection, evaluating, operator, targets

LOSSES = ("cross_entropy", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss")


@operator("accumulating-gradient", also=(*BLEW_UP, *NEVER_LEARNED, "oversized-update"))
def gradients_never_zeroed(injection: Injection) -> None:
    """zero_grad is forgotten, so gradients add up for the whole run."""

    def made(original: Any) -> Any:
        def zero_grad(self: Any, *args: Any, **kwargs: Any) -> None:
            if not injection.watching:
                original(self, *args, **kwargs)
            injection.acted += injection.watching

        return zero_grad

    for home in (Optimizer, nn.Module):
        injection.patch(home, "zero_grad", made)


@operator(
    "step-without-gradient",
    also=(*NEVER_LEARNED, "never-stepped", "unmoved-parameter", "silent-parameter", "frozen-validation"),
)
def cleared_before_the_step(injection: Injection) -> None:
    """Gradients are zeroed between backward and step."""

    def clear(optimizer: Optimizer) -> None:
        optimizer.zero_grad()
        injection.acted += 1

    injection.before_step(clear)


@operator("diverging-loss", "unbounded-negative-loss", also=(*BLEW_UP, *NEVER_LEARNED), same_loss=False)
def loss_negated(injection: Injection) -> None:
    """The sign of the loss is wrong: training climbs."""

    def made(original: Any) -> Any:
        def backward(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            if not injection.watching:
                return original(self, *args, **kwargs)
            injection.acted += 1
            return original(-self, *args, **kwargs)

        return backward

    injection.patch(torch.Tensor, "backward", made)


@operator("oversized-update", "unbalanced-loss-parts", also=(*BLEW_UP, *NEVER_LEARNED), same_loss=False)
def loss_summed(injection: Injection) -> None:
    """The loss is the sum over the batch instead of its mean."""

    def made(original: Any) -> Any:
        def loss(input: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
            if torch.is_grad_enabled() and injection.watching and not args and "reduction" not in kwargs:
                injection.acted += 1
                kwargs["reduction"] = "sum"
            return original(input, target, *args, **kwargs)

        return loss

    for name in LOSSES:
        injection.patch(torch.nn.functional, name, made)


@operator("broadcast-loss", also=(*NEVER_LEARNED, "mismatched-loss", "collapsed-activations"), same_loss=False)
def column_against_row(injection: Injection) -> None:
    """Predictions (N,) are compared with targets (N, 1), which makes N times N differences."""

    def turned(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor | None:
        if prediction.shape != target.shape or len(target) < 2 or target.numel() != len(target):
            return None
        return target.view(-1, 1) if target.dim() == 1 else target.view(-1)

    targets(injection, ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"), turned)


@operator("training-in-eval-mode", also=("overfitting", "overconfident", *BLEW_UP))
def train_forgotten_after_eval(injection: Injection) -> None:
    """After the first evaluation the model is never put back into training mode."""
    evaluated: set[int] = set()

    def made(original: Any) -> Any:
        def train(self: nn.Module, mode: bool = True) -> nn.Module:
            if not mode:
                evaluated.add(id(self))
                injection.acted += 1
            return self if mode and id(self) in evaluated else original(self, mode)

        return train

    injection.patch(nn.Module, "train", made)


@operator("evaluating-in-train-mode", also=("stochastic-evaluation", *NOT_ON_NEW_DATA))
def eval_forgotten(injection: Injection) -> None:
    """The model is evaluated in training mode, dropout and batch statistics at work."""

    def made(original: Any) -> Any:
        def evaluate(self: nn.Module) -> nn.Module:
            injection.acted += 1
            return self

        return evaluate

    injection.patch(nn.Module, "eval", made)


@operator("frozen-validation", also=("nothing-generalises", "gap-from-start", "loss-without-accuracy"))
def stale_weights_evaluated(injection: Injection) -> None:
    """What is evaluated is a copy of the untrained model."""

    def put(model: nn.Module, _optimizers: list[Optimizer]) -> None:
        usual, old = type(model), copy.deepcopy(model).eval()

        def called(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
            if not evaluating(self):
                return usual.__call__(self, *args, **kwargs)
            injection.acted += 1
            return old(*args, **kwargs)

        model.__class__ = type(usual.__name__, (usual,), {"__call__": called, "__module__": usual.__module__})

    injection.at_watch(put)
    injection.due = 10**9


@operator("weight-jump", also=("lost-progress", "loss-spike", *BLEW_UP))
def weights_overwritten_late(injection: Injection) -> None:
    """At eight tenths of the run all weights are those of a model that was never trained."""
    due = injection.at_share(0.8)
    first: list[dict[str, torch.Tensor]] = []
    models: list[nn.Module] = []

    def keep(model: nn.Module, _optimizers: list[Optimizer]) -> None:
        models.append(model)
        first.append({name: value.detach().clone() for name, value in model.named_parameters()})

    def overwrite(_optimizer: Optimizer) -> None:
        if injection.step == due and not injection.acted:
            injection.acted += 1
            with torch.no_grad():
                for model, values in zip(models, first, strict=True):
                    for name, value in model.named_parameters():
                        value.copy_(values[name])

    injection.at_watch(keep)
    injection.before_step(overwrite)
