"""One part of the loss drowns the other: a sum is added to a mean, or one of two players wins.

## What it sees
A loss that adds a part summed over the batch to one that is averaged over it, and outputs that no longer depend on the
input. Or a discriminator whose loss is gone, beside a generator whose loss only grows. Or two players neither of whom
loses anything any more. Or several tasks on one trunk, of which one never learns; or all of which are given up, by
weights that are learned along with them. Or a density whose stretching counts many times as much as the square that is
stretched. Or a random code whose divergence from the prior counts for nothing, or for everything.

## Why it matters
One element of the sum counts as much as thousands of the mean. The optimizer sees to the sum first, and where that asks
for a code that says nothing (the KL of a variational autoencoder), nothing is left to reconstruct from. A discriminator
that is always right has no gradient to teach by. A squared error of prices counts millions where a cross-entropy counts
one, and the layers that both share become what the price needs. And weights that cost nothing are learned to be zero:
the cheapest way to a small loss. What is stretched by a factor is thinner by that factor: a flow that sums the
logarithms of its scales and averages the squares of its codes gains by spreading them for ever. Codes that lie far
outside the prior cannot be drawn from it.

## How it decides
The graph of the loss says how each part is reduced, over how many elements, and with which constant weight. One element
of the heaviest part counts `heavier` times as much as one of the lightest, and the reconstruction has collapsed. In a
log, two losses are those of two players if their names say so (`d_loss` and `g_loss`): in the last quarter the
discriminator's is below `won` of its first level, the generator's above `lost` times its own, and no score (FID) got
better since the first half. Of a density, the logarithm of a scale must count as much as the square it stretches: it
counts as many times more or less as a sample has numbers, which is one mean among sums. Of a code, one dimension of the
divergence counts less than `nothing` of one number that is reconstructed, and its means are `outside` times as large as
the prior is wide; or it counts `heavier` times as much, and in the second half of the run no mean varies by more than
`empty`. Where both are below `won` of their first levels, they do not play against each other: what
one wins in a game, the other loses.

## When it is wrong
A penalty that is meant to win.

## What to try
1. Reduce both parts alike: `reduction="sum"` for both, divided by the number of samples.
2. Bring targets to one scale (mean 0, spread 1), so that tasks count alike.
3. Slow the discriminator down: a smaller learning rate, fewer steps, smoothed labels, noise on what it sees.

## Example
>>> from bedside.record.run import Event
>>> from bedside.testing import a_run
>>> error = {"made_by": "MseLoss", "reduction": "mean", "elements": 4096, "weight": 1.0, "per_element": 1 / 4096}
>>> kl = {"made_by": "Mul", "reduction": "sum", "elements": 384, "weight": 1.0, "per_element": 1.0}
>>> parts = Event(0, "loss_terms", {"terms": [error, kl]})
>>> print(*unbalanced_loss_parts.check(a_run(loss=0.07, reconstruction_variation=0.02, events=[parts])))
LOS115 unbalanced-loss-parts: The loss adds a sum over 384 elements to a mean over 4,096: one element of the sum counts 4,096 times as much, and reconstructions are all alike.

## References
- Kingma and Welling (2014), Auto-encoding variational Bayes: both terms are sums over the same samples.
"""  # noqa: E501 (the example is what it prints)

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bedside.analysis.losses import rewards, validation_metrics
from bedside.analysis.reconstruction import collapsed_reconstruction_series
from bedside.analysis.statistics import outline
from bedside.analysis.tasks import Task, tasks
from bedside.analysis.windows import since_below
from bedside.errors import NotEnough
from bedside.finding import Advice, Finding, Severity
from bedside.record.metric_direction import goes_up
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import LOSS, RECONSTRUCTION_VARIATION
from bedside.rules.advice import LEARNING_RATE, moment
from bedside.rules.base import rule
from bedside.wording import count, listed, number

DISCRIMINATOR = frozenset("d disc discriminator critic dis".split())
GENERATOR = frozenset("g gen generator".split())


