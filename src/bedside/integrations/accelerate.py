"""Accelerate: `bedside.watch` after `prepare`, and what `accelerator.log` is given through a tracker.

from bedside.integrations.accelerate import BedsideTracker

tracker = BedsideTracker()
accelerator = Accelerator(log_with=[tracker])
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
accelerator.init_trackers("mine")
tracker.monitor = bedside.watch(model, optimizer)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from accelerate.tracking import GeneralTracker

from bedside.monitor.monitor import Monitor

OURS = ("lr", "learning_rate", "epoch", "step", "loss", "train_loss", "train/loss", "grad_norm")  # measured anyway


class BedsideTracker(GeneralTracker):
    """Hands the metrics of `accelerator.log` to the monitor; `accelerator.end_training()` closes it."""

    name = "bedside"
    requires_logging_directory = False
    main_process_only = True

    def __init__(self, monitor: Monitor | None = None) -> None:
        self.monitor = monitor
        self._config: dict[str, Any] = {}
        super().__init__()

    @property
    def tracker(self) -> Monitor | None:
        """What `accelerator.get_tracker("bedside", unwrap=True)` returns."""
        return self.monitor

    def store_init_configuration(self, values: Mapping[str, Any]) -> None:
        """`init_trackers(config=…)`: kept for `bedside.watch(…, config=tracker.config)`."""
        self._config.update(values)

    @property
    def config(self) -> dict[str, Any]:
        """What `init_trackers` was given."""
        return dict(self._config)

    def log(self, values: Mapping[str, Any], step: int | None = None, **kwargs: Any) -> None:
        numbers = {
            name: value for name, value in values.items() if name not in OURS and isinstance(value, (int, float))
        }
        if self.monitor is not None and numbers:
            self.monitor.log(numbers)

    def finish(self) -> None:
        if self.monitor is not None:
            self.monitor.close()
