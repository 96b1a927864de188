"""An update that Keras makes, as the step of an optimizer of torch's, with names as `model.summary()` shows them.

Keras clips inside of its own update, on tensors of its own. During an update `.grad` holds what Keras has after
clipping, which is where `watch` reads it; the norms before are handed over as those of a clip call. Afterwards `.grad`
is what it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras
import torch
from torch import nn

VITALS = ["grad_norm", "update_norm"]  # what can be read without forwards; the loss and the rate always are

Gradients = Sequence[Any]


class KerasStep:
    """The updates of one optimizer of Keras'."""

    def __init__(self, optimizer: Any, variables: Sequence[Any]) -> None:
        self._keras = getattr(optimizer, "inner_optimizer", optimizer)  # of a LossScaleOptimizer
        self._scaling = optimizer
        self.optimizer = StepOfKeras([variable.value for variable in variables], self._rate())
        self.optimizer.__class__ = type(type(self._keras).__name__, (StepOfKeras,), {})  # the name in the record
        self._monitor: Any = None
        self._parameters: list[Any] = []

    def watched_by(self, monitor: Any) -> None:
        if monitor is not self._monitor:
            self._monitor = monitor
            if self._keras.gradient_accumulation_steps:
                monitor.combine_losses("mean")

    def begin(self, monitor: Any) -> None:
        """Listen to this optimizer alone, until `end`."""
        self.watched_by(monitor)
        apply, clip, scale = (
            self._keras._backend_apply_gradients,
            self._keras._clip_gradients,
            self._scaling.scale_loss,
        )
        self._keras._backend_apply_gradients = lambda *args: self.apply(apply, *args)
        self._keras._clip_gradients = lambda *args: self.clip(clip, *args)
        self._scaling.scale_loss = lambda *args: self.scale_loss(scale, *args)

    def end(self) -> None:
        for name in ("_backend_apply_gradients", "_clip_gradients"):
            vars(self._keras).pop(name, None)
        vars(self._scaling).pop("scale_loss", None)

    def apply(self, original: Callable[..., None], grads: Gradients, variables: Sequence[Any]) -> None:
        """Keras' `_backend_apply_gradients`: a step, unless it only adds up."""
        every = self._keras.gradient_accumulation_steps
        if every and (int(self._keras._iterations) + 1) % every != 0:  # `iterations` counts updates
            original(grads, variables)
            return
        self.optimizer.param_groups[0]["lr"] = self._rate()
        self._parameters = [variable.value for variable in variables]
        before = [parameter.grad for parameter in self._parameters]
        try:
            self.optimizer.step(lambda: original(grads, variables))
        finally:
            for parameter, gradient in zip(self._parameters, before, strict=True):
                parameter.grad = gradient
            self._parameters = []

    def clip(self, original: Callable[..., Gradients], grads: Gradients) -> Gradients:
        """Keras' `_clip_gradients`, inside of a step: by the norm of all, of each, or by value."""
        clipped = original(grads)
        if not self._parameters:
            return clipped
        shown = grads if self._keras.clipvalue else clipped  # no factor leads back from values that were cut off
        if limit := self._keras.clipnorm:
            norms = torch._foreach_norm([each.detach() for each in grads])
            for parameter, total in zip(self._parameters, norms, strict=True):
                self._monitor.dispatcher.clipped_by_norm([parameter], float(limit), total)
        elif limit := self._keras.global_clipnorm:
            total = torch.nn.utils.get_total_norm(list(grads))
            self._monitor.dispatcher.clipped_by_norm(list(self._parameters), float(limit), total)
        for parameter, gradient in zip(self._parameters, shown, strict=True):
            parameter.grad = gradient
        return clipped

    def scale_loss(self, original: Callable[[Any], Any], loss: Any) -> Any:
        """Keras' `scale_loss`, for mixed precision."""
        scaled = original(loss)
        if scaled is not loss and self._monitor is not None:
            self._monitor.dispatcher.scaled(loss, scaled)
        return scaled

    def _rate(self) -> float:
        return float(keras.ops.convert_to_numpy(self._keras.learning_rate))


class StepOfKeras(torch.optim.Optimizer):
    """Has the hooks that `watch` listens to; what it does at a step is Keras' business."""

    def __init__(self, parameters: Sequence[Any], rate: float) -> None:
        super().__init__(parameters, {"lr": rate})

    def step(self, closure: Callable[[], Any] | None = None) -> Any:  # type: ignore[override]
        return closure() if closure is not None else None


def weights_as_modules(variables: Sequence[Any], name: str) -> nn.Module:
    """The same tensors in a tree of modules: `dense.kernel` for `sequential/dense/kernel`."""
    root = nn.Module()
    root.__class__ = type(name, (nn.Module,), {})  # the name in the record
    paths = [variable.path.replace(".", "_").split("/") for variable in variables]
    shared = len({path[0] for path in paths}) == 1 and all(len(path) > 2 for path in paths)
    for variable, path in zip(variables, paths, strict=True):
        *layers, last = path[1:] if shared else path
        module = root
        for layer in layers:
            if layer not in module._modules:
                module.add_module(layer, nn.Module())
            module = module._modules[layer]
        if isinstance(variable.value, nn.Parameter):
            module.register_parameter(last, variable.value)
    return root