@dataclass(frozen=True)
class Limits:
    heavier: float = 30.0  # times per element: the specimen has 410, its healthy twin 47; collapse decides between them
    nothing: float = 1e-3  # of a reconstructed number: a code may cost far less than a likelihood asks, but not this
    outside: float = 3.0  # σ of the prior: codes that any divergence holds have about one
    empty: float = 0.1  # of the prior's width: a code that varies by less carries 0.005 nats
    steps: int = 200  # codes are empty before training, too
    readings: int = 12  # of either player's loss: four quarters of three
    won: float = 0.05  # of its first level, ln 2 or twice that: it is wrong about one image in thirty
    lost: float = 3.0  # times its first level: healthy generators end at two to five, beside a D that errs
    better: float = 0.1  # of a score's level: images that still improve excuse any balance
    share: float = 1 / 30  # of another task, at the start: standardised targets and cross-entropies are within 10
    unlearned: float = 0.9  # of its start: any task that is heard at all is below it soon
    learned: float = 0.5  # of its start: the other is no longer at its beginning
    shrunk: float = 30.0  # times: noise of the tasks and a fair price for certainty change the ratio by a few
    unsolved: float = 0.2  # of what the tasks were together: a solved one needs no weight
    first: int = 5  # readings of the loss that show where it began
    long: int = 100  # steps: a task may begin late


@rule("LOS115", severity=Severity.WARNING, needs=[], limits=Limits())
def unbalanced_loss_parts(run: Run, limits: Limits) -> Iterator[Finding]:
    if players := _players(run, limits):
        yield from _one_wins(run, *players, limits)
        yield from _both_win(run, *players, limits)
        return
    if several := tasks(run):
        yield from _one_is_drowned(run, several, limits)
        yield from _all_given_up(run, several, limits)
    events = run.events_of("loss_terms")
    if found := _stretched(run) or _set_free(run, limits) or _empties_the_code(run, limits):
        yield found
        return
    if not run.has(RECONSTRUCTION_VARIATION.name):
        if several:
            return
        raise NotEnough(RECONSTRUCTION_VARIATION.name)
    if not events:
        return
    terms = sorted(events[-1].data["terms"], key=lambda term: term["per_element"])
    light, heavy = terms[0], terms[-1]
    if not light["per_element"] > 0 or heavy["per_element"] < limits.heavier * light["per_element"]:
        return
    if collapsed_reconstruction_series(run) is None:
        return
    times = heavy["per_element"] / light["per_element"]
    yield unbalanced_loss_parts.finding(
        f"The loss adds a {_said(heavy)} elements to a {_said(light)}: one element of the {heavy['reduction']} counts "
        f"{count(round(times))} times as much, and reconstructions are all alike.",
        first_step=0,
        last_step=max(run.steps - 1, 0),
        confidence=0.9,
        evidence={"parts": [{name: term[name] for name in ("reduction", "elements", "weight")} for term in terms]},
        series=[LOSS.name, RECONSTRUCTION_VARIATION.name],
        could_also_be=("A penalty that is meant to win.",),
        try_=(
            'Reduce both parts alike: reduction="sum" for both, and divide the loss by the number of samples.',
            f"Or multiply the {heavy['reduction']} over {count(heavy['elements'])} elements by {number(1 / times, 1)}.",
        ),
    )


def _stretched(run: Run) -> Finding | None:
    """Logarithms of scales that are summed where squares are averaged, or the other way round."""
    for event in run.events_of("stretching")[:1]:
        weight, numbers = float(event.data["weight"]), int(event.data["numbers"])
        more, less = math.isclose(weight, numbers, rel_tol=1e-3), math.isclose(weight * numbers, 1, rel_tol=1e-3)
        if numbers < 2 or not (more or less):
            return None
        summed, averaged = ("log-determinant", "base density") if more else ("base density", "log-determinant")
        return unbalanced_loss_parts.finding(
            f"The {summed} is summed over the {count(numbers)} numbers of a sample and the {averaged} is averaged over "
            f"them: the one counts {count(numbers)} times as much as the other, and the loss is no likelihood.",
            first_step=0,
            last_step=max(run.steps - 1, 0),
            confidence=0.9,
            evidence=dict(event.data),
            series=[LOSS.name],
            try_=(
                "Sum both over the numbers of a sample, log_prob(z).sum(1) + log_det, and average over samples only.",
            ),
        )
    return None


