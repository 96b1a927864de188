"""Other people's tools, each in an environment of its own and attached as its introduction says."""

from __future__ import annotations

import importlib
import os
import tempfile

from torch import Tensor, nn

from .watchers import Watcher
from .workloads import Training

# What to install, and who attaches it. Those with an adapter in benchmarks/peers are attached by it.
TOOLS: dict[str, tuple[tuple[str, ...], str]] = {
    "ormas-monitor": (("ormas-monitor==0.2.3",), "cost.tools:Adapted"),
    "trainscope": (("trainscope==1.8.1",), "cost.tools:Adapted"),
    "torchmortem": (("torchmortem==0.1.1",), "cost.tools:Adapted"),
    "torch-audit": (("torch-audit==0.3.0",), "cost.tools:Audit"),
    "stabilityguard": (("stabilityguard==0.3.0",), "cost.tools:Adapted"),
    "wandb.watch": (("wandb==0.31.0",), "cost.tools:Wandb"),
    "cockpit economy": (("cockpit-for-pytorch==1.0.2", "setuptools<81"), "cost.tools:Cockpit"),
}


class Adapted(Watcher):
    """By the adapter that the comparison of diagnoses uses."""

    def start(self, training: Training) -> None:
        name = os.environ["BEDSIDE_COST_TOOL"].replace("-", "_")
        self.adapter = importlib.import_module(f"peers.adapters.{name}").Adapter()
        self.adapter.start(training)

    def before_step(self, step: int, x: Tensor, y: Tensor) -> None:
        self.adapter.before_step(step, x, y)

    def after_backward(self, step: int, loss: Tensor) -> None:
        self.adapter.after_backward(step, loss)

    def after_step(self, step: int, loss: Tensor) -> None:
        self.adapter.after_step(step, loss)


class Audit(Watcher):
    """At its default of one audit in a thousand steps."""

    def start(self, training: Training) -> None:
        from torch_audit import autopatch

        self.auditor = autopatch(training.model, optimizer=training.optimizer)


class Wandb(Watcher):
    """Offline, everything, every 1000 steps as by default; the loss is logged at every step."""

    def start(self, training: Training) -> None:
        import wandb

        os.environ["WANDB_SILENT"] = "true"
        self.run = wandb.init(mode="offline", dir=tempfile.mkdtemp(prefix="bedside-cost-"))
        self.run.watch(training.model, log="all")

    def after_step(self, step: int, loss: Tensor) -> None:
        self.run.log({"loss": loss.item()})


class Cockpit(Watcher):
    """Its economy configuration at every step. Needs individual gradients, so it does the backward pass its own way;
    models that BackPACK cannot take apart are refused by it."""

    def start(self, training: Training) -> None:
        from backpack import extend
        from cockpit import Cockpit as Theirs
        from cockpit.utils.configuration import configuration

        training.model = extend(training.model)
        self.loss, self.losses = extend(nn.CrossEntropyLoss()), extend(nn.CrossEntropyLoss(reduction="none"))
        self.cockpit = Theirs(training.model.parameters(), quantities=configuration("economy"))
        self.step = 0

    def backward(self, training: Training, x: Tensor, y: Tensor) -> Tensor:
        output = training.model(x)
        loss, losses = self.loss(output, y), self.losses(output, y)
        info = {"batch_size": len(x), "individual_losses": losses, "loss": loss, "optimizer": training.optimizer}
        with self.cockpit(self.step, info=info):
            loss.backward(create_graph=self.cockpit.create_graph(self.step))
        self.step += 1
        return loss
