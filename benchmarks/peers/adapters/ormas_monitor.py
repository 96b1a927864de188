"""ormas-monitor: what it writes into its diary, checked every 50 steps as it does by default."""

from __future__ import annotations

import tempfile
from typing import Any

from ormas_monitor import Monitor
from ormas_monitor.report.run import describe, severity
from torch import Tensor

from peers.listener import Listener, Said, level, once_each
from peers.scenarios import Training

BOOKKEEPING = {"run_start", "run_end", "structure", "manifest"}


class Adapter(Listener):
    def start(self, training: Training) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.events: list[dict[str, Any]] = []
        self.monitor = Monitor(
            training.model, training.optimizer, out=f"{self.folder.name}/run", sinks=[self.heard], verbose=False
        )

    def heard(self, kind: str, payload: dict[str, Any]) -> None:
        if kind == "event" and payload.get("event") not in BOOKKEEPING:
            self.events.append(payload)

    def after_backward(self, step: int, loss: Tensor) -> None:
        self.monitor.step(loss)

    def said(self) -> list[Said]:
        with self.folder:
            self.monitor.close()
        return once_each(
            Said(
                f"{event['event']} ({event['level']})" if "level" in event else event["event"],
                describe(event),
                level(severity(event)),
                tuple(event.get("layers") or filter(None, [event.get("layer")])),
                (event["step"],) if "step" in event else (),
            )
            for event in self.events
        )