def _set_free(run: Run, limits: Limits) -> Finding | None:
    """A code whose divergence counts for nothing, and which went far away from the prior."""
    for event in run.events_of("code_divergence")[-1:]:
        weight, size = float(event.data["weight"]), float(event.data["size"])
        if weight < limits.nothing and size > limits.outside:
            return unbalanced_loss_parts.finding(
                f"One dimension of the code's divergence counts {number(weight, 2)} times as much as one reconstructed "
                f"number, and the code's means are {number(size, 2)} times as large as the prior is wide: what is "
                "drawn from the prior is no code.",
                first_step=0,
                last_step=max(run.steps - 1, 0),
                confidence=0.85,
                evidence=dict(event.data),
                series=[LOSS.name],
                could_also_be=("An autoencoder that is not meant to draw new samples.",),
                try_=("Sum both over the numbers of a sample, and average over the samples only: kl.sum(1).mean().",),
            )
    return None


def _empties_the_code(run: Run, limits: Limits) -> Finding | None:
    """A divergence that weighs far more than what is reconstructed, and a code that tells nothing any more."""
    for event in run.events_of("code_divergence")[-1:]:
        weight, varies = float(event.data["weight"]), float(event.data["varies"])
        late = event.step >= max(limits.steps, (run.steps - 1) / 2)
        if late and weight >= limits.heavier and varies < limits.empty:
            return unbalanced_loss_parts.finding(
                f"One dimension of the code's divergence counts {count(round(weight))} times as much as one "
                f"reconstructed number, and the code tells nothing of its input (it varies by {number(varies, 2)} of "
                "the prior's width).",
                first_step=0,
                last_step=max(run.steps - 1, 0),
                confidence=0.9,
                evidence=dict(event.data),
                series=[LOSS.name],
                could_also_be=("A penalty that is meant to win.",),
                try_=(
                    "Sum both over the numbers of a sample, and average over the samples only: a weight of one.",
                    f"Or multiply the divergence by {number(1 / weight, 1)}.",
                ),
            )
    return None


def _players(run: Run, limits: Limits) -> tuple[Series, Series] | None:
    """The losses of a discriminator and of its generator, by their names."""
    found: list[Series | None] = [None, None]
    for vital in run.vitals:
        words = set(re.split(r"[^a-z]+", vital.lower())) - {"part", "train", "total", "loss", ""}
        for place, names in enumerate((DISCRIMINATOR, GENERATOR)):
            if words and words <= names and len(series := run.series(vital).finite()) >= limits.readings:
                found[place] = series
    return (found[0], found[1]) if found[0] is not None and found[1] is not None else None


