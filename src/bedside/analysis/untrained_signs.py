"""Signs that a flat loss is a bad one: a curve alone cannot tell a model that has learned from one that never will."""

from __future__ import annotations

from dataclasses import dataclass

from bedside.analysis.accuracy_and_loss import guess_level
from bedside.analysis.losses import training_loss, validation_metrics
from bedside.analysis.schedule import schedule_is_over
from bedside.analysis.statistics import outline
from bedside.record.metric_direction import full_score, goes_up
from bedside.record.run import Run
from bedside.wording import number

EPOCHS = 3.0  # passes over the data: memorising begins in the second, so a loss that did not move by then is stuck
ACCURACY = 0.1  # a model that is right less often than this after training knows next to nothing
LEARNING_RATE = 1e-7  # ten times below the lowest that published recipes use
UNTRAINED = 4.0  # nats: a model that is trained on, and may well stay where it was, begins below (language: 3.5)
LEARNED = 0.05  # of its start: a loss that came down so far has learned what it asks for
UPDATE = 1e-7  # of a weight per step: a hundred thousand such steps change it by one percent


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
        signs.append(Sign(f"which is chance ({chance})", 0.95 if chance.known else 0.85 if chance.confirmed else 0.8))
    rate = run.series("lr").median()
    if rate <= LEARNING_RATE:
        signs.append(Sign(f"at a learning rate of {number(rate)}", 0.9))
    update = run.series("relative_update_norm").median()
    if update < UPDATE:
        signs.append(Sign(f"with updates of {number(update)} of the weights", 0.9))
    low = low_metric(run)
    if low:
        signs.append(Sign(low, 0.8))
    passes = epochs(run)
    if passes >= EPOCHS:
        signs.append(Sign(f"after {number(passes)} epochs", 0.75))
    if schedule_is_over(run) and now >= UNTRAINED:
        signs.append(Sign("though its learning rate went all the way up and down", 0.7))
    return sorted(signs, key=lambda sign: -sign.sure)


def low_metric(run: Run, most: float = ACCURACY) -> str:
    """`val/accuracy never above 0.001`, if no metric that should rise ever rose above `most` of a full score. Nothing
    beside a loss that is all but gone: then it is the metric that is wrong."""
    curve = training_loss(run).finite()
    if len(curve) and outline(curve).now < LEARNED * outline(curve).start:
        return ""
    risen = [each.finite() for each in validation_metrics(run) if goes_up(each.vital) and each.finite()]
    highest = [(each, float(each.values.max())) for each in risen if float(each.values.min()) >= 0]
    shares = [(high / (full_score(each.vital, high) or 1.0), each.key, high) for each, high in highest]
    if not shares or max(shares)[0] >= most:
        return ""
    return f"{max(shares)[1]} never above {number(max(shares)[2])}"


def epochs(run: Run) -> float:
    """How often the data went by, as far as the run shows."""
    if run.axis == "epoch":
        return float(run.steps)
    counted = run.series("epoch").finite()
    if counted:
        return float(counted.values.max() - counted.values.min())
    return float(len(run.events_of("epoch")))
