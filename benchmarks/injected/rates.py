"""Faults of the optimizer and of the learning rate."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from injected.injection import BLEW_UP, NEVER_LEARNED, Injection, NotApplicable, operator

UNSTABLE = (*BLEW_UP, *NEVER_LEARNED, "missing-warmup", "dead-units", "saturated-units", "loss-spike", "weight-jump")
SLOW = (*NEVER_LEARNED, "still-falling", "damped-step")


def _settings(injection: Injection, change: Any) -> None:
    """Change what every optimizer is made with: `change` gets a dictionary of settings, and says whether it did."""

    def made(original: Any) -> Any:
        def initialise(self: Optimizer, params: Any, defaults: dict[str, Any]) -> None:
            params = list(params)
            for each in [defaults, *(each for each in params if isinstance(each, dict))]:
                injection.acted += bool(change(each))
            original(self, params, defaults)

        return initialise

    injection.patch(Optimizer, "__init__", made)


def _rate_times(injection: Injection, factor: float) -> None:
    def change(settings: dict[str, Any]) -> bool:
        if not isinstance(settings.get("lr"), float | int):
            return False
        settings["lr"] = settings["lr"] * factor
        return True

    _settings(injection, change)


@operator("oversized-update", also=UNSTABLE)
def rate_times_100(injection: Injection) -> None:
    """The learning rate is a hundred times too high."""
    _rate_times(injection, 100)


@operator("oversized-update", also=UNSTABLE)
def rate_times_10(injection: Injection) -> None:
    """The learning rate is ten times too high."""
    _rate_times(injection, 10)


@operator("undersized-update", "vanished-learning-rate", also=SLOW)
def rate_over_1000(injection: Injection) -> None:
    """The learning rate is a thousand times too low."""
    _rate_times(injection, 1e-3)


@operator("learning-rate-leap", "late-overshoot", "oversized-update", also=(*BLEW_UP, "weight-jump", "dead-units"))
def rate_leaps_late(injection: Injection) -> None:
    """At six tenths of the run the learning rate is multiplied by a hundred."""
    due = injection.at_share(0.6)

    def leap(optimizer: Optimizer) -> None:
        if injection.step == due:
            for group in optimizer.param_groups:
                group["lr"] *= 100
            injection.acted += 1

    injection.before_step(leap)


@operator("schedule-ended-early", "vanished-learning-rate", also=(*SLOW, "undersized-update"))
def rate_gone_early(injection: Injection) -> None:
    """From a tenth of the run on, the learning rate is a hundred-thousandth of what it was."""
    due = injection.at_share(0.1)
    floor: list[float] = []

    def gone(optimizer: Optimizer) -> None:
        if injection.step >= due:
            floor[:] = floor or [optimizer.param_groups[0]["lr"] * 1e-5]
            for group in optimizer.param_groups:
                group["lr"] = floor[0]
            injection.acted += 1

    injection.before_step(gone)


@operator("scheduler-per-batch", "schedule-ended-early", also=(*SLOW, "vanished-learning-rate", "undersized-update"))
def scheduler_in_the_inner_loop(injection: Injection) -> None:
    """The scheduler, made for epochs, is stepped at every batch."""
    schedulers: list[LRScheduler] = []

    def made(original: Any) -> Any:
        def initialise(self: LRScheduler, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            schedulers.append(self)

        return initialise

    injection.patch(LRScheduler, "__init__", made)

    def step(optimizer: Optimizer) -> None:
        for each in schedulers:
            if injection.step > 1 and getattr(each, "optimizer", None) is optimizer:
                each.step()
                injection.acted += 1

    injection.before_step(step)


@operator("oscillating-loss", "amplified-step", also=UNSTABLE)
def momentum_of_three_nines(injection: Injection) -> None:
    """Momentum, or Adam's first beta, is 0.999."""

    def change(settings: dict[str, Any]) -> bool:
        if settings.get("momentum"):
            settings["momentum"] = 0.999
        elif isinstance(settings.get("betas"), tuple):
            settings["betas"] = (0.999, *settings["betas"][1:])
        else:
            return False
        return True

    _settings(injection, change)


@operator("shrinking-weights", also=(*NEVER_LEARNED, "lost-progress", "collapsed-activations", "damped-step"))
def decay_of_ten(injection: Injection) -> None:
    """Weight decay is ten."""

    def change(settings: dict[str, Any]) -> bool:
        if "weight_decay" not in settings:
            return False
        settings["weight_decay"] = 10.0
        return True

    _settings(injection, change)


@operator("underflowing-second-moment", "damped-step", "undersized-update", also=SLOW)
def epsilon_of_one(injection: Injection) -> None:
    """Adam's eps is one, far above the usual gradient."""

    def change(settings: dict[str, Any]) -> bool:
        if "eps" not in settings or "betas" not in settings:
            return False
        settings["eps"] = 1.0
        return True

    _settings(injection, change)


@operator("gradient-always-clipped", also=(*SLOW, "undersized-update"))
def clip_threshold_over_1000(injection: Injection) -> None:
    """Gradients are clipped to a thousandth of what was meant."""

    def made(original: Any) -> Any:
        def clip(parameters: Any, max_norm: float, *args: Any, **kwargs: Any) -> Any:
            injection.acted += 1
            return original(parameters, max_norm / 1000, *args, **kwargs)

        return clip

    injection.patch(torch.nn.utils, "clip_grad_norm_", made)


def _parameters(injection: Injection, change: Any) -> None:
    def made(original: Any) -> Any:
        def initialise(self: Optimizer, params: Any, defaults: dict[str, Any]) -> None:
            params = list(params)
            if params and all(isinstance(each, torch.Tensor) for each in params):
                params = change(params)
                injection.acted += 1
            original(self, params, defaults)

        return initialise

    injection.patch(Optimizer, "__init__", made)


@operator("uncovered-parameter", also=("unmoved-parameter", *NEVER_LEARNED, "gap-from-start", "overfitting"))
def first_half_not_in_optimizer(injection: Injection) -> None:
    """The optimizer was given the second half of the parameters only."""
    _parameters(injection, lambda params: params[len(params) // 2 :])


@operator(
    "stale-optimizer",
    "uncovered-parameter",
    also=(*NEVER_LEARNED, "unmoved-parameter", "step-without-gradient", "never-stepped", "frozen-validation"),
)
def optimizer_of_a_copy(injection: Injection) -> None:
    """The optimizer holds copies of the parameters, those from before the model was made anew."""
    _parameters(injection, lambda params: [nn.Parameter(each.detach().clone()) for each in params])


@operator("swallowed-updates", also=(*SLOW, "undersized-update", "underflowing-second-moment"))
def weights_in_bfloat16(injection: Injection) -> None:
    """Weights and activations are kept in bfloat16, optimizer state too."""

    def put(model: nn.Module, _optimizers: list[Optimizer]) -> None:
        if any(isinstance(each, nn.RNNBase) for each in model.modules()):
            raise NotApplicable
        model.bfloat16()
        usual = type(model)

        def cast(value: Any) -> Any:
            return value.bfloat16() if isinstance(value, torch.Tensor) and value.is_floating_point() else value

        def called(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
            out = usual.__call__(self, *(cast(each) for each in args), **kwargs)
            return out.float() if isinstance(out, torch.Tensor) else out

        model.__class__ = type(usual.__name__, (usual,), {"__call__": called, "__module__": usual.__module__})
        injection.acted += 1

    injection.at_watch(put)
