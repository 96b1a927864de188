"""The catalogue: every rule on one line, in code order. A test compares this list with the folder."""

from __future__ import annotations

from bedside.errors import unknown_name
from bedside.rules.accumulating_gradient import accumulating_gradient
from bedside.rules.amplified_step import amplified_step
from bedside.rules.bad_batch import bad_batch
from bedside.rules.base import Rule, rule
from bedside.rules.broadcast_loss import broadcast_loss
from bedside.rules.category_gap import category_gap
from bedside.rules.clipping_scaled_gradients import clipping_scaled_gradients
from bedside.rules.collapsed_activations import collapsed_activations
from bedside.rules.collapsed_attention import collapsed_attention
from bedside.rules.collapsed_reconstruction import collapsed_reconstruction
from bedside.rules.constant_loss import constant_loss
from bedside.rules.damped_step import damped_step
from bedside.rules.dead_layer import dead_layer
from bedside.rules.dead_units import dead_units
from bedside.rules.decay_outweighs_gradient import decay_outweighs_gradient
from bedside.rules.diverging_loss import diverging_loss
from bedside.rules.dominant_module import dominant_module
from bedside.rules.endless_warmup import endless_warmup
from bedside.rules.epoch_boundary_jump import epoch_boundary_jump
from bedside.rules.erratic_validation import erratic_validation
from bedside.rules.evaluating_in_train_mode import evaluating_in_train_mode
from bedside.rules.evaluating_with_gradients import evaluating_with_gradients
from bedside.rules.exploding_gradient import exploding_gradient
from bedside.rules.extreme_input import extreme_input
from bedside.rules.faded_gradient import faded_gradient
from bedside.rules.frozen_learning_rate import frozen_learning_rate
from bedside.rules.frozen_untrained import frozen_untrained
from bedside.rules.frozen_validation import frozen_validation
from bedside.rules.gap_from_start import gap_from_start
from bedside.rules.gradient_always_clipped import gradient_always_clipped
from bedside.rules.growing_activations import growing_activations
from bedside.rules.heavy_dropout import heavy_dropout
from bedside.rules.identical_views import identical_views
from bedside.rules.idle_clipping import idle_clipping
from bedside.rules.inputs_differ import inputs_differ
from bedside.rules.late_overshoot import late_overshoot
from bedside.rules.leaked_answer import leaked_answer
from bedside.rules.learning_rate_leap import learning_rate_leap
from bedside.rules.linear_network import linear_network
from bedside.rules.lopsided_labels import lopsided_labels
from bedside.rules.loss_at_chance import loss_at_chance
from bedside.rules.loss_scale_collapse import loss_scale_collapse
from bedside.rules.loss_spike import loss_spike
from bedside.rules.loss_without_accuracy import loss_without_accuracy
from bedside.rules.lost_progress import lost_progress
from bedside.rules.lost_rank import lost_rank
from bedside.rules.metric_loss_disagreement import metric_loss_disagreement
from bedside.rules.mismatched_loss import mismatched_loss
from bedside.rules.misread_validation import misread_validation
from bedside.rules.missing_warmup import missing_warmup
from bedside.rules.mixed_samples import mixed_samples
from bedside.rules.never_stepped import never_stepped
from bedside.rules.no_learning_rate import no_learning_rate
from bedside.rules.no_validation import no_validation
from bedside.rules.noisy_loss import noisy_loss
from bedside.rules.nonfinite_activation import nonfinite_activation
from bedside.rules.nonfinite_gradient import nonfinite_gradient
from bedside.rules.nonfinite_input import nonfinite_input
from bedside.rules.nonfinite_loss import nonfinite_loss
from bedside.rules.nonfinite_weights import nonfinite_weights
from bedside.rules.nothing_generalises import nothing_generalises
from bedside.rules.oscillating_gradient import oscillating_gradient
from bedside.rules.oscillating_loss import oscillating_loss
from bedside.rules.overconfident import overconfident
from bedside.rules.overfitting import overfitting
from bedside.rules.oversized_update import oversized_update
from bedside.rules.padded_targets import padded_targets
from bedside.rules.ranks_disagree import ranks_disagree
from bedside.rules.ranks_see_same_data import ranks_see_same_data
from bedside.rules.repeated_batches import repeated_batches
from bedside.rules.runaway_weights import runaway_weights
from bedside.rules.saturated_units import saturated_units
from bedside.rules.schedule_ended_early import schedule_ended_early
from bedside.rules.scheduler_before_optimizer import scheduler_before_optimizer
from bedside.rules.scheduler_per_batch import scheduler_per_batch
from bedside.rules.seen_before import seen_before
from bedside.rules.shrinking_weights import shrinking_weights
from bedside.rules.silent_parameter import silent_parameter
from bedside.rules.single_sample_batchnorm import single_sample_batchnorm
from bedside.rules.stale_momentum import stale_momentum
from bedside.rules.stale_optimizer import stale_optimizer
from bedside.rules.stale_statistics import stale_statistics
from bedside.rules.stalled_loss import stalled_loss
from bedside.rules.step_without_gradient import step_without_gradient
from bedside.rules.still_falling import still_falling
from bedside.rules.stochastic_evaluation import stochastic_evaluation
from bedside.rules.straggling_rank import straggling_rank
from bedside.rules.stuck_from_start import stuck_from_start
from bedside.rules.stuck_reward import stuck_reward
from bedside.rules.suspiciously_perfect import suspiciously_perfect
from bedside.rules.swallowed_updates import swallowed_updates
from bedside.rules.symmetric_units import symmetric_units
from bedside.rules.training_in_eval_mode import training_in_eval_mode
from bedside.rules.unbalanced_loss_parts import unbalanced_loss_parts
from bedside.rules.unbounded_negative_loss import unbounded_negative_loss
from bedside.rules.uncovered_parameter import uncovered_parameter
from bedside.rules.underfitting import underfitting
from bedside.rules.underflowing_second_moment import underflowing_second_moment
from bedside.rules.undersized_update import undersized_update
from bedside.rules.unfinished_schedule import unfinished_schedule
from bedside.rules.unmatched_noise import unmatched_noise
from bedside.rules.unmoved_parameter import unmoved_parameter
from bedside.rules.unnormalised_input import unnormalised_input
from bedside.rules.unreachable_target import unreachable_target
from bedside.rules.unscaled_accumulation import unscaled_accumulation
from bedside.rules.validation_below_training import validation_below_training
from bedside.rules.vanished_learning_rate import vanished_learning_rate
from bedside.rules.vanishing_gradient import vanishing_gradient
from bedside.rules.weight_jump import weight_jump
from bedside.rules.worse_than_guess import worse_than_guess
from bedside.rules.worsening_metric import worsening_metric
from bedside.rules.wrong_initial_loss import wrong_initial_loss

