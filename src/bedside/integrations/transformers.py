"""The Trainer of transformers, and with it TRL's: `attach(trainer)` before `trainer.train()`.

    from bedside.integrations.transformers import attach

    attach(trainer)
    trainer.train()

`BedsideCallback` is the same as a plain `TrainerCallback`, for `Trainer(callbacks=[BedsideCallback()])`.
"""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from bedside.monitor.monitor import Monitor
from bedside.monitor.watch import watch

MEASURED = ("loss", "grad_norm", "learning_rate", "epoch", "step", "num_tokens")  # of the training's own logs


class BedsideCallback(TrainerCallback):
    """Watches `trainer.train()`. Takes the arguments of `bedside.watch`."""

    def __init__(self, **options: Any) -> None:
        self._options = options
        self.monitor: Monitor | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._close(finished=None)  # of an earlier train() that did not come to its end
        self.monitor = watch(kwargs["model"], kwargs["optimizer"], **self._options)
        self.monitor.combine_losses("sum")  # each is divided by the tokens, or the micro-batches, of the whole step

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.monitor is not None:
            self.monitor.epoch(int(state.epoch or 0))

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Any = None, **kwargs: Any) -> None:
        numbers = {name: value for name, value in (metrics or {}).items() if _is_metric(name, value)}
        if self.monitor is not None and numbers:
            self.monitor.log(numbers)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        """Rewards, margins and entropies that TRL logs beside the loss."""
        logs = logs or {}
        if self.monitor is None or any(name.startswith(("eval_", "train_")) for name in logs):
            return
        numbers = {
            name: value for name, value in logs.items() if name not in MEASURED and isinstance(value, (int, float))
        }
        if numbers:
            self.monitor.log(numbers)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._close(finished=True)

    def _close(self, finished: bool | None) -> None:
        monitor, self.monitor = self.monitor, None
        if monitor is not None:
            monitor.close(finished=finished)


def attach(trainer: Any, **options: Any) -> BedsideCallback:
    """Watch everything this trainer trains. Returns the callback, whose `monitor` exists while it trains."""
    callback = BedsideCallback(**options)
    trainer.add_callback(callback)
    return callback


def _is_metric(name: str, value: Any) -> bool:
    clocks = ("_runtime", "_per_second", "_model_preparation_time", "_num_tokens")
    return name.startswith("eval_") and not name.endswith(clocks) and isinstance(value, (int, float))
