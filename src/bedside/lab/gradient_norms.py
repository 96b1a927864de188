"""A model's layers in the order in which the data passes them, and the norms of their gradients."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from bedside.training.nonfinite.values import readable_values


def layer_of(parameter: str) -> str:
    """The module that owns a parameter; a bare parameter of the model itself is its own layer."""
    return parameter.rpartition(".")[0] or parameter


def squared_norm(tensor: Tensor | None) -> float:
    """Of one gradient, summed in double precision; zero where there is none, since nothing arrives."""
    if tensor is None or (values := readable_values(tensor)) is None:
        return 0.0
    return float(torch.linalg.vector_norm(values, dtype=torch.float64 if values.device.type == "cpu" else None)) ** 2


def gradient_norms(model: nn.Module) -> dict[str, float]:
    """The norm of each layer's present gradient, in the order of registration; NaN for a gradient with NaN."""
    squares: dict[str, float] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            layer = layer_of(name)
            squares[layer] = squares.get(layer, 0.0) + squared_norm(parameter.grad)
    return {layer: math.sqrt(square) if square == square else math.nan for layer, square in squares.items()}


def weight_layers(model: nn.Module) -> set[str]:
    """Layers with a matrix: those between which gradients are compared (norm layers have a scale of their own)."""
    return {layer_of(name) for name, each in model.named_parameters() if each.requires_grad and each.ndim >= 2}


def shares(norms: Mapping[str, float]) -> dict[str, float]:
    """Each layer's part of the squared gradient norm."""
    total = sum(norm**2 for norm in norms.values())
    return {layer: norm**2 / total if total > 0 else 0.0 for layer, norm in norms.items()}
