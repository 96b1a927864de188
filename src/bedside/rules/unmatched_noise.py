"""A denoising model is asked for noise that is not in its input, or not as much of it as its time step says.

## What it sees
A model that is trained to tell the noise in a sample, as diffusion models are. The noise that it is asked for is not
the one that was added; or how much was added has nothing to do with the time step that it is told; or even the last
time step leaves the sample in plain sight; or the data are far larger than the noise.

## Why it matters
The loss falls all the same, to what can be told from what is there. Samples are drawn the other way round, from pure
noise and step by step: where training never saw that, or saw other steps, what comes out is noise.

## How it decides
From a few hundred samples of the first batches, whose targets are plainly draws from a normal distribution: the
correlation of every noisy sample with the noise that is asked for. Its mean is within `chance` σ of that of independent
numbers; or its ranks go with those of the time step by less than `by_time`; or it varies from sample to sample by
`varies` and is never above `most`; or samples with the least noise are `large` times as large as the noise.

## When it is wrong
Models that are trained to take away a little noise only, and never to draw a sample from nothing.

## What to try
1. Draw the noise once, add that very tensor, and ask for it.
2. Use the cumulative product of the alphas, brought to (batch, 1, 1, 1) before it is multiplied.
3. Scale the data to -1 to 1.

## Example
>>> from bedside.record.run import Event
>>> from bedside.testing import a_run
>>> seen = {"columns": 64, "samples": 256, "mean": 0.2, "least": 0.03, "most": 0.45, "cleanest_size": 0.8}
>>> print(*unmatched_noise.check(a_run(loss=0.6, events=[Event(8, "asked_noise", seen)])))
DAT115 unmatched-noise: Even at the last time steps, samples are mostly data: their correlation with the added noise \
is never above 0.45 (256 samples), and new ones will be drawn from pure noise.

## References
- Ho, Jain and Abbeel (2020), Denoising diffusion probabilistic models: section 2, equation 4.
- Lin et al. (2024), Common diffusion noise schedules and sample steps are flawed: the last step must be pure noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import LOSS
from bedside.rules.base import rule
from bedside.wording import number


@dataclass(frozen=True)
class Limits:
    chance: float = 4.0  # σ of the mean correlation of so many samples with something else
    by_time: float = 0.3  # correlation of ranks: of samples as different as day and night it is still 0.6
    varies: float = 0.1  # between samples: of a model for one level of noise they are all alike
    most: float = 0.8  # of a correlation: schedules in use end at 0.99, with a third of the variance left at 0.8
    large: float = 3.0  # times the noise: data between -1 and 1, or standardised, are below 1


@rule("DAT115", severity=Severity.WARNING, needs=[], limits=Limits(), preview_since="0.1")
def unmatched_noise(run: Run, limits: Limits) -> Iterator[Finding]:
    events = run.events_of("asked_noise")
    if not events:
        raise NotEnough("a model that is asked for the noise in its input")
    seen = events[-1].data
    least, most, size = float(seen["least"]), float(seen["most"]), float(seen["cleanest_size"])
    luck = limits.chance / math.sqrt(float(seen["columns"]) * float(seen["samples"]))
    samples = f"{int(seen['samples'])} samples"
    goes_with_time = abs(float(seen.get("by_time", 1.0)))
    if abs(float(seen["mean"])) <= luck:
        sentence = (
            "The noise that is asked for is not in the input: their correlation is "
            f"{number(float(seen['mean']), 2)} on average ({samples})."
        )
        advice = "Draw the noise once, add that very tensor to the sample, and ask the model for it."
    elif goes_with_time < limits.by_time:
        sentence = (
            "How much noise a sample has does not go with the time step that the model is told (correlation of ranks "
            f"{number(goes_with_time)}, {samples})."
        )
        advice = (
            "Bring the noise level to (batch, 1) or (batch, 1, 1, 1) before multiplying, and give the model the same t."
        )
    elif most - least >= limits.varies and most < limits.most:
        sentence = (
            "Even at the last time steps, samples are mostly data: their correlation with the added noise is never "
            f"above {number(most)} ({samples}), and new ones will be drawn from pure noise."
        )
        advice = "Use the cumulative product of the alphas, and scale the data to -1 to 1."
    elif size > limits.large:
        sentence = (
            f"The data are {number(size)} times as large as the noise that is added to them ({samples}): what is drawn "
            "from noise of spread one begins far from them."
        )
        advice = "Scale the data to -1 to 1, or to mean 0 and standard deviation 1."
    else:
        return
    yield unmatched_noise.finding(
        sentence,
        first_step=0,
        last_step=max(0, run.steps - 1),
        confidence=0.9,
        evidence=dict(seen),
        series=[LOSS.name],
        could_also_be=("A model that takes a little noise away, and is not meant to draw samples from nothing.",),
        try_=(advice, "Look at ten noisy samples of the last time step: nothing of the data may be left in them."),
    )
