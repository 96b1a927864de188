"""The two views that contrastive learning compares are one and the same.

## What it sees
A loss that compares every sample with every other, or one output with another, and samples that come twice, with the
same numbers and the same answer.

## Why it matters
Two views of a sample teach what stays when the rest is altered by chance. Of one view that is used twice there is
nothing to learn: any network that is not constant recognises it, and the loss says that all is well.

## How it decides
In each of the first sampled batches, `share` of the rows or more are repeated to the last digit, in the input and in
the output alike. Where dropout makes the views (SimCSE), outputs differ.

## When it is wrong
Never seen.

## What to try
1. Call the augmentation once for each view: `model(augment(x)), model(augment(x))`.

## Example
>>> from bedside.record.run import Event
>>> from bedside.testing import a_run
>>> looks = [Event(step, "views_compared", {"samples": 256, "same": 1.0}) for step in (0, 1)]
>>> print(*identical_views.check(a_run(loss=0.2, events=looks)))
DAT116 identical-views: The two views of a sample are the same numbers: all 256 rows of a batch come twice, input and \
output.

## References
- Chen et al. (2020), A simple framework for contrastive learning of visual representations: section 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.rules.base import rule
from bedside.wording import count, percent


@dataclass(frozen=True)
class Limits:
    share: float = 0.95  # of the rows: data that repeat themselves do so now and then
    looks: int = 2  # batches, all of which must be so


@rule("DAT116", severity=Severity.WARNING, needs=[], limits=Limits(), preview_since="0.1")
def identical_views(run: Run, limits: Limits) -> Iterator[Finding]:
    looks = run.events_of("views_compared")
    if len(looks) < limits.looks:
        raise NotEnough("a loss that compares samples with each other (a watched run)")
    if min(look.data["same"] for look in looks) < limits.share:
        return
    rows, share = int(looks[0].data["samples"]), float(looks[0].data["same"])
    what = f"all {count(rows)}" if share >= 1 else f"{percent(share)} of the {count(rows)}"
    yield identical_views.finding(
        f"The two views of a sample are the same numbers: {what} rows of a batch come twice, input and output.",
        first_step=looks[0].step,
        last_step=max(looks[-1].step, run.steps - 1),
        confidence=0.9,
        evidence={"same": share, "samples": rows},
        series=["loss"],
        could_also_be=("A batch that is given to the network twice for another reason: then once is enough.",),
        try_=("Alter each sample anew for each view: model(augment(x)), model(augment(x)).",),
    )
