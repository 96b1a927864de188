"""The zoo: every specimen on one line, in the order of the house tour. A test compares this list with the folder."""

from __future__ import annotations

from bedside.errors import unknown_name
from bedside.zoo.specimen import Specimen
from bedside.zoo.specimens.accumulated_micro_batches import accumulated_micro_batches
from bedside.zoo.specimens.accumulation_not_divided import accumulation_not_divided
from bedside.zoo.specimens.accuracy_of_the_wrong_column import accuracy_of_the_wrong_column
from bedside.zoo.specimens.activation_forgotten import activation_forgotten
from bedside.zoo.specimens.augmentation_off import augmentation_off
from bedside.zoo.specimens.bad_batch import bad_batch
from bedside.zoo.specimens.balanced_gan import balanced_gan
from bedside.zoo.specimens.batch_of_two import batch_of_two
from bedside.zoo.specimens.batch_outliers import batch_outliers
from bedside.zoo.specimens.batchnorm_of_one import batchnorm_of_one
from bedside.zoo.specimens.broadcast_loss import broadcast_loss
from bedside.zoo.specimens.clipped_by_value import clipped_by_value
from bedside.zoo.specimens.clipping_scaled_gradients import clipping_scaled_gradients
from bedside.zoo.specimens.clipping_too_tight import clipping_too_tight
from bedside.zoo.specimens.collapsed_activations import collapsed_activations
from bedside.zoo.specimens.collapsed_attention import collapsed_attention
from bedside.zoo.specimens.cosine_per_epoch import cosine_per_epoch
from bedside.zoo.specimens.critic_without_bounds import critic_without_bounds
from bedside.zoo.specimens.dead_layer import dead_layer
from bedside.zoo.specimens.dead_relu import dead_relu
from bedside.zoo.specimens.decay_in_adam import decay_in_adam
from bedside.zoo.specimens.decay_too_strong import decay_too_strong
from bedside.zoo.specimens.decay_with_the_wrong_sign import decay_with_the_wrong_sign
from bedside.zoo.specimens.denoising_autoencoder import denoising_autoencoder
from bedside.zoo.specimens.detached_backbone import detached_backbone
from bedside.zoo.specimens.diverging_late import diverging_late
from bedside.zoo.specimens.double_softmax import double_softmax
from bedside.zoo.specimens.dropout_in_evaluation import dropout_in_evaluation
from bedside.zoo.specimens.early_nan_skipped import early_nan_skipped
from bedside.zoo.specimens.endless_warmup import endless_warmup
from bedside.zoo.specimens.epsilon_of_one import epsilon_of_one
from bedside.zoo.specimens.erratic_validation import erratic_validation
from bedside.zoo.specimens.evaluated_on_training_rows import evaluated_on_training_rows
from bedside.zoo.specimens.evaluating_in_train_mode import evaluating_in_train_mode
from bedside.zoo.specimens.evaluating_with_gradients import evaluating_with_gradients
from bedside.zoo.specimens.exploding_depth import exploding_depth
from bedside.zoo.specimens.exploding_recurrence import exploding_recurrence
from bedside.zoo.specimens.fine_tuning_staircase import fine_tuning_staircase
from bedside.zoo.specimens.frozen_norm_trunk import frozen_norm_trunk
from bedside.zoo.specimens.frozen_on_purpose import frozen_on_purpose
from bedside.zoo.specimens.future_leaks import future_leaks
from bedside.zoo.specimens.grokking import grokking
from bedside.zoo.specimens.growing_activations import growing_activations
from bedside.zoo.specimens.head_not_in_optimizer import head_not_in_optimizer
from bedside.zoo.specimens.head_too_loud import head_too_loud
from bedside.zoo.specimens.heavy_dropout import heavy_dropout
from bedside.zoo.specimens.held_out_classes_renumbered import held_out_classes_renumbered
from bedside.zoo.specimens.hundred_examples import hundred_examples
from bedside.zoo.specimens.label_in_the_input import label_in_the_input
from bedside.zoo.specimens.label_smoothing import label_smoothing
from bedside.zoo.specimens.labels_torn_from_inputs import labels_torn_from_inputs
from bedside.zoo.specimens.late_overshoot import late_overshoot
from bedside.zoo.specimens.layers_in_a_list import layers_in_a_list
from bedside.zoo.specimens.learnable_scale import learnable_scale
from bedside.zoo.specimens.learning_rate_1e_6 import learning_rate_1e_6
from bedside.zoo.specimens.learning_rate_drop import learning_rate_drop
from bedside.zoo.specimens.learning_rate_ten import learning_rate_ten
from bedside.zoo.specimens.lopsided_labels import lopsided_labels
from bedside.zoo.specimens.loss_scale_collapse import loss_scale_collapse
from bedside.zoo.specimens.metric_upside_down import metric_upside_down
from bedside.zoo.specimens.missing_warmup import missing_warmup
from bedside.zoo.specimens.mixup import mixup
from bedside.zoo.specimens.nan_exp_overflow import nan_exp_overflow
from bedside.zoo.specimens.nan_fp16_overflow import nan_fp16_overflow
from bedside.zoo.specimens.nan_from_module_four import nan_from_module_four
from bedside.zoo.specimens.nan_from_steps_too_long import nan_from_steps_too_long
from bedside.zoo.specimens.nan_in_place import nan_in_place
from bedside.zoo.specimens.nan_in_the_data import nan_in_the_data
from bedside.zoo.specimens.nan_log_of_zero import nan_log_of_zero
from bedside.zoo.specimens.nan_sqrt_of_zero import nan_sqrt_of_zero
from bedside.zoo.specimens.nan_zero_over_zero import nan_zero_over_zero
from bedside.zoo.specimens.never_thawed import never_thawed
from bedside.zoo.specimens.no_shuffling import no_shuffling
from bedside.zoo.specimens.no_zero_grad import no_zero_grad
from bedside.zoo.specimens.one_cycle import one_cycle
from bedside.zoo.specimens.one_feature_in_thousands import one_feature_in_thousands
from bedside.zoo.specimens.oscillating_loss import oscillating_loss
from bedside.zoo.specimens.overconfident import overconfident
from bedside.zoo.specimens.overfitting_uncured import overfitting_uncured
from bedside.zoo.specimens.padding_in_the_loss import padding_in_the_loss
from bedside.zoo.specimens.policy_gradient import policy_gradient
from bedside.zoo.specimens.preference_loss import preference_loss
from bedside.zoo.specimens.ranks_disagree import ranks_disagree
from bedside.zoo.specimens.ranks_see_same_data import ranks_see_same_data
from bedside.zoo.specimens.rate_1e_7 import rate_1e_7
from bedside.zoo.specimens.rate_of_zero_for_the_backbone import rate_of_zero_for_the_backbone
from bedside.zoo.specimens.rate_one import rate_one
from bedside.zoo.specimens.relu_on_the_logits import relu_on_the_logits
from bedside.zoo.specimens.reward_turned_round import reward_turned_round
from bedside.zoo.specimens.same_batch_again import same_batch_again
from bedside.zoo.specimens.saturated_head import saturated_head
from bedside.zoo.specimens.saturated_tanh import saturated_tanh
from bedside.zoo.specimens.schedule_ended_early import schedule_ended_early
from bedside.zoo.specimens.scheduler_before_optimizer import scheduler_before_optimizer
from bedside.zoo.specimens.scheduler_never_stepped import scheduler_never_stepped
from bedside.zoo.specimens.scheduler_per_batch import scheduler_per_batch
from bedside.zoo.specimens.scheduler_per_epoch import scheduler_per_epoch
from bedside.zoo.specimens.searched_training_rows import searched_training_rows
from bedside.zoo.specimens.sigmoid_for_prices import sigmoid_for_prices
from bedside.zoo.specimens.softmax_over_the_batch import softmax_over_the_batch
from bedside.zoo.specimens.stale_checkpoint_evaluated import stale_checkpoint_evaluated
from bedside.zoo.specimens.stale_optimizer import stale_optimizer
from bedside.zoo.specimens.step_before_backward import step_before_backward
from bedside.zoo.specimens.stopped_early import stopped_early
from bedside.zoo.specimens.summed_divergence import summed_divergence
from bedside.zoo.specimens.summed_loss import summed_loss
from bedside.zoo.specimens.swallowed_bf16_updates import swallowed_bf16_updates
from bedside.zoo.specimens.symmetric_units import symmetric_units
from bedside.zoo.specimens.targets_not_shifted import targets_not_shifted
from bedside.zoo.specimens.ten_sigmoid_layers import ten_sigmoid_layers
from bedside.zoo.specimens.textbook import textbook
from bedside.zoo.specimens.trained_to_the_bottom import trained_to_the_bottom
from bedside.zoo.specimens.training_in_eval_mode import training_in_eval_mode
from bedside.zoo.specimens.unbounded_likelihood import unbounded_likelihood
from bedside.zoo.specimens.underfitting import underfitting
from bedside.zoo.specimens.underflowing_second_moment import underflowing_second_moment
from bedside.zoo.specimens.validation_scaled_otherwise import validation_scaled_otherwise
from bedside.zoo.specimens.warm_restart import warm_restart
from bedside.zoo.specimens.weights_overwritten import weights_overwritten

