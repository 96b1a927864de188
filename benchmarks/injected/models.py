"""Faults of the network: how its weights begin, its activations, its regularisation, what it puts out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from injected.injection import (
    BLEW_UP,
    NEVER_LEARNED,
    NOT_ON_NEW_DATA,
    Injection,
    NotApplicable,
    answers,
    leaves,
    matrices,
    operator,
)

QUIET = (
    *NEVER_LEARNED,
    "silent-parameter",
    "vanishing-gradient",
    "collapsed-activations",
    "unmoved-parameter",
    "dead-layer",
    "dead-units",
)


def _weights(injection: Injection, change: Callable[[nn.Parameter], None], every: bool = True) -> None:
    """Change weights as they are when the model is watched; without `every`, matrices alone."""

    @torch.no_grad()
    def put(model: nn.Module, _optimizers: list[Optimizer]) -> None:
        for each in list(model.parameters()) if every else matrices(model):
            change(each)
            injection.acted += 1

    injection.at_watch(put)


@operator("symmetric-units", "dead-layer", "dead-units", "silent-parameter", also=QUIET)
def weights_zero(injection: Injection) -> None:
    """All weights begin at zero."""
    _weights(injection, lambda each: each.zero_())


@operator("symmetric-units", also=QUIET)
def weights_all_equal(injection: Injection) -> None:
    """All weights of all matrices begin at the same small number."""
    _weights(injection, lambda each: each.fill_(0.02), every=False)


@operator(
    "wrong-initial-loss",
    "growing-activations",
    "saturated-units",
    also=(*BLEW_UP, *NEVER_LEARNED, "dead-units", "undersized-update", "collapsed-attention", "overfitting"),
)
def weights_times_10(injection: Injection) -> None:
    """Weights begin ten times too large."""
    _weights(injection, lambda each: each.mul_(10), every=False)


@operator("vanishing-gradient", "collapsed-activations", also=QUIET)
def weights_over_30(injection: Injection) -> None:
    """Weights begin thirty times too small."""
    _weights(injection, lambda each: each.div_(30), every=False)


@operator("dead-units", "dead-layer", "saturated-units", also=QUIET)
def hidden_bias_of_minus_20(injection: Injection) -> None:
    """The biases of the hidden layers begin at minus twenty."""

    @torch.no_grad()
    def put(model: nn.Module, _optimizers: list[Optimizer]) -> None:
        layers = [each for each in leaves(model) if isinstance(each, nn.Linear | nn.Conv1d | nn.Conv2d)]
        for each in layers[:-1]:
            if each.bias is not None:
                each.bias.fill_(-20.0)
                injection.acted += 1

    injection.at_watch(put)


ACTIVATIONS = ("relu", "gelu", "silu", "leaky_relu", "elu", "tanh")


def _activations(injection: Injection, value: Callable[[torch.Tensor], torch.Tensor]) -> None:
    def made(_original: Any) -> Any:
        def activation(input: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
            injection.acted += 1
            return value(input)

        return activation

    for home in (torch.nn.functional, torch):
        for name in ACTIVATIONS:
            if hasattr(home, name):
                injection.patch(home, name, made)
    for kind in (nn.ReLU, nn.GELU, nn.SiLU, nn.LeakyReLU, nn.ELU, nn.Tanh):
        injection.patch(kind, "forward", lambda _original: lambda self, input: _counted(injection, value, input))


def _counted(injection: Injection, value: Callable[[torch.Tensor], torch.Tensor], input: torch.Tensor) -> torch.Tensor:
    injection.acted += 1
    return value(input)


@operator("linear-network", "underfitting", also=(*NEVER_LEARNED, *BLEW_UP))
def activations_left_out(injection: Injection) -> None:
    """There is no activation between the layers: the network is a straight line."""
    _activations(injection, lambda x: x)


@operator("saturated-units", "vanishing-gradient", also=QUIET)
def activations_sigmoid(injection: Injection) -> None:
    """Every activation is a sigmoid."""
    _activations(injection, torch.sigmoid)


def _output(injection: Injection, value: Callable[[torch.Tensor], torch.Tensor], least: int = 1) -> None:
    """Something is put behind the network, as its last layer. It has at least so many outputs."""

    def put(model: nn.Module, _optimizers: list[Optimizer]) -> None:
        def behind(out: Any) -> Any:
            if not isinstance(out, torch.Tensor) or not out.is_floating_point() or out.dim() < 1:
                return out
            if out.shape[-1] < least:
                return out
            injection.acted += 1
            return value(out)

        answers(model, behind)

    injection.at_watch(put)


@operator(
    "unreachable-target",
    "dead-units",
    "mismatched-loss",
    also=(*NEVER_LEARNED, "dead-layer", "wrong-initial-loss", "silent-parameter"),
)
def relu_on_the_output(injection: Injection) -> None:
    """A ReLU stands behind the last layer."""
    _output(injection, torch.relu)


@operator("mismatched-loss", also=(*NEVER_LEARNED, "unreachable-target", "undersized-update", "vanishing-gradient"))
def softmax_before_the_loss(injection: Injection) -> None:
    """A softmax stands behind the last layer, and the loss makes another."""
    _output(injection, lambda x: torch.softmax(x, -1), least=2)


@operator("mismatched-loss", "unreachable-target", also=(*NEVER_LEARNED, "saturated-units"))
def sigmoid_on_the_output(injection: Injection) -> None:
    """A sigmoid stands behind the last layer."""
    _output(injection, torch.sigmoid)


@operator("mixed-samples", "mismatched-loss", also=NEVER_LEARNED)
def softmax_over_the_batch(injection: Injection) -> None:
    """A softmax stands behind the last layer, over the samples of the batch."""
    _output(injection, lambda x: torch.log_softmax(x, 0))


@operator("heavy-dropout", also=(*NEVER_LEARNED, "noisy-loss", "validation-below-training"))
def dropout_of_95(injection: Injection) -> None:
    """Dropout leaves one unit of twenty."""

    def put(model: nn.Module, _optimizers: list[Optimizer]) -> None:
        for each in model.modules():
            if isinstance(each, nn.Dropout):
                each.p = 0.95
                injection.acted += 1

    injection.at_watch(put)


@operator("stale-statistics", also=(*NOT_ON_NEW_DATA, "evaluating-in-train-mode"))
def batchnorm_momentum_tiny(injection: Injection) -> None:
    """The running statistics of the batch norms hardly move."""

    def put(model: nn.Module, _optimizers: list[Optimizer]) -> None:
        for each in model.modules():
            if isinstance(each, nn.BatchNorm1d | nn.BatchNorm2d):
                each.momentum = 1e-6
                injection.acted += 1

    injection.at_watch(put)


def _middle(model: nn.Module) -> nn.Module:
    layers = leaves(model)
    if len(layers) < 2:
        raise NotApplicable
    return layers[(len(layers) - 1) // 2]


@operator("silent-parameter", "dead-layer", also=("unmoved-parameter", *NEVER_LEARNED, "gap-from-start"))
def detached_in_the_middle(injection: Injection) -> None:
    """The output of a middle layer is detached: nothing before it learns."""

    def put(model: nn.Module, _optimizers: list[Optimizer]) -> None:
        def cut(out: Any) -> Any:
            injection.acted += 1
            if isinstance(out, torch.Tensor):
                return out.detach()
            return (out[0].detach(), *out[1:]) if isinstance(out, tuple) else out

        answers(_middle(model), cut)

    injection.at_watch(put)


@operator(
    "diverging-loss", "runaway-weights", also=(*BLEW_UP, *NEVER_LEARNED, "growing-activations", "dominant-module")
)
def gradient_of_a_layer_reversed(injection: Injection) -> None:
    """The gradient of a middle layer has the wrong sign, as behind a reversal layer that was left in."""

    def put(model: nn.Module, _optimizers: list[Optimizer]) -> None:
        for each in _middle(model).parameters(recurse=False):
            if each.requires_grad:
                each.register_hook(lambda gradient: -gradient)
                injection.acted += 1

    injection.at_watch(put)
