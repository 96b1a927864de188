"""Signs that a flat loss is a bad one: a curve alone cannot tell a model that has learned from one that never will."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from bedside.analysis.accuracy_and_loss import accuracies, guess_level
from bedside.analysis.chance_levels import BESIDE
from bedside.analysis.losses import rewards, training_loss, validation_metrics
from bedside.analysis.schedule import schedule_is_over
from bedside.analysis.statistics import outline
from bedside.record.metric_direction import full_score, goes_up
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.wording import number

EPOCHS = 3.0  # passes over the data: memorising begins in the second, so a loss that did not move by then is stuck
ACCURACY = 0.1  # a model that is right less often than this after training knows next to nothing
LEARNING_RATE = 1e-7  # ten times below the lowest that published recipes use
UNTRAINED = 4.0  # nats: a model that is trained on, and may well stay where it was, begins below (language: 3.5)
PERPLEXITY = frozenset("ppl perplexity".split())
NO_WORDS = 6.5  # nats per word: the frequencies of words alone bring a model to 6 or 7 within some hundred steps
LONG = 1000  # steps: a warm-up may move little before
LEARNED = 0.05  # of its start: a loss that came down so far has learned what it asks for
UPDATE = 1e-7  # of a weight per step: a hundred thousand such steps change it by one percent
EVALUATIONS = 8  # that make a habit: of fewer, a half may repeat by chance
SAME_ANSWER = 0.4  # of the evaluations share one accuracy to the last digit: of a network that changes, a tenth do
ALWAYS = 0.9  # of the evaluations, from the very first on: no network that learns anything stays there
NEARLY_ALL = 0.98  # of all answers: whoever is always right on a few dozen examples repeats himself, too
FEW_RIGHT = 0.5  # of all answers: above it an accuracy may rest, and repeat, because the task is done
ERRORS = frozenset("wer cer".split())  # of words and characters: shares of what should have been said
STILL = 0.02  # of all answers: what some thousand examples scatter by
BLIND = 0.06  # of a full score, either side of what a blind guess has: what a few hundred examples scatter by
# How sure each sign makes us, from a level that is known to a mere habit: a loss may be new data, a rate a warm-up.
KNOWN_LEVEL, CONFIRMED_LEVEL, FAMILIAR_LEVEL = 0.95, 0.85, 0.8  # by settings, by an accuracy too, by the value alone
NO_STEPS, NO_SCORE, MANY_EPOCHS, WHOLE_SCHEDULE = 0.9, 0.8, 0.75, 0.7
# What a score is for a guess that knows nothing: correlations and shares of explained variance 0, areas a half.
BLIND_LEVELS = {0.0: frozenset("r2 pearson spearman spearmanr mcc matthews kappa correlation corr".split())}
BLIND_LEVELS[0.5] = frozenset("auc auroc roc".split())


@dataclass(frozen=True)
class Sign:
    """One sign in words, fit to follow a comma, and how sure it makes us."""

    text: str
    sure: float


def signs_of_ignorance(run: Run, now: float) -> list[Sign]:
    """What says that a loss of `now` is no good, strongest first; empty if nothing does."""
    signs: list[Sign] = []
    chance = guess_level(run, now)
    if chance is not None:
        sure = KNOWN_LEVEL if chance.known else CONFIRMED_LEVEL if chance.confirmed else FAMILIAR_LEVEL
        signs.append(Sign(f"which is chance ({chance})", sure))
    rate = run.series("lr").median()
    if rate <= LEARNING_RATE:
        signs.append(Sign(f"at a learning rate of {number(rate)}", NO_STEPS))
    update = run.series("relative_update_norm").median()
    if update < UPDATE:
        signs.append(Sign(f"with updates of {number(update)} of the weights", NO_STEPS))
    low = low_metric(run) or blind_score(run) or one_answer(run) or flat_accuracy(run)
    if low:
        signs.append(Sign(low, NO_SCORE))
    passes = epochs(run)
    if passes >= EPOCHS:
        signs.append(Sign(f"after {number(passes)} epochs", MANY_EPOCHS))
    if _in_words(run) and now >= NO_WORDS and run.axis == "step" and run.steps >= LONG:
        signs.append(Sign(f"a perplexity of {number(math.exp(min(now, 700.0)))}", MANY_EPOCHS))
    if schedule_is_over(run) and now >= UNTRAINED:
        signs.append(Sign("though its learning rate went all the way up and down", WHOLE_SCHEDULE))
    return sorted(signs, key=lambda sign: -sign.sure)


def flat_accuracy(run: Run) -> str:
    """`train/accuracy between 0.344 and 0.36`: answers that are mostly wrong, and no less often at the end."""
    for series in [*accuracies(run), *accuracies(run, "train")]:
        values = series.values
        if len(values) < EVALUATIONS or float(values.max()) >= FEW_RIGHT or float(np.ptp(values)) > STILL:
            continue
        third = len(values) // 3
        if float(np.median(values[-third:]) - np.median(values[:third])) < STILL / 4:
            return f"{series.key} between {number(float(values.min()))} and {number(float(values.max()))}"
    return ""


def _in_words(run: Run) -> bool:
    """Whether a perplexity was logged, so that the loss is nats per word or per piece of one."""
    return any(PERPLEXITY & set(re.split(r"[^a-z0-9]+", vital.lower())) for vital in run.vitals)


def low_metric(run: Run, most: float = ACCURACY) -> str:
    """`val/accuracy never above 0.001`, if no metric that should rise ever rose above `most` of a full score. Nothing
    beside a loss that is all but gone: then it is the metric that is wrong."""
    curve = training_loss(run).finite()
    if len(curve) and outline(curve).now < LEARNED * outline(curve).start:
        return ""
    measured = [each.finite() for each in validation_metrics(run) if each.finite()]
    measured = measured or [each for each in accuracies(run, "train") if len(each) >= EVALUATIONS]
    risen = [each for each in measured if goes_up(each.vital)]
    highest = [(each, float(each.values.max())) for each in risen if float(each.values.min()) >= 0]
    errors = [each for each in measured if ERRORS & set(re.split(r"[^a-z0-9]+", each.vital.lower()))]
    if not highest and errors and all(float(each.values.min()) >= (1 - most) * _all(each) for each in errors):
        return f"{errors[0].key} never below {number(float(errors[0].values.min()))}"
    shares = [(high / (full_score(each.vital, high) or 1.0), each.key, high) for each, high in highest]
    if not shares or max(shares)[0] >= most:
        return ""
    return f"{max(shares)[1]} never above {number(max(shares)[2])}"


def _all(errors: Series) -> float:
    """What an error rate is when every answer is wrong: 1, or 100 percent."""
    return 100.0 if float(errors.values.min()) > 2 else 1.0  # word error rates may exceed 1


def blind_score(run: Run) -> str:
    """`val/r2 never above 0.01`, if a score whose blind level is known never left it."""
    for series in [*validation_metrics(run), *rewards(run)]:
        values, words = series.finite().values, set(re.split(r"[^a-z0-9]+", series.vital.lower()))
        level = next((level for level, names in BLIND_LEVELS.items() if words & names), None)
        if level is None or len(values) < EVALUATIONS:
            continue
        if float(values.max()) <= level + BLIND and float(np.median(values)) <= level + BLIND / 2:
            return f"{series.key} never above {number(float(values.max()))}, where a blind guess has {number(level)}"
    return ""


def one_answer(run: Run) -> str:
    """`val/accuracy exactly 0.142 at 9 of 15 evaluations`: whatever it is asked, it names the same class."""
    for series in accuracies(run):
        values, counts = np.unique(series.values, return_counts=True)
        usual, often = float(values[int(np.argmax(counts))]), int(counts.max())
        third = max(1, len(series) // 3)
        rose = float(np.median(series.values[-third:])) > float(np.median(series.values[:third]))
        if len(series) < EVALUATIONS or often < SAME_ANSWER * len(series) or rose:
            continue
        always = often >= ALWAYS * len(series)  # of two balanced classes one: exactly a half, again and again
        if usual > 0 and (float(values.max()) < FEW_RIGHT or (always and usual == FEW_RIGHT == float(values.max()))):
            return f"{series.key} exactly {number(usual)} at {often} of {len(series)} evaluations"
    return ""


def only_frequencies(run: Run, loss: float) -> str:
    """`val/accuracy exactly 0.781 at all 40 evaluations`, where a mean cross-entropy of `loss` is no better than that
    of a network which knows how frequent the commonest class is, and names it whatever it is asked.

    A distribution whose largest share is p has at least the entropy of p and the rest.
    """
    for split in ("val", "train"):
        for series in accuracies(run, split):
            share = float(series.values[0])
            same = int((series.values == share).sum())
            if len(series) < EVALUATIONS or same < ALWAYS * len(series) or not FEW_RIGHT <= share < NEARLY_ALL:
                continue
            entropy = -share * math.log(share) - (1 - share) * math.log(1 - share)
            if loss >= (1 - BESIDE) * entropy:
                return f"{series.key} exactly {number(share, 4)} at {same} of {len(series)} evaluations"
    return ""


def epochs(run: Run) -> float:
    """How often the data went by, as far as the run shows."""
    if run.axis == "epoch":
        return float(run.steps)
    counted = run.series("epoch").finite()
    if counted:
        return float(counted.values.max() - counted.values.min())
    length = run.config.get("steps_per_epoch")
    if isinstance(length, (int, float)) and length >= 1:
        return run.steps / float(length)
    return float(len(run.events_of("epoch")))
