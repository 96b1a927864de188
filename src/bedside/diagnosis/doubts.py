"""What keeps a run in which nothing was found from being healthy: each doubt says what is missing, and what would
settle it. `verdict.py` takes the first one that holds.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from bedside.analysis.chance_levels import sits_on_a_guess
from bedside.analysis.held_out_since import held_out_went_on
from bedside.analysis.losses import SCORE, is_opposed, validation_losses
from bedside.analysis.schedule import planned_steps, warming_up
from bedside.analysis.untrained_signs import blind_score
from bedside.analysis.way import way
from bedside.diagnosis.learned import Curve, Learned
from bedside.diagnosis.more_to_win import behind_a_simple_model, ended_too_soon
from bedside.record.vocabulary import LR
from bedside.rules.advice import moment
from bedside.wording import capital, listed, number, percent, plural

RECONSTRUCTION = re.compile(r"(?:^|[^a-z])recon")


@dataclass(frozen=True)
class Verdict:
    """`word` is sick, healthy or unclear; `settled_by` says what would settle an unclear one."""

    word: str
    reason: str
    settled_by: str = ""


@dataclass(frozen=True)
class Limits:
    covered: float = 0.8  # of the run: a loss that ends before says nothing about the rest
    by_heart: float = 0.05  # of its start: a training loss this low leaves nothing to be learned
    held_out: float = 0.5  # of its first level: a validation loss still above it did not follow the training
    other_scale: float = 10.0  # times a blind guess: a sum over tokens or a weighted loss has a level of its own
    likely: float = 0.5  # an explanation that is more likely than not
    fell: float = 0.2  # of its level: a training loss that fell this much while validation did not follow
    barely: float = 0.1  # of its first level: training from scratch wins more, and so does what can be fine-tuned
    late: float = 0.1  # of what was won: a curve that still wins this much is only slow
    epochs: int = 10  # readings of each curve
    empty: float = 1e-3  # nats: a code that answers anything carries a tenth or more, even in each of its dimensions
    even: float = 0.9  # of the pace of the whole run: a curve that has not bent is nowhere near its end
    on_the_way: float = 0.4  # of a blind guess: a finished run still above it, at full pace, was cut short
    rates: int = 20  # readings of the learning rate, as for endless-warmup: fewer may be its first minutes


def _too_little(learned: Learned, limits: Limits) -> Verdict | None:
    """Too few readings of anything that should improve."""
    if learned.every:
        return None
    readings, least = len(learned.run.loss), learned.limits
    if not learned.meant_to_fall:
        run = learned.run
        players = len(run.owners("loss")) > 1 or run.config.get("objective") == SCORE or is_opposed(run)
        log = "a distance of what it makes from the data: monitor.log(fid=…)" if players else "monitor.log(reward=…)"
        return Verdict(
            "unclear",
            "The loss of this run is not meant to fall, and no score was logged that is meant to rise.",
            f"Log what should improve{',' if players else ':'} {log}.",
        )
    parts = [vital.removeprefix("part/") for vital in learned.run.vitals if vital.startswith("part/")]
    if len(parts) > 1 and not readings:
        return Verdict(
            "unclear",
            f"There are losses of parts or players ({listed(parts)}) and none of the whole: their levels do not say "
            "how well the run goes.",
            "Log the total loss, or a score that should improve, such as the FID of what a generator makes.",
        )
    evaluated = max((len(each.finite()) for each in validation_losses(learned.run)), default=0)
    had = f"{plural(readings, 'reading')} of the loss" if readings else plural(evaluated, "evaluation")
    had = had if readings or evaluated else "no loss"
    return Verdict(
        "unclear",
        f"Too little was recorded to judge: {had}.",
        f"{least.readings} readings of the loss, or {least.evaluations} evaluations.",
    )


def _not_covered(learned: Learned, limits: Limits) -> Verdict | None:
    """What was logged only for the first part of a run says nothing about the rest."""
    run, steps = learned.run, learned.run.steps
    last = max(each.series.last_step for each in learned.every)
    if last >= limits.covered * (steps - 1):
        return None
    return Verdict(
        "unclear",
        f"The last loss or score was logged at {moment(run, last)} of {number(steps - 1)}.",
        "Log the loss, or evaluate, until the end.",
    )


def _nothing_learned(learned: Learned, limits: Limits) -> Verdict | None:
    """No curve is clearly better at the end than at the start."""
    if any(each.improved for each in learned.every) or _below_guess(learned):
        return None
    curve = learned.every[0]
    moved = f"{curve.key} went from {number(curve.shown(curve.first))} to {number(curve.shown(curve.now))}"
    by = "less than its noise" if curve.won > learned.limits.gain else f"not by {percent(learned.limits.gain)} better"
    return Verdict(
        "unclear",
        f"Nothing shows that it learned: {moved}, {by}.",
        "Evaluate the untrained network beside the trained one, or train on 32 examples until the loss is near zero.",
    )


def _barely_learned(learned: Learned, limits: Limits) -> Verdict | None:
    """Epochs that won next to nothing, all of it in the first ones: a network that is dead may do so."""
    losses = [each for each in [learned.training, *learned.held_out] if each is not None]
    if not _in_epochs(learned) or not losses or any(each.improved for each in learned.metrics):
        return None
    for each in losses:
        half = each.outline.values[len(each.outline.values) // 2 :]
        late = float(half[0] - half.min()) > limits.late * max(each.first - each.now, 0.0)
        if each.won >= limits.barely or late or len(each.series) < limits.epochs or _below_guess(learned):
            return None
    curve = losses[0]
    return Verdict(
        "unclear",
        f"{capital(curve.key)} won only {percent(max(curve.won, 0.0))} ({number(curve.first)} to {number(curve.now)}), "
        "and nothing in the second half.",
        "Train on 32 examples until the loss is near zero; if it does not get there, look at data, rate and loss.",
    )


def _in_epochs(learned: Learned) -> bool:
    """Whether every reading of the loss is that of an epoch: the log says so, or each was followed by an evaluation."""
    training = learned.training
    evaluated = [len(each.series) for each in learned.held_out]
    return learned.run.axis == "epoch" or (training is not None and len(training.series) in evaluated)


def _below_guess(learned: Learned) -> bool:
    """Whether a loss is clearly below that of a blind guess, which is known."""
    losses = [each for each in [learned.training, *learned.held_out] if each is not None]
    level = learned.chance.level if learned.chance else -math.inf  # a loss may be negative, too
    return any(each.now < (1 - learned.limits.below_guess) * level for each in losses)


def _a_guess(learned: Learned, limits: Limits) -> Verdict | None:
    """A loss or an accuracy that is still that of a blind guess."""
    for series, guess in learned.guessed_accuracies():
        best = number(float(series.values.max()))
        return Verdict(
            "unclear",
            f"{series.key} was never above {best}, where a blind guess has {number(guess)}.",
            "Evaluate a few hundred training examples the same way: if they are at chance too, look at the evaluation.",
        )
    if blind := blind_score(learned.run):
        return Verdict(
            "unclear",
            f"{capital(blind)}.",
            "Compare its answers with the mean of the targets, and standardise the targets if they are large.",
        )
    if (coin := learned.coin()) is not None:
        return Verdict(
            "unclear",
            f"{coin.key} was between {number(float(coin.values.min()))} and {number(float(coin.values.max()))} at all "
            f"{len(coin)} evaluations, which tossing a coin would give.",
            "Compare its answers with the share of the commonest class, and log a score that is meant for this task.",
        )
    chance = learned.chance
    losses = [each for each in [*learned.held_out[:1], learned.training] if each is not None]
    for each in losses:
        beside = sits_on_a_guess(learned.run.config, each.now)
        if beside is not None and each.best > (1 - learned.limits.below_guess) * beside.level:
            return Verdict(
                "unclear",
                f"{each.key} is at {number(each.now)}, that of a blind guess ({beside}), and was never clearly below.",
                "Train on 32 examples until the loss is near zero; if it does not get there, it is the data or loss.",
            )
    if chance is not None and not chance.classes and learned.metric_improved:
        return None  # a loss in units of its own, beside a held-out error that came down
    for each in losses if chance is not None else ():
        comparable = chance is not None and each.best < limits.other_scale * chance.level
        if chance is not None and comparable and each.best > (1 - learned.limits.below_guess) * chance.level:
            return Verdict(
                "unclear",
                f"{each.key} was never clearly below that of a blind guess ({chance}): its best was "
                f"{number(each.best)}.",
                "Train on 32 examples until the loss is near zero; if it does not get there, look at data and loss.",
            )
    return _hardly_a_guess(learned)


def _hardly_right(learned: Learned, limits: Limits) -> Verdict | None:
    """A loss that fell, and answers that are nearly all wrong and no less so at the end."""
    if not (flat := learned.hardly_right()) or _below_guess(learned):
        return None
    return Verdict("unclear", f"{capital(flat)}, whatever the loss did.", "Evaluate a few training examples by hand.")


def _hardly_a_guess(learned: Learned) -> Verdict | None:
    """Nobody said how many classes there are; loss and accuracy began as those of a guess, and no loss went far."""
    chance = learned.apparent_chance
    losses = [each for each in [*learned.held_out[:1], learned.training] if each is not None]
    below = (1 - learned.limits.below_guess) * chance.level if chance else 0.0
    if chance is None or any(min(each.best, each.now) < below for each in losses[:1]):
        return None
    first = losses[0]
    return Verdict(
        "unclear",
        f"{capital(first.key)} was never clearly below that of a blind guess among {chance.classes:,} classes "
        f"({chance}): its best was {number(first.best)}.",
        "Compare its accuracy with the share of the commonest class, and train on 32 examples until the loss is near "
        "zero.",
    )


def _more_to_win(learned: Learned, limits: Limits) -> Verdict | None:
    """There was more to be had, by a simple model or by going on."""
    told = behind_a_simple_model(learned.run) or ended_too_soon(learned.run)
    return None if told is None else Verdict("unclear", *told)


def _not_held_out(learned: Learned, limits: Limits) -> Verdict | None:
    """Training goes well, and held-out data show nothing of it."""
    training = learned.training
    if training is None or learned.metric_improved:
        return None
    for each in learned.held_out[:1]:
        if each.now <= training.now:
            continue  # nothing to follow
        since = training.series.since(each.series.first_step)
        fell = Curve(since, learned.limits, turned=False).won if len(since) else training.won
        if not each.was_better and fell > limits.fell:
            clearly = "clearly " if each.now < float(each.series.values[0]) else ""
            return Verdict(
                "unclear",
                f"{each.key} was never {clearly}better than at its first evaluation "
                f"({number(each.series.values[0])}, now {number(each.now)}), while the training loss fell to "
                f"{number(training.now)}.",
                "Evaluate as many training examples the same way: near the training loss it is learning by heart, "
                "near the validation loss it is the evaluation.",
            )
        known = training.first > 0 and training.now < limits.by_heart * training.first
        if known and each.now - training.now > limits.held_out * abs(float(each.series.values[0])):
            return Verdict(
                "unclear",
                f"The training data are known by heart (loss {number(training.now)}), and {each.key} is still "
                f"{number(each.now)}.",
                "Log a score beside the validation loss, and stop at its best evaluation.",
            )
    return None


def _lost_again(learned: Learned, limits: Limits) -> Verdict | None:
    """It ends far from its own best."""
    for each in learned.every:
        excused = each in learned.held_out and learned.metrics_went_on(each)
        excused = excused or (each is learned.training and held_out_went_on(learned.run, each.best_step))
        if each.lost and not excused:
            return Verdict(
                "unclear",
                f"{each.key} ends at {number(each.shown(each.now))}; its best was {number(each.shown(each.best))} at "
                f"{moment(learned.run, each.best_step)}.",
                "Keep the weights of the best evaluation, and train on from there to see whether it happens again.",
            )
    return None


def _contradicts_itself(learned: Learned, limits: Limits) -> Verdict | None:
    """Evaluations that differ by so much from one to the next that it is luck which of them was the last."""
    if (curve := learned.contradicting()) is None:
        return None
    return Verdict(
        "unclear",
        f"{curve.key} jumps from {number(curve.lowest)} to {number(curve.highest)}; the training loss does not.",
        "Evaluate one checkpoint twice, on two halves of the validation set, and in training mode.",
    )


def _training_rose(learned: Learned, limits: Limits) -> Verdict | None:
    """Held-out data improve, and the training loss ends above where it began: it is not the curve of one task."""
    training = learned.training
    if training is None or training.now <= training.first or _below_guess(learned):
        return None
    return Verdict(
        "unclear",
        f"The training loss ends at {number(training.now)}, above its first level of {number(training.first)}.",
        "See whether the training data are shuffled, and evaluate a few hundred training examples in evaluation mode.",
    )


def _empty_code(learned: Learned, limits: Limits) -> Verdict | None:
    """A variational model whose code tells nothing of its input: its reconstructions can only be all alike."""
    run = learned.run
    names = [vital for vital in run.vitals if {"kl", "kld"} & set(re.split(r"[^a-z0-9]+", vital.lower()))]
    if not any(RECONSTRUCTION.search(vital) for vital in run.vitals):
        return None
    for series in (run.series(vital).finite() for vital in names if vital.startswith(("train/", "part/"))):
        if len(series) >= limits.epochs and 0 <= (now := series.median(limits.epochs)) < limits.empty:
            return Verdict(
                "unclear",
                f"{series.key} is down to {number(now, 2)}: the code tells next to nothing of the input.",
                "Reconstruct ten different inputs: if the answers are alike, give the divergence a smaller weight, and "
                "raise it slowly.",
            )
    return None


def _cut_short(learned: Learned, limits: Limits) -> Verdict | None:
    """A run that has ended while its loss fell as fast along its way as ever, far from anything good."""
    training, chance = learned.training, learned.chance
    if training is None or chance is None or training.now < limits.on_the_way * chance.level:
        return None
    found = way(learned.run, training.series)
    if not learned.run.finished or found is None or found.evenness < limits.even:
        return None
    return Verdict(
        "unclear",
        f"The run ended while the loss was falling as fast as ever, at {number(training.now)} "
        f"({percent(training.now / chance.level)} of a blind guess, {chance.what}).",
        "Train several times as long, or with a higher learning rate, and see where it comes to rest.",
    )


def _still_warming_up(learned: Learned, limits: Limits) -> Verdict | None:
    """The learning rate rose from the first reading to the last, and nobody says how long the run was meant to be."""
    run = learned.run
    rates = run.series(LR.name).finite()
    if planned_steps(run) or len(rates) < limits.rates or not warming_up(run):
        return None
    return Verdict(
        "unclear",
        f"The learning rate was still rising at the last reading ({number(rates.last)} at "
        f"{moment(run, rates.last_step)}).",
        "Say how many steps were planned (max_steps): a warm-up takes 1 to 10 % of them.",
    )


DOUBTS: tuple[Callable[[Learned, Limits], Verdict | None], ...] = (
    _too_little,
    _not_covered,
    _nothing_learned,
    _barely_learned,
    _a_guess,
    _more_to_win,
    _hardly_right,
    _not_held_out,
    _lost_again,
    _contradicts_itself,
    _training_rose,
    _empty_code,
    _cut_short,
    _still_warming_up,
)
