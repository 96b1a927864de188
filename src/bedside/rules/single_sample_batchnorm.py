"""BatchNorm is trained on batches of one sample.

## What it sees
Training forwards of a single sample through BatchNorm in training mode, and evaluations that use its running averages.
Or of two rows of plain features: normalised by their own mean and spread, they are 1 and -1, whatever they were.

## Why it matters
In training each sample is normalised by its own statistics, in evaluation by averages over all of them, which fit none:
the network that is evaluated is not the one that was trained. The training loss is fine, validation is near chance.

## How it decides
More than `share` of the training forwards had one row (or two, of a table), and there were evaluations in evaluation
mode.

## When it is wrong
Large pictures of one kind, whose statistics are alike from sample to sample.

## What to try
1. A batch of 16 or more; gradient accumulation does not help, since each micro-batch is normalised by itself.
2. `nn.GroupNorm(8, channels)` or `nn.LayerNorm`, which do not look at the batch.

## Example
>>> from bedside.record.run import Event
>>> from bedside.testing import a_run
>>> seen = {"count": 500, "forwards": 500, "evaluations": 4, "where": ["norm1"], "first_step": 0}
>>> watched = [Event(0, "coverage"), Event(499, "single_samples", seen)]
>>> print(*single_sample_batchnorm.check(a_run(loss=0.4, events=watched)))
LOP113 single-sample-batchnorm: `norm1` normalises batches of one sample, in 500 of 500 training forwards.

## References
- Wu and He (2018), Group normalization: the error of BatchNorm grows as the batch shrinks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.rules.base import rule
from bedside.wording import count, listed


@dataclass(frozen=True)
class Limits:
    share: float = 0.5  # of the training forwards: the last batch of an epoch alone may be that small
    forwards: int = 20  # as for any verdict


@rule("LOP113", severity=Severity.WARNING, needs=[], limits=Limits())
def single_sample_batchnorm(run: Run, limits: Limits) -> Iterator[Finding]:
    if not run.events_of("coverage"):
        raise NotEnough("the size of batches (a watched run)")
    for event in run.events_of("single_samples")[-1:]:
        data = event.data
        if data["forwards"] < limits.forwards or data["count"] < limits.share * data["forwards"]:
            return
        if not data["evaluations"]:  # in training mode throughout, it is an instance normalisation, and right
            return
        where = list(data["where"])
        few = "two samples, which leaves 1 and -1 of anything" if data.get("rows") == 2 else "one sample"
        yield single_sample_batchnorm.finding(
            f"{listed(f'`{name}`' for name in where)} {'normalises' if len(where) == 1 else 'normalise'} batches of "
            f"{few}, in {count(data['count'])} of {count(data['forwards'])} training forwards.",
            first_step=int(data["first_step"]),
            last_step=max(event.step, run.steps - 1),
            confidence=0.85,
            where=where,
            evidence={key: data[key] for key in ("count", "forwards", "evaluations")},
            series=["loss", "val/loss"],
            could_also_be=("Large samples of one kind, whose statistics are alike.",),
            try_=(
                "Train with a batch size of 16 or more (accumulating gradients does not change what BatchNorm sees).",
                "Replace it by nn.GroupNorm or nn.LayerNorm, which do not look at the batch.",
            ),
        )
