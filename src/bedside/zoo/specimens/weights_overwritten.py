"""Half of the weights are put back to their first values in the middle of the run.

## Story
A callback restores a checkpoint by mistake, or an EMA is swapped in and not out again. The weights jump to where no
gradient would have led, and the run starts over from there.

## What to see
A jump in the norm of the weights that no update explains, with a spike of the loss at the same step.

## Source
Karpathy (2019), A recipe for training neural networks: initialise or load weights once, and look at them.
"""

from __future__ import annotations

import copy

import torch

from bedside.zoo import data, models
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import cross_entropy, validate

FAULT = 180


@specimen(
    kind="encoder",
    expects=[["weight-jump", "loss-spike", "diverging-loss"]],
    onset=FAULT,
    fault_check=lambda sick, twin: float(sick.loss.values[FAULT]) > 3 * float(twin.loss.values[FAULT]),
)
def weights_overwritten(case: Case) -> None:
    task = data.images(case.seed)
    model = models.Encoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    first = copy.deepcopy(model.state_dict())
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(240, 32)):
            if case.sick and step == FAULT:
                model.load_state_dict(first)
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            optimizer.step()
            if step % 12 == 11:
                validate(monitor, model, task)
            case.look(monitor)
