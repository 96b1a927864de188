"""The loss as a function of the weights alone: one fixed set of batches, evaluation mode, no random numbers.

Sharpness and landscapes compare losses at nearby weights; with other batches or dropout each time, the noise of the
data would be taken for the shape of the loss.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from bedside.training.step import Training


class FixedLoss:
    """Mean loss over fixed batches at whatever weights the model has now."""

    def __init__(self, training: Training, batches: int) -> None:
        self.training = training
        self.model = training.model
        self.model.eval()
        self.batches: list[Any] = [training.loss.placed(each) for each in training.batches.first(batches)]
        self.parameters = [each for each in self.model.parameters() if each.requires_grad]
        self.origin = [each.detach().clone() for each in self.parameters]

    def __call__(self) -> float:
        with torch.no_grad():
            return sum(float(self.training.loss(each)) for each in self.batches) / len(self.batches)

    def at(self, offsets: list[Tensor]) -> float:
        """The loss at the original weights plus these offsets; the weights are put back."""
        with torch.no_grad():
            for each, start, offset in zip(self.parameters, self.origin, offsets, strict=True):
                each.copy_(start + offset)
            try:
                return self()
            finally:
                for each, start in zip(self.parameters, self.origin, strict=True):
                    each.copy_(start)

    def gradient(self) -> list[Tensor]:
        """Of the mean loss, at the present weights."""
        total = [torch.zeros_like(each) for each in self.parameters]
        for batch in self.batches:
            found = torch.autograd.grad(self.training.loss(batch), self.parameters, allow_unused=True)
            for sum_, each in zip(total, found, strict=True):
                if each is not None:
                    sum_ += each / len(self.batches)
        return total

    def hessian_times(self, vector: list[Tensor]) -> list[Tensor]:
        """The Hessian of the mean loss times a vector, by differentiating the gradient once more."""
        total = [torch.zeros_like(each) for each in self.parameters]
        with sdpa_kernel(SDPBackend.MATH):  # the fast attention kernels have no second derivative
            for batch in self.batches:
                loss = self.training.loss(batch)
                first = torch.autograd.grad(loss, self.parameters, create_graph=True, allow_unused=True)
                along = sum((g * v).sum() for g, v in zip(first, vector, strict=True) if g is not None)
                if not isinstance(along, Tensor) or not along.requires_grad:
                    continue  # a loss that is linear in the weights has no curvature
                second = torch.autograd.grad(along, self.parameters, allow_unused=True)
                for sum_, each in zip(total, second, strict=True):
                    if each is not None:
                        sum_ += each.detach() / len(self.batches)
        return total
