"""Everything that can be shown of a run, in the order in which a page shows it.

>>> from bedside.testing import a_run
>>> [each.id for each in instruments(a_run(loss=[3.0, 2.0], lr=0.1))]
['loss', 'lr']
"""

from __future__ import annotations

from bedside.record.run import Run
from bedside.report.instruments.distributions import histogram_instruments
from bedside.report.instruments.gradients import gradient_agreement, gradient_norm
from bedside.report.instruments.layers import SHOWN, layer_instruments
from bedside.report.instruments.loss_curves import categories, learning_rate, loss
from bedside.report.instruments.metrics import left_over, metric_instruments
from bedside.report.instruments.numerics import inputs, loss_scale, timing
from bedside.report.instruments.panel import SECTIONS, Instrument
from bedside.report.instruments.weights_and_updates import effective_rate, relative_update, weight_norm

# (what it shows, the vitals of which it needs at least one)
WHOLE_RUN = (
    (Instrument("loss", "loss", "Loss", loss), ("loss", "loss_epoch", "val/loss", "test/loss")),
    (Instrument("lr", "loss", "Learning rate", learning_rate), ("lr",)),
    (Instrument("categories", "loss", "Loss by category", categories), ("loss_by_category",)),
    (Instrument("gradient", "gradients", "Gradient norm", gradient_norm), ("grad_norm", "grad_norm_clipped")),
    (
        Instrument("gradient_cosine", "gradients", "Agreement with the gradient before", gradient_agreement),
        ("gradient_cosine",),
    ),
    (Instrument("relative_update", "updates", "Update over weight", relative_update), ("relative_update_norm",)),
    (Instrument("weight_norm", "updates", "Weight norm", weight_norm), ("param_norm",)),
    (Instrument("effective_rate", "updates", "Effective learning rate", effective_rate), ("effective_lr_ratio",)),
    (Instrument("loss_scale", "numerics", "Loss scale", loss_scale), ("loss_scale",)),
    (Instrument("timing", "numerics", "Time per step", timing), ("step_time",)),
    (Instrument("inputs", "numerics", "Inputs", inputs), ("input_mean", "input_std", "input_max")),
)
ALSO_SHOWN = ("clip_threshold", "grad_clip_ratio", "grad_norm_clipped", "data_wait", "skipped", "grads_not_zeroed")


def instruments(run: Run) -> list[Instrument]:
    """What this run has, without reading a single series of it."""
    known = set(run.vitals)
    found = [each for each, vitals in WHOLE_RUN if known & set(vitals)]
    found += [*layer_instruments(run), *metric_instruments(run), *histogram_instruments(run)]
    found += left_over(run, _shown(run, found))
    order = list(SECTIONS)
    return sorted(found, key=lambda each: order.index(each.section))


def instrument(run: Run, name: str) -> Instrument | None:
    return next((each for each in instruments(run) if each.id == name), None)


def _shown(run: Run, found: list[Instrument]) -> set[str]:
    """Keys of the series that the chosen instruments draw, as far as their names tell."""
    ids = {each.id for each in found}
    alone = {vital for each, vitals in WHOLE_RUN if each.id in ids for vital in vitals} | set(ALSO_SHOWN)
    layered = {each.vital for each in SHOWN if f"layers:{each.vital}" in ids} | {"loss_by_category", "lr"}
    metrics = {each.id.removeprefix("metric:") for each in found if each.id.startswith("metric:")}
    shown = set()
    for vital, owner in run.series_keys:
        name = vital.partition("/")[2] or vital
        if (not owner and (vital in alone or vital.endswith("/loss") or name in metrics or vital in metrics)) or (
            owner and vital in layered
        ):
            shown.add(f"{vital}/{owner}" if owner else vital)
    return shown
