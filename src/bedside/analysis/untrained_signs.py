"""Signs that a flat loss is a bad one: a curve alone cannot tell a model that has learned from one that never will."""

from __future__ import annotations

from dataclasses import dataclass

from bedside.analysis.chance_levels import chance_level
from bedside.analysis.losses import validation_metrics
from bedside.record.metric_direction import goes_up
from bedside.record.run import Run
from bedside.wording import number

EPOCHS = 3.0  # passes over the data: memorising begins in the second, so a loss that did not move by then is stuck
ACCURACY = 0.1  # a model that is right less often than this after training knows next to nothing
LEARNING_RATE = 1e-7  # ten times below the lowest that published recipes use
UPDATE = 1e-7  # of a weight per step: a hundred thousand such steps change it by one percent


@dataclass(frozen=True)
class Sign:
    """One sign in words, fit to follow a comma, and how sure it makes us."""

    text: str
    sure: float


def signs_of_ignorance(run: Run, now: float) -> list[Sign]:
    """What says that a loss of `now` is no good, strongest first; empty if nothing does."""
    signs: list[Sign] = []
    chance = chance_level(run.config, now)
    if chance is not None:
        signs.append(Sign(f"which is chance ({chance})", 0.95 if chance.known else 0.8))
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
    return sorted(signs, key=lambda sign: -sign.sure)


def low_metric(run: Run, most: float = ACCURACY) -> str:
    """`val/accuracy never above 0.001`, if no metric that should rise ever rose above `most`; else nothing."""
    highest = {
        metric.key: float(metric.finite().values.max())
        for metric in validation_metrics(run)
        if goes_up(metric.vital) and metric.finite() and metric.finite().values.min() >= 0
    }
    if not highest or max(highest.values()) >= most:
        return ""
    key = max(highest, key=lambda name: highest[name])
    return f"{key} never above {number(highest[key])}"


def epochs(run: Run) -> float:
    """How often the data went by, as far as the run shows."""
    if run.axis == "epoch":
        return float(run.steps)
    counted = run.series("epoch").finite()
    if counted:
        return float(counted.values.max() - counted.values.min())
    return float(len(run.events_of("epoch")))
