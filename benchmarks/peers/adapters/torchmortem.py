"""torchmortem: hooks, and a report after the run. Its insights come before its findings, as in its page."""

from __future__ import annotations

from torch import Tensor
from torchmortem import Autopsy

from peers.listener import WARNING, Listener, Said, level, module_of
from peers.scenarios import Training


class Adapter(Listener):
    def start(self, training: Training) -> None:
        self.autopsy = Autopsy(training.model, optimizer=training.optimizer)
        self.autopsy.attach()

    def after_step(self, step: int, loss: Tensor) -> None:
        self.autopsy.step(loss=loss.item())

    def said(self) -> list[Said]:
        self.autopsy.detach()
        report = self.autopsy.get_report()
        insights = [Said(i.title, i.summary, WARNING) for i in report.insights]
        return insights + [
            Said(
                f.title,
                f.summary,
                level(f.severity.name),
                tuple(dict.fromkeys(module_of(name) for name in f.affected_layers)),
                (f.step_range[0],),
            )
            for f in report.findings
        ]
