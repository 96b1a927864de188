"""The catalogue: every check on one line, in code order. A test compares this list with the folder."""

from __future__ import annotations

from bedside.preflight.check import Check
from bedside.preflight.checks.batchnorm_statistics import batchnorm_statistics
from bedside.preflight.checks.beats_blind_guess import beats_blind_guess
from bedside.preflight.checks.causal import causal
from bedside.preflight.checks.deterministic_evaluation import deterministic_evaluation
from bedside.preflight.checks.disjoint_splits import disjoint_splits
from bedside.preflight.checks.finite_batches import finite_batches
from bedside.preflight.checks.finite_loss import finite_loss
from bedside.preflight.checks.frozen_parameters import frozen_parameters
from bedside.preflight.checks.gradients_everywhere import gradients_everywhere
from bedside.preflight.checks.independent_samples import independent_samples
from bedside.preflight.checks.initial_loss import initial_loss
from bedside.preflight.checks.label_balance import label_balance
from bedside.preflight.checks.last_batch import last_batch
from bedside.preflight.checks.learning_rate import learning_rate
from bedside.preflight.checks.loader_speed import loader_speed
from bedside.preflight.checks.loss_falls import loss_falls
from bedside.preflight.checks.loss_fits_output import loss_fits_output
from bedside.preflight.checks.memorises_one_batch import memorises_one_batch
from bedside.preflight.checks.memory_forecast import memory_forecast
from bedside.preflight.checks.mixed_precision import mixed_precision
from bedside.preflight.checks.new_order_each_epoch import new_order_each_epoch
from bedside.preflight.checks.no_near_duplicates import no_near_duplicates
from bedside.preflight.checks.normalised_inputs import normalised_inputs
from bedside.preflight.checks.optimizer_covers_parameters import optimizer_covers_parameters
from bedside.preflight.checks.output_fits_target import output_fits_target
from bedside.preflight.checks.outputs_differ import outputs_differ
from bedside.preflight.checks.overfits_32_examples import overfits_32_examples
from bedside.preflight.checks.same_scale import same_scale
from bedside.preflight.checks.schedule_fits_run import schedule_fits_run
from bedside.preflight.checks.shuffled_training import shuffled_training
from bedside.preflight.checks.signal_propagation import signal_propagation
from bedside.preflight.checks.state_survives_saving import state_survives_saving
from bedside.preflight.checks.still_validation import still_validation
from bedside.preflight.checks.targets_in_range import targets_in_range
from bedside.preflight.checks.train_mode import train_mode
from bedside.preflight.checks.updates_arrive import updates_arrive
from bedside.preflight.checks.weight_decay_targets import weight_decay_targets
from bedside.preflight.checks.worker_seeds import worker_seeds

CATALOGUE: tuple[Check, ...] = (
    output_fits_target,
    loss_fits_output,
    targets_in_range,
    initial_loss,
    loss_falls,
    memorises_one_batch,
    overfits_32_examples,
    beats_blind_guess,
    finite_loss,
    finite_batches,
    normalised_inputs,
    disjoint_splits,
    no_near_duplicates,
    same_scale,
    still_validation,
    label_balance,
    gradients_everywhere,
    optimizer_covers_parameters,
    frozen_parameters,
    weight_decay_targets,
    state_survives_saving,
    learning_rate,
    updates_arrive,
    train_mode,
    independent_samples,
    outputs_differ,
    causal,
    deterministic_evaluation,
    batchnorm_statistics,
    signal_propagation,
    shuffled_training,
    new_order_each_epoch,
    worker_seeds,
    last_batch,
    loader_speed,
    schedule_fits_run,
    mixed_precision,
    memory_forecast,
)
