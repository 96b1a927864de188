"""Losses written by hand, `((model(x) - y) ** 2).mean()`: what was compared with what, found in the loss's graph.

A call of torch's own loss functions is seen with its arguments. A mean of squares or of absolute values that somebody
wrote out leaves only its graph, which keeps the difference; with the model's output, from which the graph says that it
was taken, the difference gives the target. So such a loss is passed to collectors as if `F.mse_loss` had been called,
at sampled steps without a call of any torch loss function.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from bedside.collect.reading.graph_values import kept_as
from bedside.collect.reading.nested_tensors import floating_in

OPERATIONS = {"PowBackward0": "mse_loss", "AbsBackward0": "l1_loss"}
IN_PLACE = ("View", "UnsafeView", "ReshapeAlias", "Squeeze", "Unsqueeze")  # the order of the numbers stays
MAX_SHAPING = 4  # operations between the output and the difference
MAX_OUTPUTS = 4  # of a step: a plain regression has no more forwards than that


class HandWrittenLoss:
    """Keeps the outputs of a sampled step until its backward pass."""

    def __init__(self) -> None:
        self._outputs: list[Tensor] = []
        self._called = False  # one of torch's loss functions

    def forward_ended(self, output: Any) -> None:
        if not self._called and len(self._outputs) < MAX_OUTPUTS:
            self._outputs += [each for each in floating_in(output) if each.grad_fn is not None]

    def loss_computed(self, prediction: Any) -> None:
        """One of torch's own; what is only measured, without gradients, does not count."""
        self._called = self._called or bool(isinstance(prediction, Tensor) and prediction.requires_grad)

    def before_backward(self, loss: Any) -> tuple[str, Tensor, Tensor] | None:
        """The function of torch that this loss is, its prediction and its target; None where it is another one."""
        outputs, called = self._outputs, self._called
        self._outputs, self._called = [], False
        return None if called or not isinstance(loss, Tensor) else written_out(loss.grad_fn, outputs)


def written_out(root: Any, outputs: list[Tensor]) -> tuple[str, Tensor, Tensor] | None:
    """A plain mean of squared or absolute differences between one of the outputs and something without gradients.

    >>> import torch
    >>> out, wanted = torch.zeros(4, 1, requires_grad=True) * 2, torch.ones(4)
    >>> name, prediction, target = written_out(((out.squeeze(1) - wanted) ** 2).mean().grad_fn, [out])
    >>> name, prediction.shape, target.tolist()
    ('mse_loss', torch.Size([4]), [1.0, 1.0, 1.0, 1.0])
    """
    if root is None or not root.name().startswith("MeanBackward"):
        return None
    power = root.next_functions[0][0]
    function = OPERATIONS.get(power.name()) if power is not None else None
    if function is None or (function == "mse_loss" and float(power._saved_exponent) != 2):
        return None
    difference = power.next_functions[0][0]
    if difference is None or difference.name() != "SubBackward0" or float(difference._saved_alpha) != 1:
        return None
    sides = [each for each, _ in difference.next_functions]
    apart = kept_as(power, "self")
    if len(sides) != 2 or sides.count(None) != 1 or apart is None:  # the target is what needs no gradient
        return None
    made_by = _unshaped(sides[0] or sides[1])
    for output in outputs:
        if made_by is _unshaped(output.grad_fn) and output.numel() == apart.numel():
            prediction = output.reshape(apart.shape)
            moved = apart.detach() if sides[0] is not None else -apart.detach()
            return function, prediction, prediction.detach() - moved
    return None


def _unshaped(node: Any) -> Any:
    for _ in range(MAX_SHAPING):
        if node is None or str(node.name()).partition("Backward")[0] not in IN_PLACE:
            return node
        node = node.next_functions[0][0]
    return node
