"""Adam's second moment is zero where the gradient is not: steps are divided by epsilon alone.

## What it sees
Elements with a gradient whose running mean of squares is exactly zero.

## Why it matters
The square of a small number underflows long before the number does: in float16 everything below 2.4e-4 squares to zero.
The step is then the gradient divided by epsilon, which may be thousands of times too large, or too small, and jumps as
soon as the moment is no longer zero. Adam then diverges at rates that are fine in float32 or bfloat16.

## How it decides
The median share over the last `last` readings of a module is above `share`. Where weights soon stopped being finite,
the readings up to then decide, however few.

## When it is wrong
Gradients that have been zero until just now, as in a layer that was thawed.

## What to try
1. Keep weights and optimizer state in float32, and use autocast for the forward pass.
2. bfloat16 in place of float16: its squares reach down to 1e-19.
3. A larger `eps`, of the order of the gradients themselves.

## Example
>>> from bedside.testing import a_run
>>> print(*underflowing_second_moment.check(a_run(loss=2.0, underflowed_fraction={"body": 0.62, "head": 0.0})))
NUM107 underflowing-second-moment: 62 % of the elements of `body` that have a gradient have a second moment of zero.

## References
- Micikevicius et al. (2018), Mixed precision training: section 3.1, float32 master weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bedside.analysis.leaf_modules import places
from bedside.analysis.statistics import how_sure
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import LOSS, NONFINITE_PARAMS, UNDERFLOWED_FRACTION
from bedside.rules.base import rule
from bedside.wording import listed, percent


@dataclass(frozen=True)
class Limits:
    share: float = 0.1  # of the elements with a gradient: in float32 it is none, so this is far beyond chance
    last: int = 10  # readings that make "now"
    fewest: int = 10  # readings in all: in the first steps a moment may not have begun


@rule("NUM107", severity=Severity.WARNING, needs=[UNDERFLOWED_FRACTION.per_owner], limits=Limits(), preview_since="0.1")
def underflowing_second_moment(run: Run, limits: Limits) -> Iterator[Finding]:
    broken = run.series(NONFINITE_PARAMS.name)
    broke = broken.steps[broken.values > 0]
    layers = run.of(UNDERFLOWED_FRACTION.name)
    if len(broke):  # a NaN is no zero: what came after says nothing
        layers = [before for s in layers if (before := s.before(int(broke[0]) + 1))]
    else:
        layers = [s for s in layers if len(s) >= limits.fewest]
    now = {s.owner: s.median(limits.last) for s in layers}
    affected = [owner for owner, share in now.items() if share > limits.share]
    if not affected:
        return
    worst = max(affected, key=lambda owner: now[owner])
    series = next(s for s in layers if s.owner == worst)
    first = int(series.steps[int((series.values > limits.share).argmax())])
    where = places(affected, of=list(now))
    others = f" (and more than {percent(limits.share)} in {listed(f'`{o}`' for o in affected if o != worst)})"
    yield underflowing_second_moment.finding(
        f"{percent(now[worst])} of the elements of `{worst}`{others if len(affected) > 1 else ''} that have a gradient "
        "have a second moment of zero.",
        first_step=first,
        last_step=series.last_step,
        confidence=how_sure(now[worst], limits.share, most=0.95),
        where=where,
        evidence={"underflowed_share": {owner: now[owner] for owner in affected[:20]}},
        series=[series.key, LOSS.name],
        could_also_be=("A layer that was thawed a few steps ago.",),
        try_=(
            "Keep weights and optimizer state in float32, and put the forward pass under torch.autocast.",
            "Or use bfloat16 in place of float16.",
        ),
    )
