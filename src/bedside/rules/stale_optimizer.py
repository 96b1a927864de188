"""The optimizer holds tensors that the model no longer has, and misses those it has now.

## What it sees
The optimizer's parameter lists contain tensors that are not the model's, while some of the model's trainable
parameters are in no optimizer.

## Why it matters
The optimizer moves the old tensors faithfully, and the model uses the new ones. Typical: the optimizer was built, then
the head was replaced, the model was re-loaded, cast or wrapped, or a layer was re-initialised by assignment.

## How it decides
By identity of the tensors at a step. Tensors that are not the model's are not enough: a loss with parameters of its
own (a learned temperature, class centres) is trained by the same optimizer and is healthy. Both together mean that
parameters were replaced.

## When it is wrong
An optimizer shared by several models of which only one is watched, with part of that one trained elsewhere.

## What to try
1. Build the optimizer after the last change to the model.
2. Change weights in place (`copy_`, `load_state_dict`) instead of assigning new parameters.

## Example
>>> from bedside.record.run import Event
>>> from bedside.testing import a_run
>>> seen = Event(0, "coverage", {"uncovered": ["head.weight", "head.bias"], "stale": 2, "held": 8})
>>> print(*stale_optimizer.check(a_run(loss=[2.3, 2.2], events=[seen])))
LOP109 stale-optimizer: 2 of the 8 tensors in the optimizer are no longer part of the model, which trains without \
`head.weight`, `head.bias`.

## References
- PyTorch documentation, torch.optim: construct the optimizer after moving or replacing the model's parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.rules.base import rule
from bedside.wording import count, listed


@dataclass(frozen=True)
class Limits:
    """A tensor is the model's or it is not: nothing to set."""


@rule("LOP109", severity=Severity.ERROR, needs=[], limits=Limits())
def stale_optimizer(run: Run, limits: Limits) -> Iterator[Finding]:
    looks = run.events_of("coverage")
    if not looks:
        raise NotEnough("the optimizer's parameters (a watched run)")
    for look in looks:
        stale, held = int(look.data.get("stale", 0)), int(look.data.get("held", 0))
        uncovered = [str(name) for name in look.data.get("uncovered", ())]
        if not stale or not uncovered:
            continue
        none_left = stale >= held
        which = "None of the" if none_left else f"{count(stale)} of the"
        verb = "is part of the model" if none_left else "are no longer part of the model"
        yield stale_optimizer.finding(
            f"{which} {count(held)} tensors in the optimizer {verb}, which trains without "
            f"{listed((f'`{name}`' for name in uncovered), 4)}.",
            first_step=look.step,
            last_step=max(look.step, run.steps - 1),
            confidence=0.98 if none_left else 0.9,
            where=_modules(run, uncovered),
            evidence={"stale": stale, "held": held, "uncovered": uncovered[:20]},
            could_also_be=(
                "An optimizer shared with a second model or a loss that has parameters of its own, while these are "
                "trained elsewhere: pass every optimizer to watch().",
            ),
            try_=(
                "Build the optimizer after the last change to the model: replacing a layer, casting, wrapping.",
                "Change weights in place (param.data.copy_, load_state_dict) instead of assigning new ones.",
            ),
        )
        return  # later looks repeat the same fault


def _modules(run: Run, names: Sequence[str]) -> list[str]:
    """The modules of these parameters, as far as the record knows them."""
    owners = {parameter.name: parameter.owner for parameter in run.parameters}
    return list(dict.fromkeys(owners.get(name, name) for name in names))
