"""The lower layers are frozen before anything was loaded into them: a random projection for ever.

## Story
A script for fine-tuning freezes all but the head. This time it starts from scratch, or the checkpoint was not found,
and the lines that freeze are still there.

## What to see
Layers with `requires_grad=False` whose weights are distributed as they were made, to the end of the run; a loss that
stops higher than that of the same network trained as a whole.

## Source
Rosenfeld and Tsotsos (2019), Intriguing properties of randomly weighted networks.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_higher
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="MLP",
    expects=[["frozen-untrained"]],
    fault_check=ends_higher("val/loss", times=1.3),
)
def never_thawed(case: Case) -> None:
    task = data.digits(case.seed)
    model = models.mlp([64, 48, 48, 10])
    model[:4].requires_grad_(not case.sick)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    train(case, model, torch.optim.Adam(trained, lr=2e-3), task, steps=260)
