"""The loss improves and the accuracy does not move.

## What it sees
A loss that fell a good way, next to a metric of the same data that is where it was at the first evaluation.

## Why it matters
A network that predicts better makes better decisions. If the metric does not notice, it is most likely computed wrongly
(of the wrong tensor, with the wrong threshold, on stale predictions), or the network only learns how frequent each
class is and always names the same one.

## How it decides
The validation loss fell by `fell` of its first value and beyond its noise; all metrics beside it that should rise
stayed within `still` of their value over at least `fewest` evaluations, and none is above `saturated`, where there is
little left to gain. Where the loss fell by `far`, accuracies may wobble: it is enough that they never left `wobble` of
all answers around their middle, or what `examples` answers scatter by (`scatter` binomial σ), and gained less than half
of `wobble` from the first third to the last; their middle is above `rare` and below `poor`, since strict scores begin
at zero and surer answers alone lower the loss of a good network. Or, however they wobble, they are those of a guess:
usually 1/K, where the first losses are within `near_guess` of ln K, never luckier than the best of many evaluations of
`few_examples`, and no better at the end. The training loss and training accuracies are judged in the same way. Beside a
training accuracy that gained less than `gain`, a validation accuracy that has one value in `mostly` of `habit` or more
evaluations, and never a better one, is enough, however little the loss fell. Strict
scores (mAP, exact match) begin at zero; where several are logged (or one that cannot be an exact match, and the
validation loss fell by `far` as well) and all of them are below `none` of a full score after `zeros` evaluations (or at
nothing after `all_zero`), beside a training loss that fell by `far`, no answer counts.

Or the loss came down to `gone` of its start, and every score beside it (no exact match) was below `nothing` of a full
one all along. Or, where the number of classes is known, an accuracy that is usually below `luck` times that of a guess,
next to a loss which it cannot belong to: each wrong answer costs ln 2 or more, so the loss leaves no room for that many
of them, with `room` to spare. Where training began at `began` of a blind guess or more, so that the loss is such a
cross-entropy, that is arithmetic, and `proof` evaluations of it are enough. Of a watched run any accuracy will do,
where the answers that the loss was given were counted, and as many of them are wrong as the accuracy says (`agree`):
when that is `room` more than `times` what the loss leaves room for, the loss passes over them.

## When it is wrong
Strict metrics that stay at zero for long (exact match), and rare classes.

## What to try
1. Compute the metric from scratch for one batch, from the printed predictions.
2. Count how often each class is predicted.

## Example
>>> from bedside.testing import a_run
>>> val = [2.3, 2.0, 1.8, 1.6, 1.5, 1.4, 1.3, 1.25]
>>> print(*loss_without_accuracy.check(a_run(loss=val, val_loss=val, val_accuracy=[0.1] * 8)))
GEN106 loss-without-accuracy: val/loss fell from 2.3 to 1.3, but val/accuracy has stayed at 0.1 for all 8 evaluations.

## References
- Karpathy (2019), A recipe for training neural networks: verify the metric by hand.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bedside.analysis.accuracy_and_loss import accuracies, is_accuracy, most_wrong
from bedside.analysis.chance_levels import chance_level, known_chance
from bedside.analysis.losses import meant_to_fall, training_loss, validation_losses, validation_metrics
from bedside.analysis.statistics import how_sure, outline, significant_digits, trend
from bedside.analysis.statistics.outline import Outline
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.metric_direction import full_score, goes_up
from bedside.record.run import Event, Run
from bedside.record.series import Series
from bedside.rules.base import rule
from bedside.wording import listed, number, percent


@dataclass(frozen=True)
class Limits:
    fewest: int = 6  # evaluations
    proof: int = 3  # evaluations that contradict each other in arithmetic: one may be a batch of its own kind
    fell: float = 0.2  # of the first validation loss: far beyond what calibration alone brings
    noise: float = 3.0  # σ of one evaluation
    still: float = 0.01  # of the metric's value: an accuracy of 0.5 that stays between 0.495 and 0.505
    far: float = 0.35  # of the first loss: surer answers alone, without better ones, seldom bring a third
    wobble: float = 0.01  # of a full score, either way: what a few thousand examples scatter by
    examples: int = 1000  # a usual small held-out set: the share of right answers among them is binomial
    scatter: float = 2.0  # σ of that share: nineteen in twenty evaluations are within
    rare: float = 0.04  # of all answers: scores that are strict, and guesses among hundreds of classes, begin below
    poor: float = 0.65  # of all answers: where a third of them is wrong, the loss is made of mistakes
    gone: float = 0.05  # of the first loss: whoever has come down so far answers what is asked
    nothing: float = 0.1  # of a full score: and these are the scores of somebody who answers something else
    saturated: float = 0.9  # accuracies above have little left to gain
    luck: float = 1.5  # times one over the number of classes: guesses on a few hundred examples scatter by less
    room: float = 0.25  # of all answers: what odd averaging (by class, by batch) may hide
    agree: float = 0.02  # of all answers: what was counted and what was logged are the same thing
    times: float = 2.0  # the wrong answers that the loss leaves room for: focal and balanced losses are lower, too
    zeros: int = 20  # evaluations of strict scores without a right answer: they begin at zero, and leave it sooner
    scores: int = 2  # different ones: a strict one alone may wait for long
    all_zero: int = 8  # evaluations without a single right answer
    none: float = 0.005  # of a full score: one right answer of two hundred
    few_examples: int = 300  # a small held-out set, whose best of many evaluations is...
    chances: float = 4.0  # ...σ above the usual one, once in a few hundred evaluations, and
    lucky: float = 0.06  # of all answers at most, as for guesses elsewhere
    habit: int = 8  # evaluations: of fewer, most may agree by chance
    mostly: float = 0.7  # of the evaluations: of a network that changes a tenth agree to the last digit
    gain: float = 0.02  # of all answers, from the first third to the last: a network that learns at all gains more
    near_guess: float = 0.2  # of ln K, either side: a first loss, after some steps or an untrained head
    began: float = 0.7  # of a blind guess: mean binary and focal losses begin far below, unless there are two classes


@rule("GEN106", severity=Severity.WARNING, needs=[], limits=Limits())
def loss_without_accuracy(run: Run, limits: Limits) -> Iterator[Finding]:
    if nothing := _nothing_right(run, limits):
        yield nothing
        return
    if passed_over := _passed_over(run, limits):
        yield passed_over
        return
    pairs = _pairs(run, limits)
    if not pairs:
        raise NotEnough(f"{limits.proof} readings of a loss and of a metric of the same data that should rise")
    for series, beside in pairs:
        curve = outline(series)
        fell = curve.start - curve.now
        enough = min(len(each) for each in (series, *beside)) >= limits.fewest
        learned = enough and fell >= max(limits.fell * abs(curve.start), limits.noise * curve.noise)
        levels = [float(np.median(metric.values)) for metric in beside]
        low = max(_share(each, level) for each, level in zip(beside, levels, strict=True)) <= limits.saturated
        far = fell >= limits.far * abs(curve.start)
        unmoved = learned and low and min(levels) > 0 and all(_unmoved(metric, far, limits) for metric in beside)
        chance = known_chance(run.config)
        if chance is not None and chance.classes and curve.now > chance.level:
            continue  # worse than a blind guess still: it fell from outputs that were too large, to no answer
        failing = _impossible(run, series, learned, limits) or _nothing(curve, beside, limits)
        failing = failing or (
            _guessing(run, series, far, limits) and not any(trend(metric).rising for metric in beside)
        )
        fallen = fell >= limits.noise * curve.noise and curve.start > 0
        failing = failing or (fallen and low and _same_answers(run, series, beside, limits))
        if not unmoved and not failing:
            continue
        metric = beside[0]
        yield loss_without_accuracy.finding(
            f"{series.key} fell from {number(curve.start)} to {number(curve.now)}, but {metric.key} has stayed at "
            f"{number(levels[0])} for all {len(metric)} {'readings' if series.vital == 'loss' else 'evaluations'}.",
            first_step=metric.first_step,
            last_step=metric.last_step,
            confidence=how_sure(max(fell, 0.0), limits.fell * abs(curve.start) / 1.5),
            evidence={"fell": fell, "metric": levels[0], "evaluations": len(metric)},
            series=[series.key, metric.key],
            could_also_be=["a network that always names the most frequent class: count its predictions per class."],
            try_=[
                f"Compute {metric.key} by hand for one batch, from printed predictions and labels.",
                "Count how often each class is predicted.",
            ],
        )
        return


def _nothing_right(run: Run, limits: Limits) -> Finding | None:
    """Not one held-out answer is right to the end of a long run whose training loss fell far."""
    training = training_loss(run).finite()
    scores = [each.finite() for each in validation_metrics(run) if goes_up(each.vital) and full_score(each.vital, 1.0)]
    needed = 1 if _held_out_fell(run, limits) and not any(_is_strict(each) for each in scores) else limits.scores
    if len(training) < limits.fewest or len(scores) < needed or not meant_to_fall(run):
        return None
    curve = outline(training)
    highest = max(float(each.values.max()) / full_score(each.vital, float(each.values.max())) for each in scores)
    fewest = limits.zeros if highest > 0 else limits.all_zero
    if min(len(each) for each in scores) < fewest or highest > limits.none or float(training.values.min()) <= 0:
        return None
    if curve.start - curve.now < limits.far * curve.start:
        return None
    keys = listed(each.key for each in scores[:3])
    return loss_without_accuracy.finding(
        f"The loss fell from {number(curve.start)} to {number(curve.now)}, but {keys} never came above "
        f"{number(highest)} of a full score in {len(scores[0])} evaluations.",
        first_step=scores[0].first_step,
        last_step=scores[0].last_step,
        confidence=0.8,
        evidence={"highest": highest, "evaluations": len(scores[0]), "loss": [curve.start, curve.now]},
        series=[training.key, *(each.key for each in scores[:3])],
        could_also_be=["held-out labels of another order or numbering than those of training."],
        try_=[
            "Evaluate some training data with the evaluation code: the score must not be zero there.",
            "Print ten held-out answers beside their labels, and compare the names of the classes.",
        ],
    )


def _passed_over(run: Run, limits: Limits) -> Finding | None:
    """More wrong answers among those that the loss was computed from than it leaves room for."""
    training, chance = training_loss(run).finite(), known_chance(run.config)
    looks = [each for each in run.events_of("evaluation_answers") if each.data.get("kind") == "classes"]
    if chance is None or not chance.classes or not training or len(looks) < limits.proof:
        return None
    if float(training.values[0]) < limits.began * chance.level:
        return None
    for series, beside in _pairs(run, limits):
        if series.vital == "loss":
            continue
        for metric in (each for each in beside if is_accuracy(each.vital)):
            last = [_look(metric, series, each) for each in looks[-limits.proof :]]
            if not all(
                abs(right - logged) <= limits.agree and 1 - right > limits.times * most_wrong(loss) + limits.room
                for right, logged, loss in last
            ):
                continue
            right, _, loss = last[-1]
            return loss_without_accuracy.finding(
                f"{series.key} is {number(loss)}, which leaves room for {percent(most_wrong(loss))} of wrong answers "
                f"(each costs ln 2 or more), and {percent(1 - right)} of the {looks[-1].data['examples']:,} answers "
                "that it was given are wrong: it passes over them.",
                first_step=looks[0].step,
                last_step=metric.last_step,
                confidence=0.9,
                evidence={"loss": loss, "right": right, "room": most_wrong(loss)},
                series=[series.key, metric.key],
                could_also_be=["a loss that was divided, by the number of samples or of micro-batches, say."],
                try_=["Look at the arguments of the loss: zeros in weight=, an ignore_index that is a class."],
            )
    return None


def _look(metric: Series, loss: Series, look: Event) -> tuple[float, float, float]:
    """The share of right answers as it was counted and as it was logged, and the loss beside them; NaN if unknown."""
    for step in (look.step - 1, look.step):  # an evaluation between two steps is that of the step to come
        at = [np.flatnonzero(each.steps == step) for each in (metric, loss)]
        if all(len(each) for each in at):
            return float(look.data["right"]), float(metric.values[at[0][0]]), float(loss.values[at[1][0]])
    return math.nan, math.nan, math.nan


def _held_out_fell(run: Run, limits: Limits) -> bool:
    """Whether the validation loss itself says that much was learned which holds for other data."""
    curves = [outline(each) for each in validation_losses(run) if len(each.finite()) >= limits.fewest]
    return any(each.start - each.now >= limits.far * abs(each.start) for each in curves)


def _is_strict(series: Series) -> bool:
    """An exact match, or an accuracy that may be one: a single slip costs it all."""
    return is_accuracy(series.vital) or _is_exact(series)


def _is_exact(series: Series) -> bool:
    return bool({"exact", "em"} & set(re.split(r"[^a-z0-9]+", series.vital.lower())))


def _pairs(run: Run, limits: Limits) -> list[tuple[Series, list[Series]]]:
    """Each loss with the metrics of the same data that should rise: validation first, then training."""
    pairs = []
    training = [each for each in run.matching("train/") if goes_up(each.vital)]
    for losses, metrics in ((validation_losses(run), validation_metrics(run)), ([training_loss(run)], training)):
        for series in losses:
            rising = [each.finite() for each in metrics if goes_up(each.vital) and each.owner == series.owner]
            beside = [each for each in rising if len(each) >= limits.proof]
            if len(series.finite()) >= limits.proof and beside:
                pairs.append((series.finite(), beside))
    return pairs


def _share(metric: Series, level: float) -> float:
    """A level as a share of a full score, if the metric has one."""
    return level / (full_score(metric.vital, float(metric.values.max())) or 1.0)


def _unmoved(metric: Series, far: bool, limits: Limits) -> bool:
    """The metric stayed where it was, to a percent of its value or, beside a loss that fell far, of a full score."""
    values, third = metric.values, max(1, len(metric) // 3)
    middle = float(np.median(values))
    if float(np.ptp(values)) <= limits.still * max(abs(middle), 1e-12):
        return True
    full = full_score(metric.vital, float(values.max())) if is_accuracy(metric.vital) else 0.0
    if not far or not limits.rare * full <= middle <= limits.poor * full:
        return False
    gained = float(np.median(values[-third:]) - np.median(values[:third]))
    share = middle / full
    width = max(limits.wobble, limits.scatter * math.sqrt(share * (1 - share) / limits.examples)) * full
    return gained < limits.wobble * full / 2 and float(np.abs(values - middle).max()) <= width


def _guessing(run: Run, series: Series, far: bool, limits: Limits) -> bool:
    """Beside a loss that fell far, every accuracy stayed where the first losses say that a guess among K would be."""
    losses = [float(each.values[0]) for each in (training_loss(run).finite(), series) if each]
    split = "train" if series.vital == "loss" else "val"
    beside = [each for each in accuracies(run, split) if each.owner == series.owner]
    if not far or not beside or min(len(each) for each in beside) < limits.fewest:
        return False
    for each in beside:
        usual, third = float(np.median(each.values)), max(1, len(each) // 3)
        luck = min(limits.lucky, limits.chances * math.sqrt(usual * (1 - usual) / limits.few_examples))
        gained = float(np.median(each.values[-third:]) - np.median(each.values[:third]))
        learns = gained > luck / 2 or trend(each).rising
        if not 0 < usual <= limits.poor or float(each.values.max()) > usual + luck or learns:
            return False
        if min(abs(loss + math.log(usual)) for loss in losses) > limits.near_guess * -math.log(usual):
            return False
    return True


def _same_answers(run: Run, series: Series, beside: Sequence[Series], limits: Limits) -> bool:
    """The held-out accuracy was never above the value that it mostly has, and training accuracy gained nothing.

    Two sets of examples say so, which makes up for a loss that fell by little.
    """
    trained = [each for each in accuracies(run, "train") if len(each) >= limits.habit]
    held_out = [each for each in beside if is_accuracy(each.vital)]
    others = [each for each in beside if not is_accuracy(each.vital)]
    if (
        series.vital == "loss"
        or not trained
        or not held_out
        or not all(_unmoved(each, False, limits) for each in others)
    ):
        return False
    for each in held_out:
        values, counts = np.unique(each.values, return_counts=True)
        usual, often = float(values[int(np.argmax(counts))]), int(counts.max())
        digits = max(significant_digits(value) for value in values.tolist())
        if len(each) < limits.habit or often < limits.mostly * len(each) or usual < float(values[-1]) or digits < 3:
            return False
    for each in trained:
        third = max(1, len(each) // 3)
        gained = float(np.median(each.values[-third:]) - np.median(each.values[:third]))
        if gained >= limits.gain or float(np.median(each.values)) > limits.saturated:
            return False
    return True


def _nothing(curve: Outline, beside: Sequence[Series], limits: Limits) -> bool:
    """The loss is all but gone, and no score was ever far from zero. Not exact matches: one slip costs them all."""
    if not 0 <= curve.now < limits.gone * curve.start or min(map(len, beside)) < limits.fewest:
        return False
    highest = [float(each.values.max()) for each in beside]
    shares = [high / (full_score(each.vital, high) or math.nan) for each, high in zip(beside, highest, strict=True)]
    return not any(_is_exact(each) for each in beside) and all(share < limits.nothing for share in shares)


def _impossible(run: Run, series: Series, learned: bool, limits: Limits) -> bool:
    """The accuracies beside this loss are those of a guess, and it leaves no room for so many wrong answers."""
    if series.vital == "loss":
        return False
    losses = training_loss(run).finite()
    chance = known_chance(run.config) or (chance_level({}, float(losses.values[0])) if losses else None)
    beside = [each for each in accuracies(run) if each.owner == series.owner and len(each) >= limits.proof]
    if chance is None or not chance.classes or not beside:
        return False
    if not learned and not (losses and float(losses.values[0]) >= limits.began * chance.level):
        return False  # a loss on another scale (per class, focal) is as low as that from the start
    usual = max(float(np.median(each.values)) for each in beside)
    highest = max(float(each.values.max()) for each in beside)
    late = float(series.values[-max(1, len(series) // 3) :].max())
    return usual <= limits.luck / chance.classes and 0 < highest <= 1 - most_wrong(late) - limits.room
