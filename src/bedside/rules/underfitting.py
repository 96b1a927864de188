"""The network cannot even fit its training data.

## What it sees
Training and validation loss close together, both flat, both still near guessing.

## Why it matters
There is no gap to close by regularisation: the model is too small, regularised too much, or starved of signal by the
data.

## How it decides
Both losses have been flat for the last third, they differ by less than `gap` of their level, and there is a sign that
the level is a bad one: above `ignorant` of the chance level known from the configuration (for ten classes or more; far
above it, `scale`, the loss is a sum or of another kind), or an accuracy that never exceeded 0.1. Where an accuracy
never exceeded `luck` times that of a guess among ten classes or more, both may have won up to `crept` of their progress
in that last third. The same goes for a network that is too narrow by its build: where all that it knows of an example
passes through fewer numbers than the classes have bits, and the loss is above `unsolved` of the chance level. There it
may have crept on by `slowly`, and the gap need only be smaller than the training loss: most of what is wrong is then
wrong on the training data as well. Where nothing was evaluated, the training loss alone tells it, as long as no more
than `late` of its progress came late.

Or by a comparison: a linear model, or a look-up of the nearest neighbours, was fitted to a few hundred examples of the
run's own batches and tried on others (`simple_models`). The network has settled, and on the very examples that it
trains on it has won less than `share` of what the simple model won over a blind guess, by `apart` of the guess at
least. Held-out answers that are as good as the simple model's settle it; held-out answers that are as bad bear it out.
A run that is over, and saw `times` as many examples as the simple models were fitted to, need not have settled if it
won less than `half`, on held-out examples too.

## When it is wrong
Tasks that nobody can do much better.

## What to try
1. Take out dropout, weight decay and augmentation, and see whether the training loss falls.
2. A wider or deeper model; a higher learning rate.
3. Look at the data: is the answer in them?

## Example
>>> from bedside.testing import a_run
>>> train = [4.6, 4.3] + [4.11, 4.10, 4.12, 4.09] * 30
>>> print(*underfitting.check(a_run(loss=train, val_loss=[4.3] + [4.12, 4.13] * 6, config={"classes": 100})))
GEN102 underfitting: Training and validation loss are flat at 4.11 and 4.13, at 89 % of a blind guess (ln 100).

## References
- Goodfellow, Bengio and Courville (2016), Deep learning, section 5.2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from bedside.analysis.accuracy_and_loss import accuracies, leaves_room
from bedside.analysis.chance_levels import known_chance
from bedside.analysis.losses import training_loss_to_fall, validation_losses
from bedside.analysis.simple_models import TRAINING, Beside, on_held_out, on_training
from bedside.analysis.statistics import Blocks, flat_since, how_sure, in_blocks, outline
from bedside.analysis.untrained_signs import low_metric
from bedside.errors import NotEnough
from bedside.finding import Advice, Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import FIT_ERROR, HELD_OUT_ERROR
from bedside.rules.advice import REGULARISATION, raise_learning_rate
from bedside.rules.base import rule
from bedside.wording import number, percent, plural


@dataclass(frozen=True)
class Limits:
    fewest: int = 30  # readings of the training loss
    evaluations: int = 6  # of the validation loss: two for each third
    flat: float = 0.67  # of the run: the last third is looked at
    crept: float = 0.1  # of all progress: at that pace a third of a run more wins next to nothing
    slowly: float = 0.18  # the same, of a network that is too narrow: a curve that bends only at its end wins a fifth
    late: float = 0.25  # the same, of a network that is too narrow: it creeps on for long and cannot arrive
    luck: float = 2.5  # times one over the number of classes: knowing which classes are frequent brings about as much
    gap: float = 0.1  # of the level: no more than the gap of a good run
    ignorant: float = 0.75  # of the chance level, as for stalled-loss
    scale: float = 3.0  # times the chance level, as for stalled-loss
    classes: int = 10  # for fewer, noisy labels keep good models near chance
    share: float = 0.6  # of what a simple model won: settled networks of the healthy programs win all of it, or more
    apart: float = 0.1  # of a blind guess's error
    worth: float = 0.5  # of a blind guess's error: what a simple model wins less of takes a network its time, too
    errors: int = 4  # readings of the network's own error in the last third
    answers: int = 100  # of the network: a share of wrong ones is known to 0.05 then
    half: float = 0.5  # of what a simple model won: whoever stops there has not begun to use the network
    times: float = 20.0  # as many examples as the simple models saw: ten epochs of a small data set
    settled: float = 0.8  # of its error in the third's first half: a network that wins more is under way
    trained: int = 150  # steps: a small network in its first epochs is behind by right
    unsolved: float = 0.3  # of the chance level: digits through 3 units end at 0.2 of it, through 2 at 0.45 (measured)


@rule("GEN102", severity=Severity.WARNING, needs=[], limits=Limits())
def underfitting(run: Run, limits: Limits) -> Iterator[Finding]:
    training = training_loss_to_fall(run, limits.fewest)
    if (beaten := _beaten(run, training, limits)) is not None:
        yield beaten
        return
    losses = [each.finite() for each in validation_losses(run)]
    validation = next((each for each in losses if len(each) >= limits.evaluations), None)
    if validation is None:
        if not losses and (alone := _narrow_alone(run, training, limits)) is not None:
            yield alone
            return
        raise NotEnough(f"{limits.evaluations} evaluations")
    blocks = in_blocks(training, most=limits.fewest), in_blocks(validation, most=limits.fewest)
    flat = all(flat_since(each) <= limits.flat * len(each) for each in blocks)
    train, held_out = outline(training).now, outline(validation).now
    chance = known_chance(run.config)
    classes = chance.classes if chance is not None and chance.classes >= limits.classes else 0
    narrow = _narrow(run, classes) if chance is not None and train > limits.unsolved * chance.level else ""
    crept = limits.slowly if narrow else limits.crept
    if not flat and any(_won_late(each, limits) > crept for each in blocks):
        return
    if abs(held_out - train) > (1 if narrow else limits.gap) * abs(train):
        return
    low = low_metric(run) if flat else ""
    if classes and not low:
        low = low_metric(run, limits.luck / classes)
    if not leaves_room(run, train):  # then the metric is wrong, and not the loss
        low = ""
    near = chance is not None and limits.ignorant * chance.level < train < limits.scale * chance.level
    if chance is not None and classes and near and flat:
        sign, sure = f"at {percent(train / chance.level)} of a blind guess ({chance.what})", train / chance.level
    elif low or narrow:
        sign, sure = narrow or low, 0.7
    else:
        return
    step = int(blocks[0].first_steps[flat_since(blocks[0])])
    yield underfitting.finding(
        f"Training and validation loss are flat at {number(train)} and {number(held_out)}, {sign}.",
        first_step=step,
        last_step=max(step, training.last_step),
        confidence=how_sure(min(sure, 1.0), 0.4),
        evidence={"training": train, "validation": held_out},
        series=[training.key, validation.key, "lr"],
        could_also_be=[
            "labels that do not belong to their inputs: train on 32 examples; they must be learned by heart.",
            "gradients that do not reach the front of the network: compare the norms of its layers.",
        ],
        try_=[
            Advice("Take out dropout, weight decay and augmentation, and see if the loss falls.", REGULARISATION, -1),
            raise_learning_rate(run, training.last_step, by=3),
            "Widen the narrowest layer." if narrow else "Double the width of the model.",
        ],
    )


def _beaten(run: Run, training: Series, limits: Limits) -> Finding | None:
    """What a simple model does better on the same examples, once the network has settled."""
    if run.steps < limits.trained:
        return None
    late, held_out = on_training(run, limits.flat), on_held_out(run, carried=True)
    if late is None or late.answers < limits.answers or _well_held_out(run, late, limits):
        return None
    there, half = (held_out is not None and _behind(held_out, each, limits) for each in (limits.share, limits.half))
    settled = _won_late(in_blocks(training, most=limits.fewest), limits) <= limits.crept and not _gains(late, limits)
    if _behind(late, limits.share, limits) and settled and (there or len(late.errors) >= limits.errors):
        return _beaten_by(late, run, training, limits)
    if _behind(late, limits.half, limits) and (half or held_out is None) and _long(run, limits):
        return _beaten_by(late, run, training, limits)
    return None


def _behind(beside: Beside, share: float, limits: Limits) -> bool:
    return beside.worth >= limits.worth and beside.share <= share and beside.apart >= limits.apart


def _well_held_out(run: Run, beside: Beside, limits: Limits) -> bool:
    """Whether it answers held-out examples as well as the simple model: what is hard is only hard in training."""
    best = [1 - float(each.values.max()) for each in accuracies(run)] if beside.counted else []
    held_out = on_held_out(run, carried=True)
    best += [held_out.network] if held_out is not None else []
    return any(error <= beside.simple + limits.apart * beside.guess for error in best)


def _gains(beside: Beside, limits: Limits) -> bool:
    """Whether the network's own error still comes down."""
    half = len(beside.errors) // 2
    if not half:
        return False
    return float(np.mean(beside.errors[-half:])) < limits.settled * float(np.mean(beside.errors[:half]))


