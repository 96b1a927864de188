"""An autoencoder that answers every sample with the same picture: its code carries no information.

## What it sees
Outputs that hardly differ between samples, where the loss compares them with the samples themselves.

## Why it matters
The mean of all samples is what a decoder puts out when its code tells it nothing. In a variational autoencoder that is
posterior collapse: the penalty on the code is cheaper to satisfy than the reconstruction.

## How it decides
The spread of the outputs over a batch is below 0.15 of that of the samples in the last quarter of the run, is no larger
than it was before training, and does not grow. Looked at where the target of the loss is the input.

## When it is wrong
Samples that really are alike but for noise.

## What to try
1. Let the penalty on the code weigh less, or let its weight rise from zero over the first epochs.
2. A narrower decoder, so that it needs the code.

## Example
>>> from bedside.testing import a_run
>>> print(*collapsed_reconstruction.check(a_run(loss=0.07, reconstruction_variation=[0.2] * 10 + [0.05] * 90)))
ACT107 collapsed-reconstruction: Reconstructions differ between samples by 5 % of what the samples do, so all are alike.

## References
- Bowman et al. (2016), Generating sentences from a continuous space: latent variables that are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bedside.analysis.reconstruction import collapsed_reconstruction_series
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import LOSS, RECONSTRUCTION_VARIATION
from bedside.rules.base import rule
from bedside.wording import percent


@dataclass(frozen=True)
class Limits:
    window: int = 3  # readings of the number that is shown: a short run has no more of them late in it


@rule("ACT107", severity=Severity.WARNING, needs=[RECONSTRUCTION_VARIATION], limits=Limits())
def collapsed_reconstruction(run: Run, limits: Limits) -> Iterator[Finding]:
    variation = collapsed_reconstruction_series(run)
    if variation is None:
        return
    now = variation.median(limits.window)
    yield collapsed_reconstruction.finding(
        f"Reconstructions differ between samples by {percent(now)} of what the samples do, so all are alike.",
        first_step=variation.first_step,
        last_step=variation.last_step,
        confidence=0.85,
        evidence={"variation": now, "at_first": variation.head(limits.window).median()},
        series=[variation.key, LOSS.name],
        could_also_be=("Samples that are alike but for noise.",),
        try_=(
            "Give the penalty on the code less weight, or let its weight rise from zero over the first epochs.",
            "Make the decoder narrower, so that it needs the code.",
        ),
    )
