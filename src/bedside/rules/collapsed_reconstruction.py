"""An autoencoder that answers every sample with the same picture: its code carries no information.

## What it sees
Outputs that hardly differ between samples, where the loss compares them with the samples themselves. Or the means of a
random code that hardly differ between them.

## Why it matters
The mean of all samples is what a decoder puts out when its code tells it nothing. In a variational autoencoder that is
posterior collapse: the penalty on the code is cheaper to satisfy than the reconstruction.

## How it decides
The spread of the outputs over a batch is below 0.15 of that of the samples in the last quarter of the run, is no larger
than it was before training, and does not grow. Looked at where the target of the loss is the input. Or, in the second
half of the run, the liveliest mean of a code varies from sample to sample by less than `empty` of the prior's width;
such a mean and its divergence are found in the graph of the loss.

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
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import LOSS, RECONSTRUCTION_VARIATION
from bedside.rules.base import rule
from bedside.wording import number, percent


@dataclass(frozen=True)
class Limits:
    empty: float = 0.1  # of the prior's width: 0.005 nats; a dimension that tells anything has tenths of a nat
    late: float = 0.5  # of the run: divergences that are let in slowly may be too heavy for a while
    steps: int = 200  # codes are empty before training, too
    window: int = 3  # readings of the number that is shown: a short run has no more of them late in it


@rule("ACT107", severity=Severity.WARNING, needs=[], limits=Limits())
def collapsed_reconstruction(run: Run, limits: Limits) -> Iterator[Finding]:
    if finding := _empty_code(run, limits):
        yield finding
        return
    if not run.has(RECONSTRUCTION_VARIATION.name):
        raise NotEnough(RECONSTRUCTION_VARIATION.name)
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


def _empty_code(run: Run, limits: Limits) -> Finding | None:
    """A code whose means are the same for every sample: the posterior is the prior."""
    codes = run.events_of("code_divergence")
    if not codes or codes[-1].step < max(limits.steps, limits.late * (run.steps - 1)):
        return None
    varies, weight = float(codes[-1].data["varies"]), float(codes[-1].data["weight"])
    if varies >= limits.empty:
        return None
    return collapsed_reconstruction.finding(
        f"The code tells nothing of its input: from sample to sample none of its means varies by more than "
        f"{number(varies, 2)} of the prior's width. One dimension of its divergence counts {number(weight, 2)} times "
        "as much as one reconstructed number.",
        first_step=codes[-1].step,
        last_step=max(run.steps - 1, 0),
        confidence=0.9,
        evidence=dict(codes[-1].data),
        series=[LOSS.name],
        could_also_be=("Samples that are alike but for noise.",),
        try_=(
            "Give the divergence less weight, or let its weight rise from zero over the first epochs.",
            "Make the decoder narrower, so that it needs the code.",
        ),
    )
