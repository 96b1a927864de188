"""The vitals: what each number is, and at which moment of the loop it is read.

Where a number is read changes the number (an optimizer's pre-hook sees gradients after clipping), so every
vital states its moment. Names are what practitioners already plot; `validation` metrics a user logs are
named `val/<metric>` and need no entry here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Vital:
    """One thing that can be read from a run."""

    name: str
    moment: str  # where in the loop of collect/__init__.py
    meaning: str
    per: str = ""  # "", "module", "group", "category": who may own a series of it besides the run
    unit: str = ""

    @property
    def per_owner(self) -> Need:
        return Need(self.name, per=self.per)


@dataclass(frozen=True)
class Need:
    """What a rule cannot do without; prints as `grad_norm per module`."""

    vital: str
    per: str = ""

    def __str__(self) -> str:
        return f"{self.vital} per {self.per}" if self.per else self.vital


LOSS = Vital("loss", "loss", "The training loss of the step, averaged over its micro-batches.")
LOSS_EPOCH = Vital("loss_epoch", "loss", "The mean training loss of the epoch that ended here.")
VAL_LOSS = Vital("val/loss", "validation", "The validation loss.")
LR = Vital("lr", "optimizer.step", "The learning rate this step was taken with (of the first group).", per="group")
GRAD_NORM = Vital("grad_norm", "before clip", "L2 norm of the gradient before clipping, unscaled.", per="module")
GRAD_NORM_CLIPPED = Vital(
    "grad_norm_clipped", "optimizer.step", "L2 norm of the gradient the optimizer saw.", per="module"
)
CLIP_THRESHOLD = Vital("clip_threshold", "clip", "What gradients were clipped to: max_norm, or the largest element.")
CLIP_RATIO = Vital(
    "grad_clip_ratio", "clip", "Norm (or largest element) before clipping over the threshold; above 1 it clipped."
)
CLIP_ACTIVE = Vital("clip_active", "clip", "1 where clipping changed the gradient, 0 where it did not.")
PARAM_NORM = Vital("param_norm", "after optimizer.step", "L2 norm of the trainable weights.", per="module")
UPDATE_NORM = Vital("update_norm", "after optimizer.step", "L2 norm of the change that the step made.", per="module")
RELATIVE_UPDATE = Vital(
    "relative_update_norm", "after optimizer.step", "Update norm over parameter norm.", per="module"
)
EFFECTIVE_LR = Vital(
    "effective_lr_ratio",
    "after optimizer.step",
    "Update norm over the norm of the clipped gradient.",
    per="module",
)
GRAD_NORM_BY_PARAMETER = Vital(
    "grad_norm_by_parameter", "before clip", "The gradient norm of single parameter tensors.", per="parameter"
)
PARAM_NORM_BY_PARAMETER = Vital(
    "param_norm_by_parameter", "after optimizer.step", "The norm of single parameter tensors.", per="parameter"
)
UPDATE_NORM_BY_PARAMETER = Vital(
    "update_norm_by_parameter", "after optimizer.step", "The update norm of single parameter tensors.", per="parameter"
)
NONFINITE_GRADS = Vital(
    "nonfinite_grads", "optimizer.step", "Parameter tensors whose gradient holds a NaN or an infinity."
)
NONFINITE_PARAMS = Vital(
    "nonfinite_params", "after optimizer.step", "Parameter tensors that hold a NaN or an infinity."
)
MICRO_BATCHES = Vital("micro_batches", "backward", "Backward passes that this step accumulated.")
DISCARDED_BACKWARDS = Vital(
    "discarded_backwards", "backward", "Backward passes before this step whose gradients were cleared and not used."
)
GRADS_NOT_ZEROED = Vital(
    "grads_not_zeroed",
    "backward",
    "1 where the last step's gradients were still there when this backward began, 0 if not.",
)
LOSS_SCALE = Vital("loss_scale", "unscale", "The gradient scaler's factor.")
SKIPPED = Vital("skipped", "optimizer.step", "1 where the scaler skipped the update, 0 where it was made.")
STEP_TIME = Vital("step_time", "optimizer.step", "Seconds since the previous step.", unit="s")
EPOCH = Vital("epoch", "optimizer.step", "The epoch this step belongs to.")
EVAL_MODE = Vital("eval_mode", "forward", "1 where a training forward ran in evaluation mode, 0 where it did not.")
TRAINING_FORWARDS = Vital("training_forwards", "forward", "Forwards of this step that a backward followed.")
INPUT_RMS = Vital("input_rms", "forward", "Root mean square of the first input, from a slice of the batch.")
INPUT_MEAN = Vital("input_mean", "forward", "Mean of the first floating-point input.")
INPUT_STD = Vital("input_std", "forward", "Standard deviation of the first floating-point input.")
INPUT_MAX = Vital("input_max", "forward", "Largest absolute value in the first floating-point input.")
NONFINITE_INPUTS = Vital("nonfinite_inputs", "forward", "Input tensors that hold a NaN or an infinity.")
NONFINITE_TARGETS = Vital("nonfinite_targets", "loss", "Target tensors that hold a NaN or an infinity.")
LABEL_ENTROPY = Vital("label_entropy", "loss", "Entropy of the class labels of recent batches.", unit="nats")
LABEL_SHARE_MAX = Vital("label_share_max", "loss", "Share of the most frequent class in recent batches.")
BATCH_LABEL_SPREAD = Vital(
    "batch_label_spread", "loss", "Entropy of the class labels of one batch, over the most that so many can have."
)
FIT_ERROR = Vital(
    "fit_error", "loss", "The network's error on its training batch: the share of wrong classes, or the squared error."
)
HELD_OUT_ERROR = Vital(
    "held_out_error", "loss", "The network's error on an evaluation: the share of wrong classes, or the squared error."
)
BATCH_FINGERPRINT = Vital("batch_fingerprint", "forward", "A number that is the same for the same batch only.")
DATA_WAIT = Vital("data_wait", "forward", "Time between the end of a step and the next training forward.", unit="s")
ACTIVATION_MEAN = Vital("activation_mean", "forward", "Mean of the module's output (sampled).", per="module")
ACTIVATION_RMS = Vital("activation_rms", "forward", "Root mean square of the module's output.", per="module")
ACTIVATION_MAX = Vital("activation_max", "forward", "Largest absolute value in the module's output.", per="module")
ZERO_FRACTION = Vital("zero_fraction", "forward", "Share of exact zeros in the module's output.", per="module")
SATURATED_FRACTION = Vital(
    "saturated_fraction", "forward", "Share of a non-linearity's output where it is all but flat.", per="module"
)
NONFINITE_ACTIVATIONS = Vital(
    "nonfinite_activations", "forward", "Share of NaN and infinities in the module's output.", per="module"
)
BATCH_VARIATION = Vital(
    "batch_variation", "forward", "How much the output differs between samples, as a share of its RMS.", per="module"
)
UNIT_VARIATION = Vital(
    "unit_variation", "forward", "How much the output differs between units, as a share of its RMS.", per="module"
)
RECONSTRUCTION_VARIATION = Vital(
    "reconstruction_variation",
    "loss",
    "Of an autoencoder: how much outputs differ between samples, as a share of how much the samples do.",
)
DEAD_FRACTION = Vital(
    "dead_fraction", "forward", "Share of a ReLU-like layer's units that no recent batch activated.", per="module"
)
DEAD_UNITS = Vital("dead_units", "forward", "Units that no batch of the last samples activated.", per="module")
DYING_UNITS = Vital("dying_units", "forward", "Units that were active before, but not in this sample.", per="module")
ALIVE_UNITS = Vital("alive_units", "forward", "Units that this sample activated.", per="module")
ATTENTION_ENTROPY = Vital(
    "attention_entropy", "forward", "Entropy of attention over that of looking everywhere equally.", per="module"
)
ATTENTION_DIRAC = Vital("attention_dirac", "forward", "Share of queries that look at one key only.", per="module")
ATTENTION_UNIFORM = Vital("attention_uniform", "forward", "Share of queries that look everywhere alike.", per="module")
SWALLOWED_FRACTION = Vital(
    "swallowed_fraction",
    "after optimizer.step",
    "Share of weights with a gradient that the step left as they were, to the last bit.",
    per="module",
)
UNDERFLOWED_FRACTION = Vital(
    "underflowed_fraction",
    "after optimizer.step",
    "Share of weights with a gradient whose second moment is zero.",
    per="module",
)
GRADIENT_COSINE = Vital("gradient_cosine", "optimizer.step", "Cosine between this gradient and the one before.")
GRADIENT_NOISE = Vital(
    "gradient_noise", "optimizer.step", "Gradient noise scale, in batches: how many would halve the noise's share."
)
RANK_FINGERPRINT = Vital("rank_fingerprint", "forward", "The batch fingerprint of every rank.", per="rank")
RANK_LOSS = Vital("rank_loss", "loss", "The training loss of every rank.", per="rank")
RANK_PARAM_NORM = Vital("rank_param_norm", "after optimizer.step", "The weights' norm on every rank.", per="rank")
RANK_INITIAL_NORM = Vital(
    "rank_initial_norm", "before the first step", "The weights' norm on every rank, before the first step.", per="rank"
)
RANK_BATCH_GROUP = Vital(
    "rank_batch_group", "before the first step", "The lowest rank that gets the same batches on purpose.", per="rank"
)
RANK_LAST_TIME = Vital(
    "rank_last_time", "the end", "When the record of every rank was last written to.", per="rank", unit="s"
)
RANK_FINISHED = Vital(
    "rank_finished",
    "the end",
    "How every rank ended: 1 by itself, 0.5 when others were lost, 0 by an exception, -1 never closed.",
    per="rank",
)
RANK_DATA_WAIT = Vital("rank_data_wait", "forward", "The wait for data of every rank.", per="rank", unit="s")
RANK_STEP_TIME = Vital("rank_step_time", "optimizer.step", "The step time of every rank.", per="rank", unit="s")
LOSS_BY_CATEGORY = Vital(
    "loss_by_category", "loss", "Mean normalised loss of the samples of a category.", per="category"
)

OUTSIDE_MOVE = Vital(
    "outside_move",
    "before optimizer.step",
    "How far some of the weights are from where the last step that was read left them.",
)
OWN_MOVE = Vital("own_move", "after optimizer.step", "The length of the step itself, of the same weights.")
MOVED_NORM = Vital("moved_norm", "after optimizer.step", "The norm of the weights that these moves are read from.")
OUTSIDE_UPHILL = Vital(
    "outside_uphill", "before optimizer.step", "Cosine between that move and the gradient: 1 is straight uphill."
)
TASK_LOSS = Vital(
    "task_loss", "loss", "Mean loss of one of several tasks whose losses are added up, without its weight.", per="task"
)

VITALS: dict[str, Vital] = {
    vital.name: vital
    for vital in (
        LOSS,
        LOSS_EPOCH,
        VAL_LOSS,
        LR,
        GRAD_NORM,
        GRAD_NORM_CLIPPED,
        CLIP_THRESHOLD,
        CLIP_RATIO,
        CLIP_ACTIVE,
        PARAM_NORM,
        UPDATE_NORM,
        RELATIVE_UPDATE,
        EFFECTIVE_LR,
        GRAD_NORM_BY_PARAMETER,
        PARAM_NORM_BY_PARAMETER,
        UPDATE_NORM_BY_PARAMETER,
        NONFINITE_GRADS,
        NONFINITE_PARAMS,
        MICRO_BATCHES,
        GRADS_NOT_ZEROED,
        LOSS_SCALE,
        SKIPPED,
        STEP_TIME,
        EPOCH,
        EVAL_MODE,
        TRAINING_FORWARDS,
        INPUT_RMS,
        INPUT_MEAN,
        INPUT_STD,
        INPUT_MAX,
        NONFINITE_INPUTS,
        NONFINITE_TARGETS,
        LABEL_ENTROPY,
        LABEL_SHARE_MAX,
        BATCH_LABEL_SPREAD,
        FIT_ERROR,
        HELD_OUT_ERROR,
        BATCH_FINGERPRINT,
        DATA_WAIT,
        ACTIVATION_MEAN,
        ACTIVATION_RMS,
        ACTIVATION_MAX,
        ZERO_FRACTION,
        SATURATED_FRACTION,
        NONFINITE_ACTIVATIONS,
        BATCH_VARIATION,
        UNIT_VARIATION,
        RECONSTRUCTION_VARIATION,
        DEAD_FRACTION,
        DEAD_UNITS,
        DYING_UNITS,
        ALIVE_UNITS,
        ATTENTION_ENTROPY,
        ATTENTION_DIRAC,
        ATTENTION_UNIFORM,
        SWALLOWED_FRACTION,
        UNDERFLOWED_FRACTION,
        GRADIENT_COSINE,
        GRADIENT_NOISE,
        RANK_FINGERPRINT,
        RANK_LOSS,
        RANK_PARAM_NORM,
        RANK_INITIAL_NORM,
        RANK_BATCH_GROUP,
        RANK_LAST_TIME,
        RANK_FINISHED,
        RANK_DATA_WAIT,
        RANK_STEP_TIME,
        LOSS_BY_CATEGORY,
        OUTSIDE_MOVE,
        OWN_MOVE,
        OUTSIDE_UPHILL,
        MOVED_NORM,
        TASK_LOSS,
    )
}

# Read to know how long a run is: any one of these is on every step of the logs that have it.
CLOCKS = (LOSS.name, LR.name, GRAD_NORM.name, VAL_LOSS.name, LOSS_EPOCH.name)
