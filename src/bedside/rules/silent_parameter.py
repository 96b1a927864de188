"""Trainable parameters never get a gradient, so they keep their first values.

## What it sees
Parameters that require a gradient, were watched for many steps, and had none at any of them; or one of exactly zero,
beside other parameters of the same module that had more.

## Why it matters
The loss does not depend on them: a `detach()`, a `no_grad()`, an `.item()` or a numpy round trip cut the graph, or
`forward` never uses them. Layers in front of a cut keep their random features; the loss still falls, because what
comes after the cut fits it as well as it can.

## How it decides
`gradient_steps` is 0 after at least `steps` watched steps, or after `used` where the module's own outputs were seen at
every look at the activations: that is not a branch that few batches take, but one that all take and that is cut off
behind it. A gradient of exactly zero is a gradient, and that of a whole module is left to dead-layer; one parameter of
zero gradient at `looks` sampled steps and more, in a module that has gradients, is this rule's. Parameters frozen with
`requires_grad_(False)` are not trainable and do not count. Biases alone, of modules whose weights have gradients, are a
note: where the loss is made of derivatives or differences of an output, a shift of it changes nothing.

## When it is wrong
Branches used on few batches only (experts of a mixture, one head per task), and heads that a pretrained model
brings along and this task does not need (harmless; freeze them to say so).

## What to try
1. Look for what cuts the graph between the named module and the loss: detach, no_grad, argmax, numpy.
2. For recurrent weights: carry the state from step to step instead of starting each from zeros.
3. If it is not meant to be used, delete it or freeze it with `requires_grad_(False)`.

## Example
>>> from bedside.record.run import Parameter
>>> from bedside.testing import a_run
>>> front = Parameter("front.weight", "front", 4096, gradient_steps=0, watched_steps=200)
>>> head = Parameter("head.weight", "head", 640, gradient_steps=200, watched_steps=200)
>>> print(*silent_parameter.check(a_run(loss=[2.3, 1.9], parameters=[front, head])))
GRD104 silent-parameter: `front` (4,096 of 4,736 trainable numbers) had no gradient in 200 steps.

## References
- PyTorch documentation, DistributedDataParallel: `find_unused_parameters`, the same fault met by its crash.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bedside.analysis.leaf_modules import places
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import ACTIVATION_RMS
from bedside.rules.advice import scale_the_loss
from bedside.rules.base import rule
from bedside.wording import count, listed, steps


@dataclass(frozen=True)
class Limits:
    steps: int = 50  # a branch that one batch in ten uses stays silent this long once in 200 runs: 0.9 ** 50
    used: int = 20  # steps, as for any verdict, for modules that every batch goes through
    looks: int = 5  # at the activations: a module that half of the batches use is seen at all of five once in 32 times


@rule("GRD104", severity=Severity.WARNING, needs=[], limits=Limits())
def silent_parameter(run: Run, limits: Limits) -> Iterator[Finding]:
    trainable = [parameter for parameter in run.parameters if parameter.trainable]
    if not trainable:
        raise NotEnough("the model's parameters (a watched run)")
    yield from _zero(run)
    watched = max(parameter.watched_steps for parameter in trainable)
    if watched < limits.used:
        raise NotEnough(f"{limits.used} watched steps, has {watched}")
    used = _always_used(run, limits)
    silent = [
        p
        for p in trainable
        if p.gradient_steps == 0 and p.watched_steps >= (limits.used if p.owner in used else limits.steps)
    ]
    if not silent or len(silent) == len(trainable):  # nobody has one: the step was taken without a backward
        return
    quiet = {p.name for p in silent}
    spoken = {p.owner for p in trainable if p.name not in quiet}
    shifts = all(p.owner in spoken and p.name.rpartition(".")[2].startswith("bias") for p in silent)
    # A module of which only the bias is silent is named by that parameter.
    names = [p.owner if p.owner not in spoken else p.name for p in silent]
    everyone = [p.owner if p.owner not in spoken else p.name for p in trainable]
    where = places(list(dict.fromkeys(names)), of=list(dict.fromkeys(everyone)))
    size, total = sum(p.size for p in silent), sum(p.size for p in trainable)
    fewest = min(p.watched_steps for p in silent)
    yield silent_parameter.finding(
        f"{listed(f'`{place}`' for place in where)} ({count(size)} of {count(total)} trainable numbers) had no "
        f"gradient in {steps(fewest, run.axis)}.",
        first_step=0,
        last_step=max(0, run.steps - 1),
        confidence=0.95 if fewest >= 5 * limits.steps else 0.8,
        where=where,
        evidence={"silent": sorted(quiet)[:20], "share": size / total, "watched_steps": fewest},
        could_also_be=(
            "A loss of differences, or of derivatives, which no shift of the output changes." if shifts else "",
            "A branch that few batches use: print the batches on which `forward` reaches it.",
            "A head that the pretrained model brought along and this task does not need: freeze it.",
        ),
        try_=(
            scale_the_loss(run),
            f"Look for what cuts the graph after `{where[0]}`: detach(), no_grad(), .item(), argmax or numpy.",
            f"If it is not meant to be trained, freeze it: model.{_getter(where[0], quiet)}.requires_grad_(False).",
        ),
        severity=Severity.NOTE if shifts else None,
    )


def _zero(run: Run) -> Iterator[Finding]:
    """Single parameters whose gradient was exactly zero at every look; the last word counts."""
    for event in run.events_of("zero_gradients")[-1:]:
        names, sizes = list(event.data["names"]), {p.name: p.size for p in run.parameters}
        if not names:
            return
        yield silent_parameter.finding(
            f"{listed(f'`{name}`' for name in names)} had a gradient of exactly zero at all of {event.data['looks']} "
            "looks, while the rest of the module had one.",
            first_step=0,
            last_step=max(event.step, run.steps - 1),
            confidence=0.9,
            where=names,
            evidence={"zero": names[:20], "size": sum(sizes.get(name, 0) for name in names)},
            could_also_be=("Sequences of one step, in which the recurrent weights have nothing to do.",),
            try_=(
                f"Look for what multiplies `{names[0]}` by zero: a state that is set to zeros at every step, a mask, a "
                "gate that is closed.",
                "Carry the state on: h = cell(x[:, t], h)." if any("weight_hh" in name for name in names) else "",
            ),
        )


def _always_used(run: Run, limits: Limits) -> set[str]:
    """The modules that put something out whenever anybody looked."""
    looks = {series.owner: len(series) for series in run.of(ACTIVATION_RMS.name)}
    most = max(looks.values(), default=0)
    return {owner for owner, times in looks.items() if times == most} if most >= limits.looks else set()


def _getter(place: str, parameters: set[str]) -> str:
    """Works for names such as `layers.0` too, which are not attribute paths in Python."""
    return f'get_parameter("{place}")' if place in parameters else f'get_submodule("{place}")'
