"""Keras 3 on torch: `model.fit(…, callbacks=[Monitor()])`.

    from bedside.integrations.keras import Monitor

    model.fit(x, y, epochs=3, validation_split=0.2, callbacks=[Monitor()])

Keras updates the weights itself, without an optimizer of torch's, and calls its layers past torch's hooks. So the
update is presented to `watch` as the step of an optimizer, with the gradients before and after Keras' own clipping, and
the weights as modules with the names that `model.summary()` shows. Outputs of layers are not read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras
import torch
from torch import nn

from bedside import monitor as monitors
from bedside.errors import BadModel
from bedside.monitor.watch import watch

VITALS = ["grad_norm", "update_norm"]  # what can be read without forwards; the loss and the rate always are


class Monitor(keras.callbacks.Callback):
    """Watches `fit`. Takes the arguments of `bedside.watch`; `monitor` is bedside's Monitor while it trains."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self._options = options
        self.monitor: monitors.monitor.Monitor | None = None
        self._step: KerasStep | None = None

    def on_train_begin(self, logs: Any = None) -> None:
        if keras.backend.backend() != "torch":
            raise BadModel(
                f"Keras runs on {keras.backend.backend()} here.",
                expected="the torch backend, whose gradients can be read",
                try_='os.environ["KERAS_BACKEND"] = "torch" before import keras',
            )
        self._step = KerasStep(self.model)
        self.monitor = watch(self._step.weights, self._step.optimizer, **{"vitals": VITALS, **self._options})
        self._step.begin(self.monitor)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        if self.monitor is not None:
            self.monitor.epoch(epoch)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        known = {name: float(value) for name, value in (logs or {}).items() if name not in ("loss", "learning_rate")}
        if self.monitor is not None:
            validation = {name: value for name, value in known.items() if name.startswith("val_")}
            training = {f"train/{name}": value for name, value in known.items() if name not in validation}
            for numbers in (validation, training):
                if numbers:
                    self.monitor.log(numbers)

    def on_train_end(self, logs: Any = None) -> None:
        self.close(finished=True)

    def close(self, finished: bool | None = None) -> None:
        """Also for a fit that an exception ended: Keras calls nobody then."""
        step, self._step = self._step, None
        if step is not None:
            step.end()
        monitor, self.monitor = self.monitor, None
        if monitor is not None:
            monitor.close(finished=finished)


class KerasStep:
    """The update that Keras makes, as the step of an optimizer of torch's."""

    def __init__(self, model: Any) -> None:
        self._keras = model.optimizer
        self.weights = weights_as_modules(model)
        trained = [variable.value for variable in model.trainable_variables]
        self.optimizer = StepOfKeras(trained, self._rate())
        self.optimizer.__class__ = type(type(self._keras).__name__, (StepOfKeras,), {})  # the name in the record
        self._monitor: Any = None
        self._parameters: Sequence[Any] = ()
        self._apply = self._keras._backend_apply_gradients
        self._clip = self._keras._clip_gradients

    def begin(self, monitor: Any) -> None:
        self._monitor = monitor
        self._keras._backend_apply_gradients = self._applied
        self._keras._clip_gradients = self._clipped

    def end(self) -> None:
        for name in ("_backend_apply_gradients", "_clip_gradients"):
            vars(self._keras).pop(name, None)

    def _rate(self) -> float:
        return float(keras.ops.convert_to_numpy(self._keras.learning_rate))

    def _applied(self, grads: Sequence[Any], variables: Sequence[Any]) -> None:
        every = self._keras.gradient_accumulation_steps
        if every and (int(self._keras.iterations) + 1) % every != 0:
            self._apply(grads, variables)  # only added up
            return
        self.optimizer.param_groups[0]["lr"] = self._rate()
        self._parameters = [variable.value for variable in variables]
        self.optimizer.step(lambda: self._apply(grads, variables))

    def _clipped(self, grads: Sequence[Any]) -> Any:
        """Keras computes new tensors; what the optimizer will see is shown to whoever reads `.grad` after the step."""
        clipped = self._clip(grads)
        limit = self._keras.global_clipnorm
        if limit:
            total = torch.nn.utils.get_total_norm([each for each in grads if each is not None])
            self._monitor.clipped_by_norm(list(self._parameters), float(limit), total)
        for parameter, gradient in zip(self._parameters, clipped, strict=True):
            parameter.grad = gradient
        return clipped


class StepOfKeras(torch.optim.Optimizer):
    """Has the hooks that `watch` listens to; what it does at a step is Keras' business."""

    def __init__(self, parameters: Sequence[Any], rate: float) -> None:
        super().__init__(parameters, {"lr": rate})

    def step(self, closure: Callable[[], Any] | None = None) -> Any:  # type: ignore[override]
        return closure() if closure is not None else None


def weights_as_modules(model: Any) -> nn.Module:
    """The same tensors in a tree of modules: `dense.kernel` for `sequential/dense/kernel`."""
    root = nn.Module()
    root.__class__ = type(type(model).__name__, (nn.Module,), {})  # the name in the record
    for variable in model.weights:
        *layers, name = variable.path.replace(".", "_").split("/")
        module = root
        for layer in layers[1:] if layers[:1] == [model.name] else layers:
            if layer not in module._modules:
                module.add_module(layer, nn.Module())
            module = module._modules[layer]
        if isinstance(variable.value, nn.Parameter):
            module.register_parameter(name, variable.value)
    return root
