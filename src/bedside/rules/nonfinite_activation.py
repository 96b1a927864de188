"""A module turned finite numbers into NaN or infinity: it is the first one that did.

## What it sees
At the first step whose loss was not finite, the results that the forward left for its backward are checked: the first
operation that was given finite numbers and made something else, and the module that called it. If the model's output
was finite, it was the loss function.

## Why it matters
One NaN spreads to everything within a step, so the record afterwards shows NaN everywhere. Only the first one has a
cause; all others are consequences.

## How it decides
From those results. An infinity that becomes NaN a few operations later counts where it overflowed. When the loss was
finite again afterwards and the run went on, it is a note: the step was skipped, or one batch was thrown away. Where
they are gone (off the CPU the loss is read late), sampled outputs are used: the front-most module with a bad output at
the first sampled step that has one. Operations that leave nothing behind, activation checkpointing and compiled models
make the place less exact: then the smallest module that certainly holds it is named.

## When it is wrong
Masks of −inf in a module's output are not NaN and are not taken for it. Overflow at the end of a divergence is real but
not the cause: then what made the weights grow comes first.

## What to try
1. In the named module: `log`, `sqrt`, division and `exp` at the edge of their domain; add an epsilon or clamp.
2. A softmax whose every key is masked; a mean over nothing.
3. In float16: compute this module in float32 (`torch.autocast(enabled=False)` around it).

## Example
>>> from bedside.record.run import Event
>>> from bedside.testing import a_run
>>> nan = float("nan")
>>> born = Event(60, "origin", {"kind": "module", "module": "encoder.norm", "class": "RMSNorm", "loss": nan})
>>> print(*nonfinite_activation.check(a_run(loss=[2.0] * 60 + [nan] * 40, events=[Event(0, "coverage"), born])))
NUM106 nonfinite-activation: `encoder.norm` (RMSNorm) made NaN out of finite inputs at step 60.

## References
- pytorch/pytorch#86362: anomaly mode names the backward operation, not the place where a NaN was born.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bedside.analysis.leaf_modules import leaves
from bedside.analysis.precision import autocast_to_half
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Event, Run
from bedside.record.vocabulary import LOSS, NONFINITE_ACTIVATIONS
from bedside.rules.advice import lower_learning_rate, moment
from bedside.rules.base import rule
from bedside.rules.what_was_seen import largest_activation, weights_had_grown

SHORT = "Use torch.autocast with dtype=torch.bfloat16, which has float32's range; with float16, use a GradScaler."
# Products, sums and distances are finite wherever their inputs are, unless these have outgrown the type of number.
WITHOUT_EDGE = frozenset(
    {"Addmm", "Mm", "Bmm", "Baddbmm", "Addbmm", "Convolution", "Mul", "Add", "Sub", "Sum"}
    | {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"}
)
EDGE = "log, sqrt, division or exp at the edge of its domain: add 1e-8 or clamp"


@dataclass(frozen=True)
class Limits:
    came_back: int = 5  # finite losses to the end: after a step with a NaN gradient there would be none


@rule("NUM106", severity=Severity.ERROR, needs=[], limits=Limits())
def nonfinite_activation(run: Run, limits: Limits) -> Iterator[Finding]:
    if not run.events_of("coverage") and not run.has(NONFINITE_ACTIVATIONS.name, per_owner=True):
        raise NotEnough("what modules returned (a watched run)")
    origins = run.events_of("origin")
    # Each stretch of bad steps has one beginning; weights or a batch that were bad before are reported by other rules.
    begins = [e for i, e in enumerate(origins) if i == 0 or e.step > origins[i - 1].step + 1]
    born = [event for event in begins if event.data.get("kind") in ("module", "loss")]
    if born:
        yield _from_origin(run, born[0] if _came_back(run, born[-1].step, limits) else born[-1], limits)
    elif not begins or begins[-1].data.get("kind") in ("late", "unknown"):
        yield from _sampled(run, limits)


def _from_origin(run: Run, born: Event, limits: Limits) -> Finding:
    data = born.data
    what = "NaN" if _is_nan(data.get("loss")) else "infinity"
    if data["kind"] == "loss":
        where, message, advice = [], *_in_the_loss(run, born, what)
    else:
        where = [data["module"]] if data.get("module") else []
        name = f"`{data['module']}` ({data['class']})" if where else f"The model's own forward ({data['class']})"
        message = f"{name}{_around(data)} made {what} out of finite inputs at {moment(run, born.step)}."
        operation = f"look at the operation {data['operation']}:" if data.get("operation") else "look for"
        advice = [f"In {data['class']}.forward, {operation} {EDGE}."]
        if data.get("operation") in WITHOUT_EDGE:
            advice = [largest_activation(run, born.step)]
        if "float16" in data.get("autocast", ()):
            message = f"{message[:-1]}, under autocast to float16, which ends at 65,504."
            advice = [SHORT]
    return _finding(run, born.step, message, advice, where, dict(data), limits)


def _around(data: Mapping[str, Any]) -> str:
    """Between which of its parts, where it was in none of them."""
    after, before = data.get("after"), data.get("before")
    if after and before:
        return f", in its own code between `{after}` and `{before}`,"
    if after or before:
        return f", in its own code {'after' if after else 'before'} `{after or before}`,"
    return ""


def _in_the_loss(run: Run, born: Event, what: str) -> tuple[str, list[str]]:
    data = born.data
    function = f"`{data['function']}`" if data.get("function") else "the loss"
    at = moment(run, born.step)
    if data.get("labels_all_ignored"):
        return (
            f"Every label of the batch at {at} is ignored, so {function} is a mean over nothing: {what}.",
            ["Skip batches without a label, or divide the summed loss by max(1, number of labels)."],
        )
    if data.get("targets_finite") is False:
        return (
            f"The targets of the batch at {at} hold NaN or infinity, and so does {function}.",
            ["Check torch.isfinite(targets).all() in the data set, and drop those samples."],
        )
    return (
        f"The model's output was finite at {at}; {function} made {what} out of it.",
        [
            largest_activation(run, born.step)
            if what == "infinity" and data.get("function") in WITHOUT_EDGE
            else f"In the loss, look for {EDGE}; prefer functions that take logits."
        ],
    )


def _sampled(run: Run, limits: Limits) -> Iterator[Finding]:
    bad = [s for s in leaves(run, NONFINITE_ACTIVATIONS) if (s.values > 0).any()]
    if not bad:
        return
    first = min(int(s.steps[np.argmax(s.values > 0)]) for s in bad)
    front = next(s for s in bad if int(s.steps[np.argmax(s.values > 0)]) == first)
    message = f"`{front.owner}` is the front-most module whose output held NaN or infinity at {moment(run, first)}."
    advice = [f"In that module, look for {EDGE}."]
    if autocast_to_half(run):
        message, advice = f"{message[:-1]}, under autocast to float16, which ends at 65,504.", [SHORT]
    yield _finding(run, first, message, advice, [front.owner], {}, limits)


def _finding(
    run: Run, step: int, message: str, advice: list[str], where: list[str], data: Mapping[str, Any], limits: Limits
) -> Finding:
    came_back = _came_back(run, step, limits)
    return nonfinite_activation.finding(
        message,
        severity=Severity.NOTE if came_back else None,
        first_step=step,
        last_step=step if came_back else max(step, run.steps - 1),
        confidence=0.97 if data else 0.7,
        where=where,
        evidence={
            key: data[key] for key in ("kind", "class", "operation", "inputs_finite", "weights_finite") if key in data
        },
        series=[LOSS.name, *(f"{NONFINITE_ACTIVATIONS.name}/{name}" for name in where)],
        could_also_be=(weights_had_grown(run, step),),
        try_=[*advice, *([] if SHORT in advice else [lower_learning_rate(run, max(0, step - 1))])],
    )


def _came_back(run: Run, step: int, limits: Limits) -> bool:
    losses = run.series(LOSS.name).since(step + 1)
    return len(losses) >= limits.came_back and bool(np.isfinite(losses.values[-limits.came_back :]).all())


def _is_nan(value: Any) -> bool:
    return not isinstance(value, (int, float)) or math.isnan(value)
