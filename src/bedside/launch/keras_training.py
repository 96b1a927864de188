"""Trainings with Keras on torch, in a script that nobody changed.

Torch's optimizers have no part in them. Every `fit` of a model with Keras' own training step is watched from its first
batch on; every other use of an optimizer (a training step of the script's own, two optimizers, a loop without `fit`)
from the first update on. Validation comes from what Keras logs of each epoch.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from typing import Any

from bedside.launch.attach import Attach


class KerasTrainings:
    """Finds the trainings, and has `Attach` start their monitors."""

    def __init__(self, attach: Attach, keras: Any) -> None:
        self._attach = attach
        self._keras = keras
        self._steps: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()  # of optimizers of Keras'

    def listen(self) -> None:
        keras = self._keras
        if keras.config.backend() != "torch":
            return
        base = next(each for each in keras.Optimizer.__mro__ if "_backend_apply_gradients" in vars(each))
        self._around(base, "_backend_apply_gradients", self._apply)
        self._around(base, "_clip_gradients", self._clip)
        for home in (base, keras.optimizers.LossScaleOptimizer):
            self._around(home, "scale_loss", self._scale_loss)
        trainer = next(each for each in keras.Model.__mro__ if "fit" in vars(each))
        self._train_step = vars(trainer)["train_step"]
        self._fit_signature = inspect.signature(vars(trainer)["fit"])
        self._around(trainer, "fit", self._fit)

    @staticmethod
    def _around(home: Any, name: str, ours: Any) -> None:
        original = vars(home)[name]

        @functools.wraps(original)
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            return ours(functools.partial(original, self), self, *args, **kwargs)

        setattr(home, name, method)

    def _fit(self, original: Any, model: Any, *args: Any, **kwargs: Any) -> Any:
        call = self._fit_signature.bind_partial(model, *args, **kwargs)
        given = call.arguments.get("callbacks")
        ours = self._callback(model)
        if isinstance(given, self._keras.callbacks.CallbackList):
            given.append(ours)
        else:
            several = list(given) if isinstance(given, (list, tuple)) else [given] if given is not None else []
            call.arguments["callbacks"] = [*several, ours]
        return original(*call.args[1:], **call.kwargs)

    def _callback(self, model: Any) -> Any:
        from bedside.integrations.keras import EpochLogs

        trainings = self

        class Listening(EpochLogs):
            """Asks at every epoch, because the monitor may come with the first update only."""

            def on_train_begin(self, logs: Any = None) -> None:
                if getattr(type(model), "train_step", None) is trainings._train_step and model.optimizer is not None:
                    trainings._begin(model.optimizer, model.trainable_variables, model)

            def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
                self.monitor = trainings._attach.newest
                super().on_epoch_begin(epoch, logs)

            def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
                self.monitor = trainings._attach.newest
                super().on_epoch_end(epoch, logs)

        return Listening()

    def _begin(self, optimizer: Any, variables: Any, model: Any = None) -> Any:
        """The step of this optimizer; it may already be watched, also by a callback of the script's own."""
        inner = getattr(optimizer, "inner_optimizer", optimizer)
        if inner not in self._steps:
            self._steps[inner] = None  # whatever comes of it: not tried at every update
            self._attach.safely(lambda: self._start(optimizer, inner, list(variables), model))
        return self._steps[inner]

    def _start(self, optimizer: Any, inner: Any, variables: list[Any], model: Any) -> None:
        from bedside.integrations.keras_step import VITALS, KerasStep, weights_as_modules

        if "_backend_apply_gradients" in vars(inner):  # bedside's own callback listens
            return
        weights = variables if model is None else model.weights
        name = variables[0].path.partition("/")[0] if model is None else model.name
        step = KerasStep(optimizer, variables)
        self._attach.begin(step.optimizer, weights_as_modules(weights, name), VITALS)
        if (monitor := self._attach.monitor_of(step.optimizer)) is not None:
            step.watched_by(monitor)
            self._steps[inner] = step

    def _apply(self, original: Any, optimizer: Any, grads: Any, variables: Any) -> None:
        step = self._begin(optimizer, variables)
        if step is None:
            original(grads, variables)
        else:
            step.watched_by(self._attach.monitor_of(step.optimizer))
            step.apply(original, grads, variables)

    def _clip(self, original: Any, optimizer: Any, grads: Any) -> Any:
        step = self._steps.get(optimizer)
        return original(grads) if step is None else step.clip(original, grads)

    def _scale_loss(self, original: Any, optimizer: Any, loss: Any) -> Any:
        step = self._steps.get(getattr(optimizer, "inner_optimizer", optimizer))
        return original(loss) if step is None else step.scale_loss(original, loss)