def _long(run: Run, limits: Limits) -> bool:
    """Whether a run is over that has seen many times what the simple models were fitted to."""
    facts = run.config.get(TRAINING)
    if not run.finished or not isinstance(facts, Mapping) or "asked" not in facts:
        return False
    return run.steps * float(facts["asked"]) >= limits.times * float(facts["kept"])


def _beaten_by(beside: Beside, run: Run, training: Series, limits: Limits) -> Finding:
    return underfitting.finding(
        f"The network is {beside.words(beside.network)} on the examples that it trains on; {beside.name}, fitted to a "
        f"few hundred of them, is {beside.words(beside.simple)} on others.",
        first_step=int(limits.flat * run.steps),
        last_step=max(int(limits.flat * run.steps), training.last_step),
        confidence=0.85,
        evidence={"own": beside.network, "simple": beside.simple, "guess": beside.guess},
        series=[FIT_ERROR.name, HELD_OUT_ERROR.name, training.key, "lr"],
        could_also_be=["examples that are altered or mixed on purpose, or a loss that asks for something else."],
        try_=[
            "Train on 32 examples until the loss is near zero; if it does not get there, look at layer after layer.",
            Advice("Take out dropout, weight decay and augmentation, and see if the loss falls.", REGULARISATION, -1),
            raise_learning_rate(run, training.last_step, by=3),
        ],
    )


