"""The schedule is over when the run is a quarter through: the rest is spent at zero.

## Story
The scheduler counts epochs and was given steps, or the run was made longer and the schedule was not. The learning rate
reaches zero early, and the optimizer becomes a statue for the rest of the budget.

## What to see
A loss that goes flat exactly where the learning rate reaches zero.

## Source
Hoffmann et al. (2022), Training compute-optimal large language models, appendix B: a cosine shorter than the run.
"""

from __future__ import annotations

import numpy as np
import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_worse
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train

STEPS = 300


@specimen(
    kind="GPT",
    expects=[["schedule-ended-early", "vanished-learning-rate", "stalled-loss", "undersized-update"]],
    severities={"mild": 0.5, "marked": 0.25, "severe": 0.12},
    onset=lambda run: int(np.argmax(run.series("lr").values < 1e-6)),
    fault_check=ends_worse("val/loss", by=0.1),
)
def schedule_ended_early(case: Case) -> None:
    task = data.text(case.seed)
    model = models.GPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    planned = int(STEPS * case.severity) if case.sick else STEPS
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(0.0, 1 - step / planned))
    train(case, model, optimizer, task, steps=STEPS, batch=12, scheduler=scheduler)