CATALOGUE: tuple[Rule, ...] = (
    nonfinite_loss,
    nonfinite_gradient,
    nonfinite_weights,
    loss_scale_collapse,
    swallowed_updates,
    nonfinite_activation,
    underflowing_second_moment,
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
    lost_progress,
    wrong_initial_loss,
    unbalanced_loss_parts,
    overfitting,
    underfitting,
    gap_from_start,
    frozen_validation,
    overconfident,
    loss_without_accuracy,
    validation_below_training,
    erratic_validation,
    no_validation,
    metric_loss_disagreement,
    category_gap,
    nothing_generalises,
    worsening_metric,
    heavy_dropout,
    worse_than_guess,
    stuck_reward,
    vanishing_gradient,
    exploding_gradient,
    gradient_always_clipped,
    silent_parameter,
    dominant_module,
    oscillating_gradient,
    accumulating_gradient,
    dead_layer,
    faded_gradient,
    idle_clipping,
    oversized_update,
    undersized_update,
    late_overshoot,
    unmoved_parameter,
    amplified_step,
    damped_step,
    stale_momentum,
    decay_outweighs_gradient,
    runaway_weights,
    shrinking_weights,
    weight_jump,
    dead_units,
    saturated_units,
    collapsed_activations,
    growing_activations,
    collapsed_attention,
    symmetric_units,
    collapsed_reconstruction,
    linear_network,
    missing_warmup,
    schedule_ended_early,
    unfinished_schedule,
    vanished_learning_rate,
    frozen_learning_rate,
    endless_warmup,
    scheduler_per_batch,
    no_learning_rate,
    learning_rate_leap,
    training_in_eval_mode,
    evaluating_in_train_mode,
    evaluating_with_gradients,
    step_without_gradient,
    scheduler_before_optimizer,
    clipping_scaled_gradients,
    unscaled_accumulation,
    uncovered_parameter,
    stale_optimizer,
    never_stepped,
    mismatched_loss,
    stochastic_evaluation,
    single_sample_batchnorm,
    frozen_untrained,
    stale_statistics,
    nonfinite_input,
    extreme_input,
    unnormalised_input,
    repeated_batches,
    lopsided_labels,
    bad_batch,
    broadcast_loss,
    leaked_answer,
    unreachable_target,
    inputs_differ,
    mixed_samples,
    padded_targets,
    misread_validation,
    seen_before,
    unmatched_noise,
    identical_views,
    ranks_see_same_data,
    ranks_disagree,
    straggling_rank,
    lost_rank,
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