def _narrow_alone(run: Run, training: Series, limits: Limits) -> Finding | None:
    """A network that is built too narrow for its classes shows in its training loss alone."""
    chance, now = known_chance(run.config), outline(training).now
    if chance is None or chance.classes < limits.classes or run.steps < limits.trained:
        return None
    if _won_late(in_blocks(training, most=limits.fewest), limits) > limits.late or now < limits.unsolved * chance.level:
        return None
    narrow = _narrow(run, chance.classes)
    if not narrow or now > limits.scale * chance.level:
        return None
    return underfitting.finding(
        f"The loss is still {number(now)} ({percent(now / chance.level)} of a blind guess), {narrow}.",
        first_step=training.first_step,
        last_step=training.last_step,
        confidence=0.8,
        evidence={"training": now, "chance": chance.level},
        series=[training.key, "lr"],
        could_also_be=["gradients that do not reach the front of the network: compare the norms of its layers."],
        try_=["Widen the narrowest layer: as many units as there are classes, at least."],
    )


def _narrow(run: Run, classes: int) -> str:
    """That the network is built too narrow for its classes, in words; nothing if it is not, or nobody knows."""
    width = run.config.get("narrowest", 0)
    if not classes or not 0 < width < math.log2(classes):
        return ""
    return f"and whatever is known of an example passes through {plural(int(width), 'unit')}, for {classes} classes"


def _won_late(blocks: Blocks, limits: Limits) -> float:
    """The share of its progress that the curve won after `flat` of the run, beyond the noise of a block."""
    last = blocks.means[int(limits.flat * len(blocks)) :]
    won = float(last[0] - np.median(last[-3:])) - blocks.noise
    return won / max(float(blocks.means[0] - blocks.means.min()), 1e-12)
