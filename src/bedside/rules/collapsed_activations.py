"""The output is the same for every input: the signal is lost on the way through the network.

## What it sees
How much outputs differ between the samples of a batch, as a share of their size, from the front to the back.

## Why it matters
A network whose output does not depend on its input can only learn the mean of the targets. In a deep plain net each
layer shrinks the differences between samples until the biases are all that is left; gradients vanish the same way back.

## How it decides
At the back the variation is below `gone` to the end of the run, while the first module still tells the samples apart
(above `there`), and the loss has hardly come down. The module named is the first one from which on everything is the
same, and it is dated from when its output was no longer above `gone`.

## When it is wrong
Batches that hold the same sample many times: then the first module does not tell them apart either.

## What to try
1. Skip connections, or normalisation layers between the blocks.
2. He initialisation for ReLU, Glorot for tanh: `nn.init.kaiming_normal_(layer.weight)`.
3. Fewer layers.

## Example
>>> from bedside.testing import a_run
>>> run = a_run(loss=2.3, batch_variation={"in": 0.7, "layer.1": 0.02, "layer.2": 1e-4, "out": 1e-5})
>>> print(*collapsed_activations.check(run))
ACT103 collapsed-activations: From `layer.2` on, outputs are the same for every sample (they differ by 0.01 %).

## References
- Poole et al. (2016), Exponential expressivity in deep neural networks through transient chaos.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bedside.analysis.progress import share_of_loss_won
from bedside.analysis.windows import since_below
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import ACTIVATION_RMS, BATCH_VARIATION, LOSS
from bedside.rules.base import rule
from bedside.rules.what_was_seen import weights_decayed
from bedside.wording import number


@dataclass(frozen=True)
class Limits:
    gone: float = 1e-3  # deep nets that never learnt were below it; a six-layer one that did began at 0.016
    there: float = 0.05  # of the first module: ordinary batches have 0.5 and more
    fewest: int = 10  # readings
    progress: float = 0.2  # of the first loss: a net that learns the mean of the targets wins less


@rule("ACT103", severity=Severity.WARNING, needs=[BATCH_VARIATION.per_owner], limits=Limits())
def collapsed_activations(run: Run, limits: Limits) -> Iterator[Finding]:
    layers = [s for s in run.of(BATCH_VARIATION.name) if len(s.finite()) >= limits.fewest]
    if len(layers) < 2:
        return
    now = [series.median(limits.fewest) for series in layers]
    if not (now[-1] < limits.gone and now[0] > limits.there) or share_of_loss_won(run) > limits.progress:
        return
    place = len(now) - 1
    while place > 0 and now[place - 1] < limits.gone:
        place -= 1
    first = layers[place]
    onset = since_below(first, limits.gone)
    yield collapsed_activations.finding(
        f"From `{first.owner}` on, outputs are the same for every sample (they differ by "
        f"{number(100 * now[place])} %).",
        first_step=onset,
        last_step=first.last_step,
        confidence=0.9,
        where=[first.owner],
        evidence={"variation_at_the_front": now[0], "variation_there": now[place], "variation_at_the_back": now[-1]},
        series=[first.key, f"{ACTIVATION_RMS.name}/{first.owner}", LOSS.name],
        could_also_be=(weights_decayed(run),),
        try_=(
            f"Put skip connections or normalisation layers in front of `{first.owner}`.",
            "Initialise for the non-linearity: nn.init.kaiming_normal_ for ReLU, nn.init.xavier_normal_ for tanh.",
        ),
    )
