"""The training loss does not move, or no further. Steps too small, steps too large, no gradient, or nothing to learn?

Published advice has it thus: gradients near zero in all layers with a tiny learning rate point at the schedule, zeros
at the front alone at vanished gradients or dead units; and when gradients and steps look healthy, what is learned from
or what learns is to blame. The test that settles it is to learn one batch by heart at a fresh learning rate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bedside.analysis.chance_levels import chance_level
from bedside.analysis.losses import training_loss
from bedside.analysis.progress import share_of_loss_won
from bedside.diagnosis.hypotheses.evidence import Symptom, shares, symptom, usual
from bedside.diagnosis.hypotheses.weights import DECISIVE, HINT, STRONG, Cause, Sign, weighed
from bedside.finding import Differential, Finding
from bedside.record.run import Run
from bedside.wording import listed, number, percent, plural

SYMPTOMS = ("stuck-from-start", "loss-at-chance", "stalled-loss", "constant-loss", "underfitting")


@dataclass(frozen=True)
class Limits:
    early: float = 0.1  # of the run: "the first steps"
    small: float = 1e-6  # of the weights per step: published guidance for updates that do nothing
    enough: float = 1e-5  # of the weights per step: ten times that
    large: float = 1e-2  # of the weights per step: published guidance for updates that are too large
    wrecking: float = 0.1  # of the weights in one step: ten such steps replace them
    tiny_rate: float = 1e-7  # ten times below the lowest that published recipes use
    usual_rate: float = 1e-4  # what published recipes use at least
    leapt: float = 1.5  # times the first loss: the first steps made it worse
    silent: float = 1e-4  # of the largest module's gradient: this part hardly takes part
    half: float = 0.5  # of the modules, or of a layer's units
    learned: float = 0.2  # of the first loss, or of a blind guess's, was won: there is something to learn


LIMITS = Limits()


def stuck_loss(run: Run, found: Sequence[Finding]) -> Differential | None:
    stuck = symptom(run, found, SYMPTOMS)
    if stuck is None or not (hypotheses := weighed(CAUSES, stuck, stuck.others)):
        return None
    return Differential("Why does the loss not fall?", stuck.onset, hypotheses, about=stuck.finding.code)


def _too_small(stuck: Symptom) -> Iterator[Sign]:
    update, rate = usual(stuck.run, "relative_update_norm", 0), usual(stuck.run, "lr", 0)
    if update < LIMITS.small:
        yield Sign(f"a step changes the weights by {number(update)} of their norm", STRONG)
    elif update > LIMITS.enough:
        yield Sign(f"a step changes the weights by {number(update)} of their norm, which is enough", -STRONG)
    if rate <= LIMITS.tiny_rate:
        yield Sign(f"the learning rate is {number(rate)}", STRONG)
    elif math.isnan(update) and rate >= LIMITS.usual_rate:
        yield Sign(f"the learning rate is {number(rate)}, within the usual range", -HINT)


def _too_large(stuck: Symptom) -> Iterator[Sign]:
    early = int(LIMITS.early * stuck.run.steps)
    updates = stuck.run.series("relative_update_norm").finite().before(early + 1)
    if updates:
        largest = float(updates.values.max())
        if largest > LIMITS.wrecking:
            yield Sign(f"an early step changed the weights by {percent(largest)}", STRONG)
        elif largest < LIMITS.large:
            yield Sign(f"no early step changed the weights by more than {number(largest)} of their norm", -STRONG)
    losses = training_loss(stuck.run).finite()
    start = losses.before(early + 1).values
    if len(start) > 1 and start[0] > 0:
        if start.max() > LIMITS.leapt * start[0]:
            yield Sign(f"the loss leapt from {number(start[0])} to {number(start.max())} in the first steps", STRONG)
        else:
            yield Sign(f"the first steps did not raise the loss ({number(start[0])})", -HINT)


def _no_gradient(stuck: Symptom) -> Iterator[Sign]:
    overall = usual(stuck.run, "grad_norm", 0)
    if overall == 0:
        yield Sign("the gradient is exactly zero", DECISIVE)
    parts = shares(stuck.run, 0, stuck.run.steps)
    silent = [owner for owner, share in parts.items() if share < LIMITS.silent]
    if parts and len(silent) >= LIMITS.half * len(parts):
        yield Sign(f"{listed(silent, most=3)} get less than {LIMITS.silent:g} of the largest module's gradient", STRONG)
    elif parts and not silent:
        yield Sign("every module gets a gradient of the same order", -STRONG)
    dead = {each.owner: each.median() for each in stuck.run.of("dead_fraction")}
    if dead and max(dead.values()) > LIMITS.half:
        worst = max(dead, key=lambda owner: dead[owner])
        yield Sign(f"{percent(dead[worst])} of the units of {worst} are dead", STRONG)


def _not_connected(stuck: Symptom) -> Iterator[Sign]:
    trained = [each for each in stuck.run.parameters if each.trainable]
    if not trained:
        return
    outside = [each.name for each in trained if not each.in_optimizer]
    silent = [each.name for each in trained if each.watched_steps and not each.gradient_steps]
    if outside:
        yield Sign(f"no optimizer holds {listed(outside, most=3)}", DECISIVE)
    if silent:
        yield Sign(f"{listed(silent, most=3)} never got a gradient", DECISIVE)
    if not outside and not silent and all(each.watched_steps for each in trained):
        what = plural(len(trained), "trainable tensor")
        yield Sign(f"the optimizer holds all {what}, and each of them gets gradients", -STRONG)


def _nothing_to_learn(stuck: Symptom) -> Iterator[Sign]:
    won = share_of_loss_won(stuck.run)
    if won > LIMITS.learned:
        yield Sign(f"{percent(won)} of the loss was won: there is something to learn", -DECISIVE)
    losses = training_loss(stuck.run).finite()
    chance = chance_level(stuck.run.config, losses.median()) if losses else None
    if chance is not None:
        yield Sign(f"the loss is that of a blind guess ({chance})", HINT)
    yield from _steps_and_gradients_are_sound(stuck)
    if stuck.alarm("constant-loss"):
        yield Sign("the loss is the same number every time, whatever the labels", -STRONG)


def _held_back(stuck: Symptom) -> Iterator[Sign]:
    won = share_of_loss_won(stuck.run)
    if won > LIMITS.learned:
        yield Sign(f"{percent(won)} of the loss was won before it stopped", STRONG)
    elif won <= LIMITS.learned:
        yield Sign(f"only {percent(won)} of the loss was won", -STRONG)
    yield from _steps_and_gradients_are_sound(stuck)


def _steps_and_gradients_are_sound(stuck: Symptom) -> Iterator[Sign]:
    update = usual(stuck.run, "relative_update_norm", 0)
    if LIMITS.enough < update < LIMITS.large:
        yield Sign(f"steps are of a healthy size ({number(update)} of the weights)", HINT)
    parts = shares(stuck.run, 0, stuck.run.steps)
    if parts and min(parts.values()) >= LIMITS.silent:
        yield Sign("every module gets a gradient of the same order", HINT)


CAUSES = (
    Cause(
        "steps-too-small",
        "steps too small to get anywhere",
        _too_small,
        "lr-range-test",
        ("undersized-update", "vanished-learning-rate", "schedule-ended-early", "scheduler-per-batch"),
    ),
    Cause(
        "steps-too-large",
        "first steps that destroyed the initialisation",
        _too_large,
        "lr-range-test",
        ("oversized-update",),
    ),
    Cause(
        "no-gradient",
        "dead units or vanished gradients",
        _no_gradient,
        "overfit-one-batch",
        ("dead-layer", "vanishing-gradient", "dead-units", "saturated-units"),
    ),
    Cause(
        "not-connected",
        "weights that the optimizer or the loss does not reach",
        _not_connected,
        "overfit-one-batch",
        ("uncovered-parameter", "silent-parameter", "stale-optimizer", "step-without-gradient", "never-stepped"),
    ),
    Cause("nothing-to-learn", "labels that do not belong to their inputs", _nothing_to_learn, "overfit-one-batch"),
    Cause("held-back", "a network too small, or held back by dropout or weight decay", _held_back, "overfit-one-batch"),
)