def _both_win(run: Run, judge: Series, forger: Series, limits: Limits) -> Iterator[Finding]:
    """A game in which nobody loses: the generator was given the discriminator's own aim."""
    if min(float(judge.values.min()), float(forger.values.min())) < 0:
        return
    starts = outline(judge).start, outline(forger).start
    late = [each.tail(max(3, len(each) // 4)).median() for each in (judge, forger)]
    if any(now > limits.won * start for now, start in zip(late, starts, strict=True)):
        return
    yield unbalanced_loss_parts.finding(
        f"Both players win: {judge.key} went from {number(starts[0])} to {number(late[0])} and {forger.key} from "
        f"{number(starts[1])} to {number(late[1])}. In a game one loses what the other wins: the generator is paid for "
        "being found out, or is not judged by this discriminator.",
        first_step=max(since_below(judge, limits.won * starts[0]), since_below(forger, limits.won * starts[1])),
        last_step=judge.last_step,
        confidence=0.9,
        evidence={"discriminator": [starts[0], late[0]], "generator": [starts[1], late[1]]},
        series=[judge.key, forger.key],
        could_also_be=("Two networks that learn two tasks, and are no players at all.",),
        try_=(
            "Train the generator on the label of real samples: bce(critic(fake), ones).",
            "Look at ten samples side by side with real ones.",
        ),
    )


def _one_wins(run: Run, judge: Series, forger: Series, limits: Limits) -> Iterator[Finding]:
    """The discriminator is always right, and the generator learns nothing from it."""
    if min(float(judge.values.min()), float(forger.values.min())) < 0:
        return  # a critic without a scale
    starts = outline(judge).start, outline(forger).start
    late = [each.tail(max(3, len(each) // 4)).median() for each in (judge, forger)]
    if late[0] > limits.won * starts[0] or late[1] < limits.lost * starts[1]:
        return
    for score in [*rewards(run), *validation_metrics(run)]:
        values = score.finite().values if goes_up(score.vital) else -score.finite().values
        half = len(values) // 2
        if half and float(values[half:].max() - values[:half].max()) > limits.better * abs(float(values[:half].max())):
            return
    step = since_below(judge, limits.won * starts[0])
    yield unbalanced_loss_parts.finding(
        f"{judge.key} went from {number(starts[0])} to {number(late[0])} and stays there since {moment(run, step)}, "
        f"while {forger.key} went from {number(starts[1])} to {number(late[1])}: the discriminator wins, and the "
        "generator gets nothing to learn from.",
        first_step=step,
        last_step=judge.last_step,
        confidence=0.85,
        evidence={"discriminator": [starts[0], late[0]], "generator": [starts[1], late[1]]},
        series=[judge.key, forger.key],
        could_also_be=("A generator that makes one image only: look at ten samples side by side.",),
        try_=(
            Advice("Divide the discriminator's learning rate by four, or step it less often.", LEARNING_RATE, -1),
            "Smooth its labels to 0.9, add noise to what it sees, or penalise its gradient (R1).",
        ),
    )


def _one_is_drowned(run: Run, several: Sequence[Task], limits: Limits) -> Iterator[Finding]:
    """One task is so much larger than another that the trunk they share serves it alone."""
    known = [(task, abs(task.weight) * task.start) for task in several if task.weight]
    if len(known) < len(several) or run.steps < limits.long:
        return
    large, counts = max(known, key=lambda each: each[1])
    if not large.end < limits.learned * large.start:
        return
    for task, its_own in known:
        if 0 < its_own < limits.share * counts and task.end > limits.unlearned * task.start:
            yield unbalanced_loss_parts.finding(
                f"One task drowns another: {large.name} began at {number(counts)} and {task.name} at "
                f"{number(its_own)}. The first learned (now {number(large.end / large.start * counts)}), the other "
                f"never did: it is at {number(task.end / task.start * its_own)}.",
                first_step=0,
                last_step=task.series.last_step,
                confidence=0.9,
                evidence={"large": [large.start, large.end], "small": [task.start, task.end]},
                series=[large.series.key, task.series.key, LOSS.name],
                could_also_be=(
                    f"A task that cannot be learned: look at the targets of {task.name} beside their samples.",
                ),
                try_=(
                    f"Bring the targets of {large.name} to mean 0 and spread 1, with numbers from the training set.",
                    f"Or give it a weight of about {number(its_own / counts, 1)}, and watch both losses by themselves.",
                ),
            )


def _all_given_up(run: Run, several: Sequence[Task], limits: Limits) -> Iterator[Finding]:
    """The loss falls because the learned weights of its tasks do."""
    losses = run.loss.finite()
    late = losses.since(several[0].series.tail(len(several[0].series) // 4).first_step)
    together, now = (sum(task.start for task in several), sum(task.end for task in several))
    if not all(task.learned for task in several) or run.steps < limits.long or not late or late.values.min() <= 0:
        return
    before, after = losses.head(limits.first).median(), late.median()
    if now < limits.unsolved * together or after * together * limits.shrunk > before * now:
        return
    yield unbalanced_loss_parts.finding(
        f"The loss went from {number(before)} to {number(after)}, the tasks that it is made of only from "
        f"{listed([f'{number(task.start)} to {number(task.end)} ({task.name})' for task in several])}: the weights "
        "that are learned along with them go to zero, which costs nothing, and nothing else is learned any more.",
        first_step=0,
        last_step=losses.last_step,
        confidence=0.95,
        evidence={"loss": [before, after], "tasks": {task.name: [task.start, task.end] for task in several}},
        series=[LOSS.name, *(task.series.key for task in several)],
        could_also_be=("Weights that a schedule takes to zero.",),
        try_=(
            "Make uncertainty cost: exp(-log_var) * part + log_var, summed over the parts (with a half for each).",
            "Or weigh the parts by constants.",
        ),
    )


def _said(term: dict[str, object]) -> str:
    return f"{term['reduction']} over {count(int(str(term['elements'])))}"
