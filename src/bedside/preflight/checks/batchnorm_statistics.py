"""BatchNorm gets batches it can work with, and starts from sane statistics.

## What it sees
Batches of one sample, or a last batch of one; running statistics that are not finite or not positive; a momentum of
zero.

## Why it matters
With one value per channel BatchNorm raises in training; with one image per batch it normalises each image by itself,
and evaluation, which uses running averages, sees another network. A last batch of one ends the first epoch with an
error.

## How it decides
The batch size of the loader, the size of its last batch, and the buffers of each BatchNorm layer in training mode.

## When it is wrong
Batches of one that stay in training mode in evaluation as well: that is an instance normalisation.

## What to try
1. `drop_last=True` in the training loader.
2. A batch size of 16 or more, or `nn.GroupNorm`.

## Example
>>> from torch import nn
>>> from bedside.preflight.example_setup import examined, examples
>>> x, y = examples(65)
>>> print(examined(batchnorm_statistics, nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Linear(8, 3)), x=x, y=y))
PRE406 batchnorm-statistics: The last batch of an epoch has one sample, which BatchNorm cannot normalise in training.

## References
- Ioffe and Szegedy (2015), Batch normalization.
- Wu and He (2018), Group normalization: errors grow as batches shrink.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.nn.modules.batchnorm import _BatchNorm

from bedside.collect.model.parameter_layout import plain_name
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.preflight.check import Passed, check
from bedside.preflight.loading import last_batch_size
from bedside.preflight.setup import Setup
from bedside.training.batches import take_rows
from bedside.wording import listed, plural


@dataclass(frozen=True)
class Limits:
    rows: int = 2  # in a batch at least


@check("PRE406", severity=Severity.WARNING, limits=Limits())
def batchnorm_statistics(setup: Setup, limits: Limits) -> Passed | Finding:
    setup.rewind()
    norms = {plain_name(name): each for name, each in setup.model.named_modules() if isinstance(each, _BatchNorm)}
    active = {name: each for name, each in norms.items() if each.training or not setup.model.training}
    if not active:
        raise NotEnough("a BatchNorm layer" if not norms else "a BatchNorm layer in training mode")
    bad = [name for name, each in active.items() if not _is_sane(each)]
    if bad:
        return _finding(f"The running statistics of {listed(bad)} are not finite or not positive.", bad, Severity.ERROR)
    still = [name for name, each in active.items() if each.track_running_stats and each.momentum == 0]
    if still:
        return _finding(f"{listed(still)} have a momentum of 0: their statistics never change.", still)
    names = list(active)
    if 0 < setup.rows < limits.rows:
        return _finding(f"Batches have one sample: {listed(names)} normalise each by itself.", names)
    if last_batch_size(setup.train_loader) == 1 and setup.rows > 1:
        message = "The last batch of an epoch has one sample, which BatchNorm cannot normalise in training."
        return _finding(message, names, Severity.ERROR if _raises(setup) else Severity.WARNING)
    return batchnorm_statistics.passed(
        f"{plural(len(active), 'layer')}, batches of {setup.rows}", layers=names, rows=setup.rows
    )


def _is_sane(norm: _BatchNorm) -> bool:
    if norm.running_mean is None or norm.running_var is None:
        return True
    return bool(torch.isfinite(norm.running_mean).all() and (norm.running_var > 0).all())


def _raises(setup: Setup) -> bool:
    """Whether a single sample is an error: it is not where each channel has several places."""
    setup.training.train_mode()
    try:
        setup.loss.output(setup.placed(take_rows(setup.batches[0], [0])))
    except Exception:
        return True
    return False


def _finding(message: str, where: list[str], severity: Severity | None = None) -> Finding:
    return batchnorm_statistics.finding(
        message,
        severity=severity,
        where=where,
        confidence=0.9,
        could_also_be=("Large samples of one kind, whose statistics are alike.",) if "one sample:" in message else (),
        try_=("drop_last=True in the training loader.", "A batch size of 16 or more, or nn.GroupNorm instead."),
    )
