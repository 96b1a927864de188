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
CLIP_THRESHOLD = Vital("clip_threshold", "clip", "The max_norm given to the clip call.")
CLIP_RATIO = Vital("grad_clip_ratio", "clip", "Norm before clipping divided by the threshold; above 1 it clipped.")
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
NONFINITE_GRADS = Vital(
    "nonfinite_grads", "optimizer.step", "Parameter tensors whose gradient holds a NaN or an infinity."
)
NONFINITE_PARAMS = Vital(
    "nonfinite_params", "after optimizer.step", "Parameter tensors that hold a NaN or an infinity."
)
MICRO_BATCHES = Vital("micro_batches", "backward", "Backward passes that this step accumulated.")
UNCLEARED = Vital(
    "uncleared", "backward", "1 where the last step's gradients were still there when this backward began, 0 if not."
)
LOSS_SCALE = Vital("loss_scale", "unscale", "The gradient scaler's factor.")
SKIPPED = Vital("skipped", "optimizer.step", "1 where the scaler skipped the update, 0 where it was made.")
STEP_TIME = Vital("step_time", "optimizer.step", "Seconds since the previous step.", unit="s")
EPOCH = Vital("epoch", "optimizer.step", "The epoch this step belongs to.")

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
        NONFINITE_GRADS,
        NONFINITE_PARAMS,
        MICRO_BATCHES,
        UNCLEARED,
        LOSS_SCALE,
        SKIPPED,
        STEP_TIME,
        EPOCH,
    )
}

# Read to know how long a run is: any one of these is on every step of the logs that have it.
CLOCKS = (LOSS.name, LR.name, GRAD_NORM.name, VAL_LOSS.name, LOSS_EPOCH.name)
