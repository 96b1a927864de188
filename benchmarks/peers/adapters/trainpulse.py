"""trainpulse, told loss, learning rate and gradient norm. Its step timer stays off: this machine is shared."""

from __future__ import annotations

from torch import Tensor
from trainpulse import Monitor

from peers.listener import Listener, Said, gradient_norm, level, once_each
from peers.scenarios import Training


class Adapter(Listener):
    def start(self, training: Training) -> None:
        self.training, self.monitor = training, Monitor()

    def after_backward(self, step: int, loss: Tensor) -> None:
        self.monitor.log("loss", step, loss.item())
        self.monitor.log("grad_norm", step, gradient_norm(self.training.model))
        self.monitor.log("learning_rate", step, self.training.lr)

    def said(self) -> list[Said]:
        alerts = self.monitor.report().alerts
        return once_each(Said(a.message, severity=level(a.severity.value), steps=(a.step,)) for a in alerts)
