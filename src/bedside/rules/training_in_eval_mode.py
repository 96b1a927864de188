"""Training steps are taken in evaluation mode: dropout is off and running statistics stand still.

## What it sees
Forwards that a backward follows, with the model in evaluation mode.

## Why it matters
In evaluation mode dropout does nothing, so the run overfits sooner than it should, and batch normalisation uses
statistics that no longer follow the weights. The loss goes on falling, so nothing in it shows. Typical: `model.eval()`
for a validation, and no `model.train()` after it.

## How it decides
The last `fewest` training forwards or more all ran in evaluation mode. If earlier ones did not, the way back was
forgotten: an error. If it was so from the first step it may be meant (fine-tuning with frozen statistics): a warning.
Without any module that depends on the mode it is a note, and so it is where all that do belong to frozen parts (a trunk
whose statistics are meant to stand still).

## When it is wrong
Fine-tuning in evaluation mode on purpose; then freeze what is meant to stand still and call `model.train()`.

## What to try
1. `model.train()` at the top of every training epoch, and again after every validation.

## Example
>>> from bedside.record.run import Event
>>> from bedside.testing import a_run
>>> modes = Event(60, "mode", {"training_forwards": "eval", "mode_dependent": ["Dropout"]})
>>> print(*training_in_eval_mode.check(a_run(loss=1.0, eval_mode=[0.0] * 60 + [1.0] * 40, events=[modes])))
LOP101 training-in-eval-mode: Since step 60 training runs in evaluation mode, which switches Dropout off.

## References
- Ioffe and Szegedy (2015), Batch normalization: the two modes and why they differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import EVAL_MODE
from bedside.rules.advice import moment
from bedside.rules.base import rule
from bedside.wording import listed


@dataclass(frozen=True)
class Limits:
    fewest: int = 10  # steps in a row: fewer may be a look at something between two epochs


@rule("LOP101", severity=Severity.ERROR, needs=[EVAL_MODE], limits=Limits())
def training_in_eval_mode(run: Run, limits: Limits) -> Iterator[Finding]:
    modes = run.series(EVAL_MODE.name)
    in_train_mode = np.flatnonzero(modes.values == 0)
    first = int(in_train_mode[-1]) + 1 if len(in_train_mode) else 0
    if len(modes) - first < limits.fewest:
        return
    switched = first > 0
    events = run.events_of("mode")
    affected = list(events[-1].data.get("mode_dependent", [])) if events else []
    step = int(modes.steps[first])
    effect = f"which switches {listed(affected)} off" if affected else "though no module known to depend on it is there"
    since = f"Since {moment(run, step)}" if switched else "From the first step on"
    yield training_in_eval_mode.finding(
        f"{since} training runs in evaluation mode, {effect}.",
        severity=Severity.NOTE if not affected else None if switched else Severity.WARNING,
        first_step=step,
        last_step=modes.last_step,
        confidence=0.5 if not affected else 0.98 if switched else 0.75,
        evidence={"steps_in_eval_mode": len(modes) - first, "steps_before": first, "mode_dependent": affected},
        series=[EVAL_MODE.name],
        could_also_be=() if switched else ("Fine-tuning with frozen statistics and no dropout, on purpose.",),
        try_=("Call model.train() at the top of every training epoch and after every validation.",),
    )
