"""The targets lie outside the range of the output.

## What it sees
The last operation before the loss has a range (sigmoid and softmax 0 to 1, tanh -1 to 1, ReLU from 0 on), and a good
part of the targets is outside it.

## Why it matters
No training can reach them. The output is driven to the end of its range, where its slope is zero, and stays there; the
loss stops at a level that looks like a hard task.

## How it decides
In each of the first sampled batches more than `outside` of the targets lie beyond the range, by more than rounding. It
is an error where most of them do. `binary_cross_entropy_with_logits` takes the sigmoid itself, so its targets belong
between 0 and 1.

## When it is wrong
Targets with a few outliers that are meant to be cut off; a hinge that wants the output beyond its end.

## What to try
1. Leave the last activation out, for targets of any size: `nn.Linear(…, 1)` and nothing after it.
2. Or bring the targets into its range: `(y - y.min()) / (y.max() - y.min())`, and undo that for the answers.

## Example
>>> from bedside.record.run import Event
>>> from bedside.testing import a_run
>>> seen = {"function": "mse_loss", "made_by": "sigmoid", "low": 0.0, "high": 1.0, "outside": 1.0, "least": 20.0,
...         "most": 96.0}
>>> looks = [Event(step, "target_range", seen) for step in range(5)]
>>> print(*unreachable_target.check(a_run(loss=3000.0, events=[Event(0, "coverage"), *looks])))
DAT109 unreachable-target: The targets go from 20 to 96, and the sigmoid before the loss answers between 0 and 1: \
100 % of them cannot be reached.

## References
- Goodfellow, Bengio and Courville (2016), Deep learning, 6.2.2: output units and the losses that belong to them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.rules.base import rule
from bedside.wording import number, percent


@dataclass(frozen=True)
class Limits:
    outside: float = 0.1  # of the targets: outliers that are to be cut off are fewer
    most: float = 0.5  # of the targets: then there is no task left
    looks: int = 3  # batches, as many as show that it is not a single one


@rule("DAT109", severity=Severity.WARNING, needs=[], limits=Limits())
def unreachable_target(run: Run, limits: Limits) -> Iterator[Finding]:
    if not run.events_of("coverage"):
        raise NotEnough("the range of outputs and targets (a watched run)")
    looks = [event.data for event in run.events_of("target_range")]
    if len(looks) < limits.looks or min(look["outside"] for look in looks) < limits.outside:
        return
    share = float(median(look["outside"] for look in looks))
    least, most = min(look["least"] for look in looks), max(look["most"] for look in looks)
    made_by, low, high = looks[0]["made_by"], looks[0]["low"], looks[0]["high"]
    logits = looks[0]["function"] == "binary_cross_entropy_with_logits"
    reach = f"between {number(low)} and {number(high)}" if high is not None else f"from {number(low)} upwards"
    inside = f"the {made_by} in {looks[0]['function']}" if logits else f"the {made_by} before the loss"
    yield unreachable_target.finding(
        f"The targets go from {number(least)} to {number(most)}, and {inside} answers {reach}: "
        f"{percent(share)} of them cannot be reached.",
        severity=Severity.ERROR if share > limits.most else None,
        first_step=0,
        last_step=max(0, run.steps - 1),
        confidence=0.95 if share > limits.most else 0.8,
        evidence={"outside": share, "least": least, "most": most, "made_by": made_by},
        series=["loss"],
        could_also_be=("Outliers among the targets that the output is meant to cut off.",),
        try_=(
            "Use a loss for numbers of any size: nn.MSELoss()."
            if logits
            else f"Leave the {made_by} at the end out: a linear layer can answer any number.",
            f"Or scale the targets into its range: (y - {number(least)}) / {number(most - least)}, undone for answers."
            if high is not None
            else "Or shift the targets so that none is below the range.",
        ),
    )
