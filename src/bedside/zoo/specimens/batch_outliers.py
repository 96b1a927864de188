"""Every fiftieth batch holds a few broken examples: spikes that come back.

## Story
A few files in a thousand are damaged and decode to noise, hundreds of times brighter than any picture. Each time they
come up the gradient is a hundred times the usual; the weights are thrown off and need a dozen steps to recover.

## What to see
Spikes of the loss and of the gradient norm, again and again, each with an input far out of range.

## Source
Chowdhery et al. (2022), PaLM: Scaling language modeling with Pathways, section 5.1: spikes that certain batches
bring.
"""

from __future__ import annotations

import numpy as np
import torch

from bedside.record.run import Run
from bedside.zoo import data, models
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import cross_entropy, validate


def _first_that_hurts(run: Run) -> int:
    """Noise that the network gets right by chance has no gradient, and does nothing."""
    gradient = run.series("grad_norm")
    return int(gradient.steps[np.argmax(gradient.values > 10 * np.median(gradient.values))])


@specimen(
    kind="MLP",
    expects=[["loss-spike", "bad-batch", "extreme-input", "exploding-gradient"]],
    severities={"mild": 200.0, "marked": 500.0, "severe": 2000.0},
    onset=_first_that_hurts,
    fault_check=lambda sick, twin: sick.loss.values[70:].max() > 2 * twin.loss.values[70:].max(),
)
def batch_outliers(case: Case) -> None:
    task = data.images(case.seed)
    model = models.mlp([64, 64, 10])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(300, 64)):
            x = x.flatten(1)
            if case.sick and step % 50 == 20 and step > 50:
                x[:8] = case.severity * torch.rand_like(x[:8])
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            optimizer.step()
            if step % 15 == 14:
                validate(monitor, model, task.with_(x_val=task.x_val.flatten(1)))
            case.look(monitor)
