"""sk-autod judges epochs by training and validation loss; ten steps are called an epoch here."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from sk_autod import diagnose
from torch import Tensor

from peers.listener import ERROR, Listener, Said, level
from peers.scenarios import Training

EPOCH = 10


class Adapter(Listener):
    def start(self, training: Training) -> None:
        self.training = training
        self.train: list[float] = []
        self.validation: list[float] = []

    def after_step(self, step: int, loss: Tensor) -> None:
        if (step + 1) % EPOCH == 0:
            self.train.append(sum(self.training.losses[-EPOCH:]) / EPOCH)
            x, y = self.training.held_out()
            with torch.no_grad():
                self.validation.append(F.cross_entropy(self.training.model(x), y).item())

    def said(self) -> list[Said]:
        try:
            findings = diagnose(self.train, self.validation).findings
        except ValueError as refusal:  # it says that curves must be finite, which is an answer of a kind
            return [Said("ValueError", str(refusal), ERROR)]
        return [
            Said(
                f.detector_name,
                f.message,
                level(f.severity.value),
                steps=() if f.epoch is None else (f.epoch * EPOCH,),
            )
            for f in findings
        ]
