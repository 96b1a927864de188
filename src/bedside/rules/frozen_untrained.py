"""Frozen layers hold the random numbers they were made with.

## What it sees
Layers with `requires_grad=False` whose weights are distributed as torch initialises them, to the ends of the interval,
and which do not change during the run.

## Why it matters
Freezing is for weights that know something. Random ones pass on a random projection of the input for ever, and the
layers behind them have to make do with that. The usual reasons: the checkpoint was never loaded, or a layer that was
frozen for a first phase was never thawed.

## How it decides
torch fills linear and convolutional weights evenly up to one over the root of the inputs, and embeddings with normal
numbers of one spread. Trained weights have left that shape. Copies that follow the model change, and are not meant; nor
are layers that get a gradient later, when a first phase is over.

## When it is wrong
Random features on purpose: reservoirs, random projections, the fixed network of random network distillation.

## What to try
1. Load the checkpoint before freezing, and look at what `load_state_dict` says about missing keys.
2. Thaw them: `layer.requires_grad_(True)`, and build the optimizer after that.

## Example
>>> from bedside.record.run import Event
>>> from bedside.testing import a_run
>>> seen = Event(50, "frozen_weights", {"names": ["embed"], "size": 3200})
>>> print(*frozen_untrained.check(a_run(loss=0.6, events=[Event(0, "coverage"), seen])))
LOP114 frozen-untrained: `embed` is frozen (3,200 numbers), and holds the random numbers it was made with.

## References
- Rosenfeld and Tsotsos (2019), Intriguing properties of randomly weighted networks: what random layers can still do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import GRAD_NORM
from bedside.rules.base import rule
from bedside.wording import count, listed


@dataclass(frozen=True)
class Limits:
    """Weights were left as torch made them or they were not: nothing to set."""


@rule("LOP114", severity=Severity.WARNING, needs=[], limits=Limits())
def frozen_untrained(run: Run, limits: Limits) -> Iterator[Finding]:
    if not run.events_of("coverage"):
        raise NotEnough("the model's weights (a watched run)")
    for event in run.events_of("frozen_weights")[-1:]:  # the last word counts: a copy may follow the model later
        where = [name for name in event.data["names"] if not _thawed(run, name, event.step)]
        if not where:
            return
        one = len(where) == 1
        its = "holds the random numbers it was made with" if one else "hold the random numbers they were made with"
        yield frozen_untrained.finding(
            f"{listed(f'`{name}`' for name in where)} {'is' if one else 'are'} frozen ({count(event.data['size'])} "
            f"numbers), and {its}.",
            first_step=0,
            last_step=max(event.step, run.steps - 1),
            confidence=0.8,
            where=where,
            evidence={"frozen": where, "size": event.data["size"]},
            series=["loss"],
            could_also_be=("Random features on purpose: a reservoir, a random projection.",),
            try_=(
                f'Thaw it before the optimizer is built: model.get_submodule("{where[0]}").requires_grad_(True).',
                "If a checkpoint was meant to be in it: print(model.load_state_dict(state, strict=False)) names what "
                "was not loaded.",
            ),
        )


def _thawed(run: Run, name: str, step: int) -> bool:
    """Whether a layer was trained after all, later on."""
    later = run.series(GRAD_NORM.name, name).finite().since(step)
    return bool((later.values > 0).any())
