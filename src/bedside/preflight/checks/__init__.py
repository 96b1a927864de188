"""The catalogue: every check on one line, in code order. A test compares this list with the folder."""

from __future__ import annotations

from bedside.preflight.base import Check
from bedside.preflight.checks.disjoint_splits import disjoint_splits
from bedside.preflight.checks.finite_batches import finite_batches
from bedside.preflight.checks.gradients_everywhere import gradients_everywhere
from bedside.preflight.checks.initial_loss import initial_loss
from bedside.preflight.checks.learning_rate import learning_rate
from bedside.preflight.checks.loss_falls import loss_falls
from bedside.preflight.checks.loss_fits_output import loss_fits_output
from bedside.preflight.checks.memorises_one_batch import memorises_one_batch
from bedside.preflight.checks.normalised_inputs import normalised_inputs
from bedside.preflight.checks.optimizer_covers_parameters import optimizer_covers_parameters
from bedside.preflight.checks.output_fits_target import output_fits_target
from bedside.preflight.checks.state_survives_saving import state_survives_saving
from bedside.preflight.checks.still_validation import still_validation
from bedside.preflight.checks.targets_in_range import targets_in_range
from bedside.preflight.checks.train_mode import train_mode

CATALOGUE: tuple[Check, ...] = (
    output_fits_target,
    loss_fits_output,
    targets_in_range,
    initial_loss,
    loss_falls,
    memorises_one_batch,
    finite_batches,
    normalised_inputs,
    disjoint_splits,
    still_validation,
    gradients_everywhere,
    optimizer_covers_parameters,
    state_survives_saving,
    learning_rate,
    train_mode,
)
