"""neural-observatory: hooks, and its console report, most severe first as it sorts them."""

from __future__ import annotations

from neural_observatory import Observatory
from torch import Tensor

from peers.listener import Listener, Said, level, module_of
from peers.scenarios import Training


class Adapter(Listener):
    def start(self, training: Training) -> None:
        self.observatory = Observatory(training.model)
        self.observatory.watch()

    def before_step(self, step: int, x: Tensor, y: Tensor) -> None:
        self.observatory.step(step=step, epoch=0)

    def said(self) -> list[Said]:
        self.observatory.stop()
        return [
            Said(f"{r.analyzer_name}: {words}", severity=level(r.status.value), where=(module_of(r.layer_name),))
            for r in self.observatory.report().filtered(include_healthy=False)
            for words in r.warnings
        ]
