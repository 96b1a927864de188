"""The learning rate rises again at the end: a cosine that went past its minimum.

## Story
The cosine schedule was set for two thirds of the run. Past its end torch's cosine simply goes up again, so the last
third is a second, unwanted warm-up that shakes the settled weights.

## What to see
The relative update rises late while the loss is flat or rising; the learning rate has a V.

## Source
Cohen et al. (2021), Gradient descent on neural networks typically occurs at the edge of stability.
"""

from __future__ import annotations

import numpy as np
import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_higher
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train

STEPS = 400


@specimen(
    kind="conv net",
    expects=[["late-overshoot", "schedule-ended-early", "diverging-loss", "unfinished-schedule", "oscillating-loss"]],
    severities={"mild": 0.65, "marked": 0.55, "severe": 0.5},
    onset=lambda run: int(np.argmin(run.series("lr").values)),
    fault_check=ends_higher("lr", times=100),
)
def late_overshoot(case: Case) -> None:
    task = data.images(case.seed)
    model = models.ConvNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    planned = int(STEPS * case.severity) if case.sick else STEPS
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, planned)
    train(case, model, optimizer, task, steps=STEPS, batch=32, scheduler=scheduler)
