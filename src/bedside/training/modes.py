"""Modes of a model that is trained on trial: training mode, with nothing random in it."""

from __future__ import annotations

from torch import nn
from torch.nn.modules.dropout import _DropoutNd


def without_dropout(model: nn.Module) -> None:
    """Training mode, because it is training that is tested, but nothing random in it."""
    model.train()
    for module in model.modules():
        if isinstance(module, _DropoutNd):
            module.eval()
        if isinstance(module, nn.RNNBase | nn.MultiheadAttention):
            module.dropout = 0.0
