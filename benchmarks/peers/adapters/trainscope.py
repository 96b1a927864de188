"""trainscope: its spikes, and the signals of its post-mortem report, which it calls early warnings."""

from __future__ import annotations

import asyncio
import logging
import tempfile
from pathlib import Path

from torch import Tensor
from trainscope import TrainScope
from trainscope.core.config import TrainScopeConfig
from trainscope.report import build_run_report

from peers.listener import NOTE, Listener, Said, once_each
from peers.scenarios import Training


class Adapter(Listener):
    def start(self, training: Training) -> None:
        self.folder = tempfile.TemporaryDirectory()
        config = TrainScopeConfig(run_dir=self.folder.name, run_name="run")
        self.scope = TrainScope(training.model, training.optimizer, config=config).attach()
        self.found: list[Said] = []
        logging.getLogger("trainscope").addHandler(Warnings(self.found))

    def after_backward(self, step: int, loss: Tensor) -> None:
        spike = self.scope.step(loss.item(), batch_index=step)
        if spike:
            text = f"Spike at step {spike['step']}, score={spike['spike_score']:.2f}"
            self.found.append(Said("Spike", text, steps=(spike["step"],)))

    def said(self) -> list[Said]:
        self.scope.detach()
        with self.folder:
            signals = asyncio.run(build_run_report(Path(self.folder.name) / "run"))["signal_signature"]
        crossed = [
            Said(f"{name} crossed its early-warning baseline at step {step}", severity=NOTE, steps=(step,))
            for name, step in signals["first_steps"].items()
            if step is not None
        ]
        if signals["explosion_step"] is not None:
            step = signals["explosion_step"]
            self.found.append(Said(f"Objective explosion at step {step}", steps=(step,)))
        return once_each(self.found) + crossed


class Warnings(logging.Handler):
    """What it warns of in its log (a non-finite loss), which is what a user at the terminal sees."""

    def __init__(self, found: list[Said]) -> None:
        super().__init__(logging.WARNING)
        self.found = found

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(Said(record.getMessage()))
