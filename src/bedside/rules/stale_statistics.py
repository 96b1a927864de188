"""BatchNorm's running averages are still mostly their initial values, and evaluations use them.

## What it sees
Evaluations in evaluation mode, after so few batches or with so small a momentum that the running mean and variance of a
BatchNorm layer are still near their initial 0 and 1. Or a copy of the model that is evaluated in its place, whose
weights follow the model's and whose running averages do not.

## Why it matters
In training each batch is normalised by its own statistics; in evaluation by the running averages. If these have not
arrived, another network is evaluated than was trained: training looks fine, validation is poor or erratic.

## How it decides
After n batches, (1 - momentum)^n of the averages is their initial value. At the last evaluation that was looked at, and
after at least `batches` batches, that is more than `share`. Of a copy in evaluation mode, the averages are exactly as
they were made and the weights are not, while validation is logged and the model itself was never evaluated.

## When it is wrong
Activations that have mean 0 and variance 1 anyway: then nothing is lost. A copy that nobody evaluates.

## What to try
1. torch's momentum is the weight of the new batch: 0.1 is usual. Other frameworks give the weight of the old average
   (0.9, 0.99): write one minus that.
2. A copy that averages the weights takes over the buffers as they are: `for mine, its in zip(copy.buffers(),
   model.buffers()): mine.copy_(its)`.
3. `torch.optim.swa_utils.update_bn(loader, model)` computes the averages anew for a model that is trained already.

## Example
>>> from bedside.record.run import Event
>>> from bedside.testing import a_run
>>> seen = {"where": ["norm1"], "initial_share": 0.97, "momentum": 1e-4, "batches": 280}
>>> watched = [Event(0, "coverage"), Event(279, "batch_statistics", seen)]
>>> print(*stale_statistics.check(a_run(loss=0.4, events=watched)))
LOP115 stale-statistics: After 280 batches, 97 % of the running averages of `norm1` are still their initial values.

## References
- Ioffe and Szegedy (2015), Batch normalization: evaluation uses population statistics, not the batch's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Event, Run
from bedside.rules.base import rule
from bedside.wording import count, listed, number, percent


@dataclass(frozen=True)
class Limits:
    share: float = 0.5  # of the average: beyond, evaluation sees more of the initial values than of the data
    batches: int = 50  # before that the usual momentum of 0.1 has not arrived either


@rule("LOP115", severity=Severity.WARNING, needs=[], limits=Limits(), preview_since="0.1")
def stale_statistics(run: Run, limits: Limits) -> Iterator[Finding]:
    if not run.events_of("coverage"):
        raise NotEnough("the model's buffers (a watched run)")
    for event in run.events_of("stale_copy")[-1:]:
        yield _of_a_copy(run, event)
        return
    for event in run.events_of("batch_statistics")[-1:]:
        data = event.data
        if data["batches"] < limits.batches or data["initial_share"] <= limits.share:
            return
        where = list(data["where"])
        yield stale_statistics.finding(
            f"After {count(data['batches'])} batches, {percent(data['initial_share'])} of the running averages of "
            f"{listed(f'`{name}`' for name in where)} are still their initial values.",
            first_step=0,
            last_step=max(event.step, run.steps - 1),
            confidence=0.9,
            where=where,
            evidence={key: data[key] for key in ("initial_share", "momentum", "batches")},
            series=["loss", "val/loss"],
            could_also_be=("Activations that have mean 0 and variance 1 anyway.",),
            try_=(
                f"Raise momentum= of the BatchNorm layers from {number(data['momentum'])} to 0.1: in torch it is the "
                "weight of the new batch.",
                "For the weights as they are: torch.optim.swa_utils.update_bn(loader, model).",
            ),
        )


def _of_a_copy(run: Run, event: Event) -> Finding:
    where = list(event.data["where"])
    return stale_statistics.finding(
        f"A copy of the model is evaluated in its place: its weights were updated, and the running averages of "
        f"{listed(f'`{name}`' for name in where)} are still those that it was made with, after "
        f"{count(event.data['batches'])} batches of the model's own.",
        first_step=0,
        last_step=max(event.step, run.steps - 1),
        confidence=0.9,
        where=where,
        evidence={"batches": event.data["batches"]},
        series=["loss", "val/loss"],
        could_also_be=("A copy that nobody evaluates.",),
        try_=(
            "Copy the buffers along with the averaged weights: for mine, its in zip(copy.buffers(), model.buffers()): "
            "mine.copy_(its).",
        ),
    )
