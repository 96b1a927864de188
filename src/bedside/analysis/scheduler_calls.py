"""How often a scheduler was called, beside what it was built for: which unit it counts in, and when it is over.

A learning rate alone does not say whether a schedule was meant so. A watched run knows more: the calls of
`scheduler.step()`, the optimizer steps taken meanwhile, and the number of calls that the scheduler was built for.

>>> from bedside.testing import a_run
>>> made = {"name": "CosineAnnealingLR", "total": 20, "stepped": 600, "optimizer_steps": 600}
>>> [each] = scheduler_calls(a_run(loss=[1.0] * 600, config={"schedulers": [made]}))
>>> each.per, each.lasts, each.over_at
('step', 20, 20)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bedside.analysis.schedule import NOTHING, schedulers
from bedside.record.run import Run


@dataclass(frozen=True)
class Limits:
    unit: float = 0.25  # relative: skipped steps, and accumulation that does not divide an epoch, make as much
    seldom: float = 0.5  # calls per step: a scheduler called this rarely counts something longer than steps
    little: float = 0.01  # of the peak: after its last drop a step-wise schedule has done its work
    micro_batches: float = 1.5  # per step: fewer are not accumulation
    finished: float = 0.95  # of the calls it was built for: epochs that do not come out even leave that many


LIMITS = Limits()


@dataclass(frozen=True)
class Calls:
    """One scheduler: its calls and the optimizer steps meanwhile; what it was built for is 0 where nobody knows."""

    name: str
    calls: int
    steps: int
    total: int  # calls that it was built for
    lasts: int  # calls after which it changes nothing that counts: its total, or until a decay has taken the rate
    micro_batches: float
    begins: int = 0  # the optimizer step from which it was in use: another one may have been in its place before

    @property
    def per(self) -> str:
        """What it is called once for: `micro-batch`, `step`, `epoch` (anything longer), or nothing clear."""
        ratio = self.calls / self.steps if self.steps else 0.0
        if self.micro_batches >= LIMITS.micro_batches and abs(ratio / self.micro_batches - 1) <= LIMITS.unit:
            return "micro-batch"
        if abs(ratio - 1) <= LIMITS.unit:
            return "step"
        return "epoch" if 0 < ratio <= LIMITS.seldom else ""

    @property
    def over_at(self) -> int:
        """The optimizer step at which it was over, or will be at this pace."""
        return self.begins + round(self.lasts * self.steps / self.calls) if self.calls else 0


def scheduler_calls(run: Run) -> list[Calls]:
    """Every scheduler whose calls were counted."""
    micro = run.series("micro_batches").median()
    found = []
    for each in schedulers(run):
        calls, steps = each.get("stepped"), each.get("optimizer_steps")
        if isinstance(calls, int) and isinstance(steps, int) and calls > 0 and steps > 0:
            total = int(each.get("total") or 0)
            lasts = total or _until_it_is_gone(each)
            micro_batches, begins = micro if micro > 0 else 1.0, int(each.get("begins") or 0)
            found.append(Calls(str(each.get("name", "")), calls, steps, total, lasts, micro_batches, begins))
    return found


def made_anew(run: Run) -> list[Calls]:
    """Schedulers that took the place of one like them which was not yet at its end: the schedule begins once more."""
    every = scheduler_calls(run)
    return [
        later
        for earlier, later in itertools.pairwise(sorted(every, key=lambda each: each.begins))
        if later.begins > earlier.begins
        and (later.name, later.total) == (earlier.name, earlier.total)
        and earlier.calls < LIMITS.finished * earlier.total
    ]


def _until_it_is_gone(scheduler: Mapping[str, Any]) -> int:
    """After how many calls a decay without an end has taken the rate away, or made its last change; 0 if never."""
    gamma, milestones = scheduler.get("gamma"), scheduler.get("milestones")
    if not isinstance(gamma, (int, float)) or not 0 < gamma < 1:
        return 0
    if isinstance(milestones, list) and milestones:
        left = round(gamma ** len(milestones), 9)  # 0.1 squared is a little more than 0.01
        return int(milestones[-1]) if left <= LIMITS.little else 0
    drops = math.ceil(math.log(NOTHING) / math.log(gamma))
    return int(scheduler.get("step_size") or 1) * drops


def weights_are_averaged(run: Run) -> bool:
    """Whether a schedule of averaged weights (SWA) took over: it rests at a constant rate on purpose."""
    return any("SWA" in str(each.get("name", "")) for each in schedulers(run))
