"""BatchNorm on batches of a single picture: what is trained is not what is evaluated.

## Story
The pictures were too large for the memory, and the batch size went down until they fitted: to one. In training each
picture is normalised by itself; in evaluation all of them by running averages that fit none.

## What to see
A training loss that falls; a validation loss that does not follow; every training forward with one sample.

## Source
Wu and He (2018), Group normalization: the error of BatchNorm grows as the batch shrinks.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_higher
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="conv net",
    expects=[["single-sample-batchnorm"]],
    fault_check=ends_higher("val/loss", times=1.3),
)
def batchnorm_of_one(case: Case) -> None:
    task = data.images(case.seed)
    model = models.ConvNet(dropout=0.0)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    train(case, model, optimizer, task, steps=300, batch=1 if case.sick else 16, evaluations=10)
