"""runmedic reads logs: a CSV of loss, learning rate and gradient norm. The causes it calls likely count as said."""

from __future__ import annotations

import csv
import tempfile
from pathlib import Path

from runmedic import loaders, roles
from runmedic.checks import run_checks
from torch import Tensor

from peers.listener import Listener, Said, gradient_norm, level
from peers.scenarios import Training


class Adapter(Listener):
    def start(self, training: Training) -> None:
        self.training = training
        self.rows: list[tuple[float, ...]] = []

    def after_backward(self, step: int, loss: Tensor) -> None:
        self.rows.append((step, loss.item(), self.training.lr, gradient_norm(self.training.model)))

    def said(self) -> list[Said]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "metrics.csv"
            with path.open("w", newline="") as file:
                csv.writer(file).writerows([("step", "train_loss", "lr", "grad_norm"), *self.rows])
            (run,) = loaders.load(str(path))
            findings = run_checks(run, roles.detect(run))
        return [
            Said(
                f.title,
                f"{'; '.join(f.evidence)}. Likely causes: {'; '.join(f.causes)}",
                level(f.severity),
                steps=() if f.step is None else (int(f.step),),
            )
            for f in findings
        ]
