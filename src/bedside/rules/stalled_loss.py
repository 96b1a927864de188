"""The loss fell a little and then stopped, far above what a trained model reaches.

## What it sees
A first fall, then a plateau for a third of the run or more, at a level that is still close to guessing.

## Why it matters
Part of the network learns (often only the output layer, which learns how frequent each answer is) and the rest does
not: vanished gradients behind it, a learning rate that decayed too early, or too small a model.

## How it decides
On means of blocks: at least `moved` of the level was won, nothing more since a point before `flat` of the run, and
there is a sign that the plateau is a bad one: it is above `ignorant` of the chance level known from the configuration
(for ten classes or more; not if it is above `scale` times that, as a sum would be), or an accuracy never exceeded 0.1.
A plateau alone is not a fault: most good runs end on one. Of means of epochs or evaluations that hardly scatter a `few`
are enough, if nothing was won over `half` of them.

## When it is wrong
Very hard tasks, whose best known models are little better than guessing.

## What to try
1. Compare the gradient norms of the first and the last layers: zeros at the front name the cause.
2. Raise the learning rate tenfold for a few hundred steps; if the loss falls again, the schedule was to blame.
3. Overfit one batch; if that fails, the model or the loss is broken.

## Example
>>> from bedside.testing import a_run
>>> loss = [11.3, 10.7, 10.5, 10.4] + [10.31, 10.29, 10.30, 10.28, 10.30, 10.29] * 20
>>> print(*stalled_loss.check(a_run(loss=loss, config={"vocab_size": 50280})))
LOS104 stalled-loss: The loss fell from 11.3 to 10.3 and stopped at step 9, at 95 % of a blind guess (ln 50,280).

## References
- Glorot and Bengio (2010), Understanding the difficulty of training deep feedforward neural networks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bedside.analysis.accuracy_and_loss import leaves_room
from bedside.analysis.chance_levels import known_chance
from bedside.analysis.losses import called, loss_to_fall
from bedside.analysis.means_of_epochs import are_means, is_quiet
from bedside.analysis.schedule import warming_up
from bedside.analysis.statistics import flat_since, how_sure, in_blocks, outline
from bedside.analysis.untrained_signs import low_metric
from bedside.errors import NotEnough
from bedside.finding import Advice, Finding, Severity
from bedside.record.run import Run
from bedside.rules.advice import LEARNING_RATE, NONE, moment, raise_learning_rate
from bedside.rules.base import rule
from bedside.rules.what_was_seen import gradient_fades_towards_the_front
from bedside.wording import number, percent


@dataclass(frozen=True)
class Limits:
    fewest: int = 30  # readings: ten for each third
    few: int = 8  # means of epochs or evaluations, if they scatter by next to nothing: see means_of_epochs
    half: float = 0.5  # of those: four of them at least without any gain
    steps: int = 100  # a few dozen steps may be a warm-up; see stuck-from-start
    moved: float = 0.02  # of the level: less than this is stuck-from-start
    flat: float = 0.67  # of the run: a last third without any gain
    ignorant: float = 0.75  # of the chance level: knowing how frequent each token is brings a language model to 0.7
    scale: float = 3.0  # times the chance level: far above it the loss is a sum, or a cross-entropy of another kind
    classes: int = 10  # for fewer, noisy labels keep good models near chance


@rule("LOS104", severity=Severity.WARNING, needs=[], limits=Limits())
def stalled_loss(run: Run, limits: Limits) -> Iterator[Finding]:
    series = loss_to_fall(run, limits.few)
    short = len(series) < limits.fewest
    if short and not (are_means(run, series) and is_quiet(series)):
        raise NotEnough(f"{limits.fewest} readings of {series.key}, has {len(series)}")
    if run.axis == "step" and series.last_step - series.first_step + 1 < limits.steps:
        raise NotEnough(f"{limits.steps} steps of {series.key}")
    if warming_up(run):
        raise NotEnough("steps after the warm-up of the learning rate")
    blocks = in_blocks(series, size=-(-len(series) // limits.fewest))
    means = blocks.means
    since = flat_since(blocks)
    start, now = outline(series).start, float(means[-1])
    if since > (limits.half if short else limits.flat) * len(blocks) or start - now < limits.moved * abs(start):
        return
    chance = known_chance(run.config)
    near = (
        chance is not None
        and chance.classes >= limits.classes
        and limits.ignorant * chance.level < now < limits.scale * chance.level
    )
    low = low_metric(run) if leaves_room(run, now) else ""  # otherwise the metric is wrong, and not the loss
    if near and chance is not None:
        sign, sure = f"at {percent(now / chance.level)} of a blind guess ({chance.what})", now / chance.level
    elif low:
        sign, sure = low, 0.7
    else:
        return
    step = int(blocks.first_steps[since])
    yield stalled_loss.finding(
        f"The {called(series)} fell from {number(start)} to {number(now)} and stopped at {moment(run, step)}, {sign}.",
        first_step=step,
        last_step=series.last_step,
        confidence=min(sure, how_sure(1 - since / len(blocks), 1 - limits.flat) + 0.25),
        evidence={"first": start, "now": now, "flat_share": 1 - since / len(blocks)},
        series=[series.key, "lr", "grad_norm"],
        could_also_be=[
            gradient_fades_towards_the_front(run),
            _decayed(run),
            "too small a model or too little context for the task: overfit one batch.",
        ],
        try_=[
            raise_learning_rate(run, series.last_step),
        ],
    )


def _decayed(run: Run) -> Advice:
    """That the rate came down too early, where it came down at all."""
    rates = run.series("lr").finite()
    if not rates or rates.last >= 0.5 * float(rates.values.max()):
        return NONE
    text = "a learning rate that decayed too early: raise it tenfold for a few hundred steps and see."
    return Advice(text, LEARNING_RATE, 1)
