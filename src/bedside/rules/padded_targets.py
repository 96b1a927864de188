"""Most of the targets are padding, and the loss counts them.

## What it sees
One target makes up most of all, and it goes with one token of the input, which no other target goes with: the padding.

## Why it matters
To say padding after padding is learned in a few steps, and after that most of the loss and of the accuracy come from
it: both look excellent, and the gradient of the real tokens is diluted by as much.

## How it decides
In most of the first sampled batches, more than `share` of the targets that count are that pair.

## When it is wrong
A task in which one symbol really follows itself most of the time: silence in audio, background in a scan line.

## What to try
1. `nn.CrossEntropyLoss(ignore_index=pad)`, and the accuracy over the other positions only.
2. Batches of sequences of like length, so that there is little to pad.

## Example
>>> from bedside.record.run import Event
>>> from bedside.testing import a_run
>>> seen = {"asked": 1536, "same": 0.9, "kinds": 8, "padded": 0.91}
>>> looks = [Event(step, "answers_in_place", seen) for step in (0, 1)]
>>> print(*padded_targets.check(a_run(loss=0.2, events=looks)))
DAT112 padded-targets: 91 % of the targets are padding, and count in the loss.

## References
- PyTorch documentation, torch.nn.CrossEntropyLoss: `ignore_index`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.rules.base import rule
from bedside.wording import percent


@dataclass(frozen=True)
class Limits:
    share: float = 0.5  # of the targets: what is less dilutes the gradient, but leaves most of it
    looks: int = 2  # batches, most of which must be so: a symbol that also ends lines may hide the pair in one
    kinds: int = 3  # of target: of two, one is always the commoner


@rule("DAT112", severity=Severity.WARNING, needs=[], limits=Limits())
def padded_targets(run: Run, limits: Limits) -> Iterator[Finding]:
    looks = run.events_of("answers_in_place")
    if len(looks) < limits.looks:
        raise NotEnough("batches of tokens with a target each (a watched run)")
    share = float(median(look.data["padded"] for look in looks))
    if share < limits.share or looks[0].data["kinds"] < limits.kinds:
        return
    if min(look.data["same"] for look in looks) > 1 - 1e-9:  # then every target is its token: see leaked-answer
        return
    yield padded_targets.finding(
        f"{percent(share)} of the targets are padding, and count in the loss.",
        first_step=looks[0].step,
        last_step=max(looks[-1].step, run.steps - 1),
        confidence=0.85,
        evidence={"padded": share, "targets_in_a_batch": looks[0].data["asked"]},
        series=["loss"],
        could_also_be=("A symbol that really follows itself most of the time: silence, background.",),
        try_=(
            "Leave padding out of the loss: nn.CrossEntropyLoss(ignore_index=pad), or a target of -100 there.",
            "Count accuracy over the other positions only.",
        ),
    )