ZOO: tuple[Specimen, ...] = (
    # four failures that every course has
    learning_rate_ten,
    learning_rate_1e_6,
    hundred_examples,
    ten_sigmoid_layers,
    # the comparison with other monitors
    rate_one,
    rate_1e_7,
    nan_from_module_four,
    dead_layer,
    head_not_in_optimizer,
    no_zero_grad,
    bad_batch,
    # loss curves
    diverging_late,
    oscillating_loss,
    underfitting,
    labels_torn_from_inputs,
    relu_on_the_logits,
    label_in_the_input,
    future_leaks,
    unbounded_likelihood,
    critic_without_bounds,
    no_shuffling,
    batch_of_two,
    double_softmax,
    # generalisation
    overfitting_uncured,
    overconfident,
    validation_scaled_otherwise,
    stale_checkpoint_evaluated,
    accuracy_of_the_wrong_column,
    metric_upside_down,
    erratic_validation,
    # gradients
    learnable_scale,
    exploding_recurrence,
    exploding_depth,
    clipping_too_tight,
    detached_backbone,
    layers_in_a_list,
    saturated_head,
    # updates and weights
    rate_of_zero_for_the_backbone,
    swallowed_bf16_updates,
    late_overshoot,
    decay_too_strong,
    decay_with_the_wrong_sign,
    weights_overwritten,
    # activations
    dead_relu,
    saturated_tanh,
    collapsed_activations,
    growing_activations,
    symmetric_units,
    collapsed_attention,
    # schedules
    missing_warmup,
    schedule_ended_early,
    scheduler_per_batch,
    scheduler_never_stepped,
    endless_warmup,
    scheduler_before_optimizer,
    # the loop
    training_in_eval_mode,
    evaluating_in_train_mode,
    evaluating_with_gradients,
    step_before_backward,
    accumulation_not_divided,
    stale_optimizer,
    clipping_scaled_gradients,
    # data
    one_feature_in_thousands,
    same_batch_again,
    lopsided_labels,
    broadcast_loss,
    batch_outliers,
    # numerics: each source of a NaN
    nan_in_the_data,
    nan_log_of_zero,
    nan_zero_over_zero,
    nan_sqrt_of_zero,
    nan_exp_overflow,
    nan_fp16_overflow,
    nan_from_steps_too_long,
    nan_in_place,
    loss_scale_collapse,
    underflowing_second_moment,
    # ranks
    ranks_see_same_data,
    ranks_disagree,
    # healthy runs that look sick
    textbook,
    grokking,
    warm_restart,
    mixup,
    fine_tuning_staircase,
    early_nan_skipped,
    policy_gradient,
    preference_loss,
    balanced_gan,
    learning_rate_drop,
    augmentation_off,
    summed_loss,
    label_smoothing,
    frozen_on_purpose,
    stopped_early,
    heavy_dropout,
    one_cycle,
    accumulated_micro_batches,
    denoising_autoencoder,
    summed_divergence,
    clipped_by_value,
    activation_forgotten,
    held_out_classes_renumbered,
    evaluated_on_training_rows,
    batchnorm_of_one,
    decay_in_adam,
    dropout_in_evaluation,
    epsilon_of_one,
    head_too_loud,
    never_thawed,
    padding_in_the_loss,
    reward_turned_round,
    sigmoid_for_prices,
    softmax_over_the_batch,
    targets_not_shifted,
    # healthy, and like one of the faults
    frozen_norm_trunk,
    trained_to_the_bottom,
    cosine_per_epoch,
    searched_training_rows,
    scheduler_per_epoch,
)


def find_specimen(word: str) -> Specimen:
    """The specimen of this name, with dashes or underscores."""
    wanted = word.strip().lower().replace("_", "-")
    for each in ZOO:
        if each.name == wanted:
            return each
    raise unknown_name("specimen", word, [each.name for each in ZOO], try_="bedside zoo list")


__all__ = ["ZOO", "find_specimen"]
