"""The catalogue: every rule on one line, in code order. A test compares this list with the folder."""

from __future__ import annotations

from bedside.errors import unknown_name
from bedside.rules.accumulating_gradient import accumulating_gradient
from bedside.rules.constant_loss import constant_loss
from bedside.rules.dead_layer import dead_layer
from bedside.rules.diverging_loss import diverging_loss
from bedside.rules.dominant_module import dominant_module
from bedside.rules.epoch_boundary_jump import epoch_boundary_jump
from bedside.rules.erratic_validation import erratic_validation
from bedside.rules.exploding_gradient import exploding_gradient
from bedside.rules.frozen_validation import frozen_validation
from bedside.rules.gradient_always_clipped import gradient_always_clipped
from bedside.rules.loss_at_chance import loss_at_chance
from bedside.rules.loss_spike import loss_spike
from bedside.rules.noisy_loss import noisy_loss
from bedside.rules.nonfinite_gradient import nonfinite_gradient
from bedside.rules.nonfinite_loss import nonfinite_loss
from bedside.rules.oscillating_loss import oscillating_loss
from bedside.rules.overfitting import overfitting
from bedside.rules.oversized_update import oversized_update
from bedside.rules.rule import Rule, rule
from bedside.rules.runaway_weights import runaway_weights
from bedside.rules.silent_parameter import silent_parameter
from bedside.rules.stale_optimizer import stale_optimizer
from bedside.rules.stalled_loss import stalled_loss
from bedside.rules.still_falling import still_falling
from bedside.rules.stuck_from_start import stuck_from_start
from bedside.rules.suspiciously_perfect import suspiciously_perfect
from bedside.rules.unbounded_negative_loss import unbounded_negative_loss
from bedside.rules.uncovered_parameter import uncovered_parameter
from bedside.rules.undersized_update import undersized_update
from bedside.rules.vanished_learning_rate import vanished_learning_rate
from bedside.rules.vanishing_gradient import vanishing_gradient

CATALOGUE: tuple[Rule, ...] = (
    nonfinite_loss,
    nonfinite_gradient,
    diverging_loss,
    loss_at_chance,
    stuck_from_start,
    stalled_loss,
    constant_loss,
    oscillating_loss,
    loss_spike,
    epoch_boundary_jump,
    noisy_loss,
    still_falling,
    suspiciously_perfect,
    unbounded_negative_loss,
    overfitting,
    frozen_validation,
    erratic_validation,
    vanishing_gradient,
    exploding_gradient,
    gradient_always_clipped,
    silent_parameter,
    dominant_module,
    accumulating_gradient,
    dead_layer,
    oversized_update,
    undersized_update,
    runaway_weights,
    vanished_learning_rate,
    uncovered_parameter,
    stale_optimizer,
)


def find_rule(word: str, catalogue: tuple[Rule, ...] = CATALOGUE) -> Rule:
    """The rule with this code or name, in any case, with dashes or underscores."""
    wanted = word.strip().lower().replace("_", "-")
    for each in catalogue:
        if wanted in (each.code.lower(), each.name):
            return each
    names = [each.code for each in catalogue] + [each.name for each in catalogue]
    raise unknown_name("rule", word, names, try_="bedside rules")


__all__ = ["CATALOGUE", "Rule", "find_rule", "rule"]
