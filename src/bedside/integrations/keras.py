"""Keras 3 on torch: `model.fit(…, callbacks=[Monitor()])`.

    from bedside.integrations.keras import Monitor

    model.fit(x, y, epochs=3, validation_split=0.2, callbacks=[Monitor()])

Keras updates the weights itself, without an optimizer of torch's, and calls its layers past torch's hooks. So the
update is presented to `watch` as the step of an optimizer (`keras_step.py`). Outputs of layers are not read.
"""

from __future__ import annotations

from typing import Any

import keras

from bedside.errors import BadModel
from bedside.integrations.keras_step import VITALS, KerasStep, weights_as_modules
from bedside.monitor import monitor as monitors
from bedside.monitor.watch import watch

MEASURED = ("loss", "learning_rate")


class EpochLogs(keras.callbacks.Callback):
    """Hands epochs and what Keras logs of each to the monitor, once there is one."""

    monitor: monitors.Monitor | None = None

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        if self.monitor is not None:
            self.monitor.epoch(epoch)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        known = {name: float(value) for name, value in (logs or {}).items() if name not in MEASURED}
        if self.monitor is not None:
            validation = {name: value for name, value in known.items() if name.startswith("val_")}
            training = {f"train/{name}": value for name, value in known.items() if name not in validation}
            for numbers in (validation, training):
                if numbers:
                    self.monitor.log(numbers)


class Monitor(EpochLogs):
    """Watches `fit`. Takes the arguments of `bedside.watch`; `monitor` is bedside's Monitor while it trains."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self._options = options
        self._step: KerasStep | None = None

    def on_train_begin(self, logs: Any = None) -> None:
        if keras.backend.backend() != "torch":
            raise BadModel(
                f"Keras runs on {keras.backend.backend()} here.",
                expected="the torch backend, whose gradients can be read",
                try_='os.environ["KERAS_BACKEND"] = "torch" before import keras',
            )
        weights = weights_as_modules(self.model.weights, type(self.model).__name__)
        self._step = KerasStep(self.model.optimizer, self.model.trainable_variables)
        self.monitor = watch(weights, self._step.optimizer, **{"vitals": VITALS, **self._options})
        self._step.begin(self.monitor)

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
