"""The answer to one sample depends on the other samples of its batch.

## What it sees
Some samples of a batch were exchanged for others, in evaluation mode, and answers to the samples that stayed changed.

## Why it matters
The same input gets another answer in other company, and a batch of one gets nonsense. Training goes on, since batches
are always alike; the numbers get worse when the batch size or the order changes, or in use.

## How it decides
By a trial, on a batch of the run: it goes through two copies of the model, the second time with a quarter of its
samples exchanged, in evaluation mode. Answers to the others differ by more than rounding can.

## When it is wrong
Networks that look at the batch on purpose: sets, retrieval from the batch, nodes of a graph whose edges are not inputs
of the model (where they are, nothing is tried).

## What to try
1. `softmax(dim=-1)`, not `dim=0`: normalise over classes or keys, never over samples.
2. `batch_first=True` in `nn.MultiheadAttention` and `nn.LSTM`, for inputs of (batch, time, features).
3. Look for `mean(0)`, `std(0)`, `view` or `reshape` that mixes the batch dimension with another.

## Example
>>> from bedside.record.run import Event
>>> from bedside.testing import a_run
>>> seen = Event(10, "mixed_samples", {"samples": 64, "exchanged": 16, "changed": 48, "change": 0.03})
>>> print(*mixed_samples.check(a_run(loss=1.0, events=[Event(0, "coverage"), seen])))
DAT111 mixed-samples: With 16 of 64 samples exchanged, the answers to 48 of the 48 others changed by up to 3 %.

## References
- PyTorch documentation, torch.nn.MultiheadAttention: `batch_first` is False by default.
- Karpathy (2019), A recipe for training neural networks: use backprop to chart dependencies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bedside.analysis.skipped_trials import not_tried
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.rules.base import rule
from bedside.wording import percent


@dataclass(frozen=True)
class Limits:
    changed: float = 0.1  # of the samples that stayed: an expert that is full turns away a few of them


@rule("DAT111", severity=Severity.WARNING, needs=[], limits=Limits())
def mixed_samples(run: Run, limits: Limits) -> Iterator[Finding]:
    if not run.events_of("coverage"):
        raise NotEnough("a batch to try (a watched run)")
    if why := not_tried(run, "mixed samples"):
        raise NotEnough(why)
    for event in run.events_of("mixed_samples")[:1]:
        samples, exchanged, changed = (event.data[key] for key in ("samples", "exchanged", "changed"))
        if changed < limits.changed * (samples - exchanged):
            return
        yield mixed_samples.finding(
            f"With {exchanged} of {samples} samples exchanged, the answers to {changed} of the {samples - exchanged} "
            f"others changed by up to {percent(event.data['change'])}.",
            first_step=0,
            last_step=max(event.step, run.steps - 1),
            confidence=0.93,
            evidence=dict(event.data),
            series=["loss"],
            could_also_be=("A network that looks at its batch on purpose: a graph, a set, retrieval.",),
            try_=(
                "Look for softmax(dim=0), mean(0) or std(0): they go over the samples; dim=-1 goes over the features.",
                "For (batch, time, features): nn.MultiheadAttention(…, batch_first=True), and nn.LSTM alike.",
            ),
        )
