"""Layers get a gradient of exactly zero while others learn: the signal ends at one place.

## What it sees
Modules whose gradient norm is exactly zero, batch after batch, while the gradient of others is not.

## Why it matters
Zero is not a small number: no unit of the layer reacts to any example any more (all ReLUs off, a factor of zero, a
saturated sigmoid in low precision). Nothing in front of it can learn either, and no learning rate brings it back. The
back of the network still lowers the loss a little, which hides it.

## How it decides
A leaf is dead when its norm is zero (less than `zero` of the largest) at `always` of the readings in the second half
of the run. A bias alone never is: while the weight beside it gets a gradient, the signal arrives and merely cancels
out over the batch, as in a hinge loss of two equal halves. The place is the last dead leaf in model order: in front
of it everything is cut off. When all of them are dead, the loss must be other than zero. Parameters that have no
gradient at all are left to silent-parameter.

## When it is wrong
Experts and branches that few batches use. Modules frozen by a learning rate of zero still have gradients.

## What to try
1. In float16, scale the loss: what is too small for it becomes zero.
2. Start its bias at 0 and its weights with He initialisation; leaky ReLU or GELU instead of ReLU.
3. If it died during training, lower the learning rate: one large step can switch all units off.

## Example
>>> from bedside.testing import a_run
>>> norms = {"0": 0.0, "2": 0.0, "4": 0.02, "6": 0.3}
>>> print(*dead_layer.check(a_run(loss=[2.3] * 100, grad_norm=norms)))
GRD108 dead-layer: No gradient gets past `2`: it and 1 layer in front of it have had exactly zero since step 0.

## References
- Lu et al. (2020), Dying ReLU and initialization.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bedside.analysis.leaf_modules import leaves, places
from bedside.analysis.precision import half_without_scaling
from bedside.analysis.windows import second_half
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import GRAD_NORM, LOSS, PARAM_NORM
from bedside.rules.advice import lower_learning_rate, moment, scale_the_loss
from bedside.rules.base import rule
from bedside.wording import listed, number, plural


@dataclass(frozen=True)
class Limits:
    zero: float = 1e-12  # of the largest leaf: beyond what any layer passes on, within what float32 can hold
    always: float = 0.95  # of the readings: an odd batch may still wake a unit
    readings: int = 20  # batches: twenty in a row without a single live unit are not chance


@rule("GRD108", severity=Severity.ERROR, needs=[GRAD_NORM.per_owner], limits=Limits())
def dead_layer(run: Run, limits: Limits) -> Iterator[Finding]:
    silent = {p.owner for p in run.parameters if p.gradient_steps == 0 and p.watched_steps > 0}
    layers = [series for series in leaves(run, GRAD_NORM) if series.owner not in silent and len(series)]
    if len(layers) < 2:
        return
    if min(map(len, layers)) < limits.readings:
        raise NotEnough(f"{limits.readings} readings of grad_norm per module, has {min(map(len, layers))}")
    nothing = limits.zero * max(series.finite().values.max(initial=0.0) for series in layers)
    alive = {s.owner for s in layers if np.mean(second_half(s).values <= nothing) < limits.always}
    layers = [series for series in layers if not _cancels_out(series.owner, alive)]
    dead = [index for index, series in enumerate(layers) if series.owner not in alive]
    everywhere = len(dead) == len(layers)
    if not dead or (everywhere and not _something_to_learn(run)):
        return
    last = layers[dead[-1]]
    cut_off = dead == list(range(len(dead)))
    owners = [series.owner for series in layers]
    names = [layers[index].owner for index in dead]
    first = _since(last, last.values <= nothing)
    if everywhere:
        where = []
        message = (
            f"All {plural(len(layers), 'module')} have had a gradient of exactly zero since {moment(run, first)}, "
        )
        message += f"with the loss at {number(run.loss.median(10))}."
    elif cut_off:
        front = len(dead) - 1
        message = f"No gradient gets past `{last.owner}`: it"
        message += f" and {plural(front, 'layer')} in front of it have" if front else " has"
        message += f" had exactly zero since {moment(run, first)}."
        where = [last.owner, *(name for name in names if name != last.owner)]
    else:
        where = places(names, of=owners)
        message = f"{listed(f'`{name}`' for name in where)} {'has' if len(where) == 1 else 'have'} had a gradient of "
        message += f"exactly zero since {moment(run, first)}."
    if half_without_scaling(run):
        message = f"{message[:-1]}, in float16 without a loss scale."
    yield dead_layer.finding(
        message,
        first_step=first,
        last_step=last.last_step,
        confidence=0.95 if cut_off else 0.8,
        where=where,
        evidence={"dead": names[:20], "leaves": len(layers), "died": first > last.first_step},
        series=[last.key, layers[min(dead[-1] + 1, len(layers) - 1)].key, LOSS.name],
        could_also_be=(
            "A branch that no batch uses (an expert, a task of its own): count how often `forward` reaches it.",
            "" if _zeros(run, names) else "A factor of zero on the way: a zero-initialised gate, a mask.",
        ),
        try_=(scale_the_loss(run), *_advice(run, last, first, _zeros(run, names))),
        severity=Severity.ERROR if cut_off else Severity.WARNING,
    )


def _cancels_out(owner: str, alive: set[str]) -> bool:
    """Whether it is a bias whose weight gets a gradient: the signal arrives, and sums to zero over the batch."""
    module, _, last = owner.rpartition(".")
    return bool(module) and last == "bias" and any(each.startswith(f"{module}.") for each in alive)


def _something_to_learn(run: Run) -> bool:
    """Whether the loss is not simply zero: a margin loss that every example meets has no gradient left."""
    loss = run.loss.finite()
    return len(loss) > 0 and abs(loss.median(10)) > 1e-6 * float(np.abs(loss.values).max())


def _since(series: Series, zero: NDArray[np.bool_]) -> int:
    """The first step since which it stayed zero, but for single readings."""
    alive = np.flatnonzero(np.convolve(np.pad(~zero, 1, "edge"), np.ones(3), "valid") >= 2)
    return int(series.steps[min(len(series) - 1, int(alive[-1]) + 1 if len(alive) else 0)])


def _zeros(run: Run, names: list[str]) -> list[str]:
    """Those of the dead whose numbers are all zero, if there are two or more: each may be the factor of another."""
    norms = {series.owner: series.finite() for series in run.of(PARAM_NORM.name) if series.owner in names}
    zero = [name for name in names if name in norms and norms[name] and not norms[name].values.any()]
    return zero if len(zero) > 1 else []


def _advice(run: Run, layer: Series, first: int, zeros: list[str]) -> list[str]:
    if half_without_scaling(run):
        return []  # what underflows is cured by the scale alone
    if zeros:
        pair = listed(f"`{name}`" for name in zeros[:2])
        return [f"{pair} are all zeros, so that neither passes a gradient to the other: begin one of them at random."]
    if first > layer.first_step:  # it was alive
        return [
            lower_learning_rate(run, max(0, first - 1)),
            "Use a non-linearity with a slope on both sides there: nn.LeakyReLU() or nn.GELU().",
        ]
    gelu = "; GELU instead of ReLU" if _has_relu(run) else ""
    return [f"Start the bias of `{layer.owner}` at 0 and its weights with He initialisation{gelu}."]


def _has_relu(run: Run) -> bool:
    """Whether a ReLU was seen, or nobody looked."""
    kinds = [str(kind) for event in run.events_of("nonlinearities") for kind in event.data.values()]
    return not kinds or any("relu" in kind for kind in kinds)
