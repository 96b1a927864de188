"""Which parameters are frozen, and that not all of them are.

## What it sees
Parameters with `requires_grad=False`, counted and named by the module that holds them.

## Why it matters
Freezing is a choice, and it is easily left over: a backbone that was frozen for an experiment, a whole model loaded
without gradients. A list before the run is quicker than a surprise after it.

## How it decides
It counts. Frozen parameters are a note; a model without any trainable parameter is a failure.

## When it is wrong
Never: it only counts.

## What to try
1. `model.requires_grad_(True)`, or only for the part that should learn.

## Example
>>> from bedside.preflight.example_setup import a_model, examined, seeded
>>> model = seeded(a_model)
>>> _ = model[0].requires_grad_(False)
>>> print(examined(frozen_parameters, model))
PRE303 frozen-parameters: 288 of 387 numbers (74 %) are frozen, in 0.

## References
- Howard and Ruder (2018), Universal language model fine-tuning: gradual unfreezing.
"""

from __future__ import annotations

from dataclasses import dataclass

from bedside.collect.model.parameter_layout import plain_name
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.preflight.check import Passed, check
from bedside.preflight.setup import Setup
from bedside.wording import count, listed, percent


@dataclass(frozen=True)
class Limits:
    """It only counts: nothing to set."""


@check("PRE303", severity=Severity.NOTE, limits=Limits())
def frozen_parameters(setup: Setup, limits: Limits) -> Passed | Finding:
    setup.rewind()
    every = {plain_name(name): each for name, each in setup.model.named_parameters()}
    frozen = {name: each for name, each in every.items() if not each.requires_grad}
    total, still = (sum(each.numel() for each in some.values()) for some in (every, frozen))
    if not every:
        raise NotEnough("a model with parameters")
    if not frozen:
        return frozen_parameters.passed(f"none: all {count(total)} numbers are trainable", trainable=total)
    owners = list(dict.fromkeys(name.rpartition(".")[0] or name for name in frozen))
    alone = len(frozen) == len(every)
    return frozen_parameters.finding(
        f"{count(still)} of {count(total)} numbers ({percent(still / total)}) are frozen, in {listed(owners)}."
        if not alone
        else f"All {count(total)} numbers are frozen: nothing can be learned.",
        severity=Severity.ERROR if alone else None,
        where=owners,
        confidence=0.99,
        evidence={"frozen": still, "trainable": total - still},
        try_=("model.requires_grad_(True) for the part that should learn.",),
    )
