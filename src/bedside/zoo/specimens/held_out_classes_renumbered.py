"""The classes of the held-out part are numbered in another order than those of the training part.

## Story
Each part is read from its own folders, and each reader numbers the classes as it finds them; or an encoder of labels is
fitted to each part by itself. The network is right about nearly every held-out example, and the score says that it is
wrong about nearly every one.

## What to see
A validation loss that rises while training falls, an accuracy below that of a guess, and answers that would be right if
the labels were renamed.

## Source
Humbatova et al. (2020), Taxonomy of real faults in deep learning systems: wrong labels for the data.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_worse, first_evaluation
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="conv net",
    expects=[["misread-validation", "nothing-generalises", "gap-from-start", "overfitting"]],
    severities={"mild": 7, "severe": 1},
    onset=first_evaluation,
    fault_check=ends_worse("val/accuracy", by=0.5),
)
def held_out_classes_renumbered(case: Case) -> None:
    task = data.images(case.seed)
    if case.sick:
        task = task.with_(y_val=(task.y_val + int(case.severity)) % 10)
    model = models.ConvNet()
    train(case, model, torch.optim.Adam(model.parameters(), lr=2e-3), task, steps=240)
