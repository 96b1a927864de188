"""Lightning: `Trainer(callbacks=[BedsideCallback()])`, for `lightning` and `pytorch_lightning` alike.

    from bedside.integrations.lightning import BedsideCallback

    trainer = L.Trainer(max_epochs=3, callbacks=[BedsideCallback()])

Automatic and manual optimization, accumulation and clipping are recognised where Lightning calls torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import lightning.pytorch as pl

from bedside.monitor.monitor import Monitor
from bedside.monitor.watch import watch


class BedsideCallback(pl.Callback):
    """Watches a fit. Takes the arguments of `bedside.watch`; `monitor` is the Monitor from the start of training on."""

    def __init__(self, **options: Any) -> None:
        self._options = options
        self.monitor: Monitor | None = None

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self.monitor = watch(trainer.model, list(trainer.optimizers), **self._options)

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        if self.monitor is not None:
            self.monitor.epoch(trainer.current_epoch)

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        self._before = dict(trainer.callback_metrics)

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        if self.monitor is not None and not trainer.sanity_checking:
            self._log(trainer.callback_metrics, self._before)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self._close(finished=True)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._close(finished=False)

    def _log(self, metrics: Mapping[str, Any], before: Mapping[str, Any]) -> None:
        """What this validation has changed; the rest is the training's, which is measured."""
        new = {name: value for name, value in metrics.items() if name not in before or before[name] is not value}
        if self.monitor is not None and new:
            with self.monitor.validation():
                self.monitor.log({name: float(value) for name, value in new.items()})

    def _close(self, finished: bool) -> None:
        monitor, self.monitor = self.monitor, None
        if monitor is not None:
            monitor.close(finished=finished)
