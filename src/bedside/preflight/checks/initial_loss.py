"""An untrained model knows nothing: its first loss is that of a blind guess.

## What it sees
A first loss far above what guessing costs: ln K for K classes, ln 2 for yes or no, the variance of the targets for
squared error.

## Why it matters
A first loss of 30 where a guess costs 2.3 means confident wrong answers: a last layer that starts too large, a wrong
scale of inputs, a sum where a mean was meant. The first steps are spent unlearning them, or blow up. A regression that
starts a thousand variances away spends its first epochs on learning the mean of the targets.

## How it decides
The mean loss over the first batches in evaluation mode against the guess: more than `times` it for classes, more than
`variances` times the variance for squared error. Known are losses that one call of a torch function computes, averaged
and unweighted. A loss below chance is not a fault here: fine-tuning starts there.

## When it is wrong
A pre-trained model on data that it is confidently wrong about; that is worth knowing too.

## What to try
1. Start the last layer smaller: weights divided by ten, bias zero.
2. Normalise inputs; standardise the targets of a regression.
3. Look for a scale or temperature that multiplies the scores, and for reduction="sum".

## Example
>>> from bedside.preflight.example_setup import a_model, examined, seeded
>>> loud = seeded(a_model)
>>> _ = loud[2].weight.data.mul_(200)
>>> print(examined(initial_loss, loud))
PRE104 initial-loss: The first loss is 38.4, 35 times that of a blind guess (ln 3 = 1.099).

## References
- Karpathy (2019), A recipe for training neural networks: verify loss at init.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.preflight.chance import VARIANCE, chance, prior, targets
from bedside.preflight.check import Passed, check
from bedside.preflight.setup import LOSS, Setup
from bedside.preflight.torch_calls import LOSSES, Call, FunctionCalls
from bedside.wording import number


@dataclass(frozen=True)
class Limits:
    times: float = 5.0  # the loss of a guess: healthy first losses, on raw inputs too, are within 4
    variances: float = 100.0  # of the targets: ten standard deviations away from the mean of what is to be learned
    batches: int = 4  # over which the first loss is averaged


@check("PRE104", severity=Severity.WARNING, limits=Limits(), needs=[LOSS])
def initial_loss(setup: Setup, limits: Limits) -> Passed | Finding:
    if setup.loss_call is None:
        raise NotEnough("a loss that one call of a torch function computes (F.cross_entropy, F.mse_loss, …)")
    losses, calls = _first_losses(setup, limits.batches)
    level, what = chance(calls)
    loss = sum(losses) / len(losses)
    evidence = {"loss": loss, "chance": level, **prior(calls)}
    if not math.isfinite(loss):
        raise NotEnough("a first loss that is finite")
    if level <= 0:
        raise NotEnough("targets that differ from each other")
    limit = limits.variances if what == VARIANCE else limits.times
    said = f"{what} = {number(level, 4)}"
    if loss <= limit * level:
        return initial_loss.passed(f"first loss {number(loss)}, a blind guess costs {said}", **evidence)
    return initial_loss.finding(
        f"The first loss is {number(loss)}, {number(loss / level, 2)} times that of a blind guess ({said}).",
        confidence=min(0.95, 0.6 + 0.1 * math.log2(loss / level / limit + 1)),
        evidence=evidence,
        could_also_be=("A pre-trained model that is confidently wrong about this data.",),
        try_=(
            f"Standardise the targets: (y - {number(float(targets(calls).mean()))}) / {number(math.sqrt(level))}."
            if what == VARIANCE
            else f"Start the last layer smaller (weights divided by ten, bias zero), until it is near {number(level)}.",
            "Normalise the inputs, and look for a scale or temperature that multiplies the output.",
        ),
    )


def _first_losses(setup: Setup, most: int) -> tuple[list[float], list[Call]]:
    setup.model.eval()  # dropout adds noise of its own; batch statistics are not the model's
    losses, calls = [], []
    with torch.no_grad():
        for number_ in range(min(most, len(setup.batches))):
            with FunctionCalls(LOSSES) as mode, setup.training.autocast():
                losses.append(float(setup.loss(setup.batch(number_))))
            calls += mode.calls[:1]
    return losses, calls
