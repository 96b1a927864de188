"""training-doctor, told loss, learning rate and gradient norm at every step."""

from __future__ import annotations

from torch import Tensor
from training_doctor import Doctor

from peers.listener import Listener, Said, gradient_norm, level, once_each
from peers.scenarios import Training


class Adapter(Listener):
    def start(self, training: Training) -> None:
        self.training, self.doctor = training, Doctor()

    def after_backward(self, step: int, loss: Tensor) -> None:
        norm = gradient_norm(self.training.model)
        self.doctor.log(step=step, loss=loss.item(), lr=self.training.lr, grad_norm=norm)

    def said(self) -> list[Said]:
        return once_each(
            Said(
                d.problem,
                f"{d.explanation} Evidence: {'; '.join(map(str, d.evidence))}",
                level(d.severity.value),
                steps=(d.step,),
            )
            for d in self.doctor.diagnoses
        )
