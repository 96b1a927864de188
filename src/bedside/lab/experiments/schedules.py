"""Learning-rate schedules, and a look at any of them before it is used.

>>> import torch
>>> from bedside.lab import schedules
>>> optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))], lr=3e-4)
>>> scheduler = schedules.warmup_cosine(optimizer, warmup=100, total=1000)
>>> print(schedules.preview(scheduler, 1000))
1,000 steps: 3e-6 at the first, 3e-4 at its peak (step 99), 3e-5 at the last; warm-up 10 % of the run.
▁▃▄▅▇██████████████▇▇▇▇▇▇▆▆▆▆▆▅▅▅▅▄▄▄▄▄▃▃▃▃▃▃▂▂▂▂▂▂▂▂▁▁▁▁▁▁
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR, LRScheduler, OneCycleLR

from bedside.errors import BadOption
from bedside.lab.experiment_result import Result
from bedside.training.saved_values import save
from bedside.wording import count, number, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BARS = "▁▂▃▄▅▆▇█"
WIDTH = 59  # characters of the drawing: fits a terminal beside an indent


def warmup_cosine(optimizer: Optimizer, warmup: int, total: int, floor: float = 0.1) -> LambdaLR:
    """Linear warm-up over `warmup` steps to the optimizer's rate, then a cosine down to `floor` times it at `total`.

    The first step is taken at 1/warmup of the rate, not at zero, and from `total` on the rate stays at its floor.
    """
    if not 0 <= warmup < total or not 0 <= floor <= 1:
        raise BadOption(
            f"warmup={warmup}, total={total}, floor={floor} is not a schedule.",
            expected="0 ≤ warmup < total and a floor between 0 and 1",
            try_="schedules.warmup_cosine(optimizer, warmup=500, total=10_000, floor=0.1)",
        )

    def share(step: int) -> float:
        if step < warmup:
            return (step + 1) / warmup
        progress = min(1.0, (step - warmup) / max(1, total - 1 - warmup))
        return floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * progress))

    return LambdaLR(optimizer, share)


def one_cycle(optimizer: Optimizer, max_lr: float | Sequence[float], total: int, **options: Any) -> OneCycleLR:
    """Torch's own one-cycle policy over `total` steps; `options` are those of `OneCycleLR`."""
    return OneCycleLR(
        optimizer, max_lr=list(max_lr) if isinstance(max_lr, Sequence) else max_lr, total_steps=total, **options
    )


@dataclass(frozen=True)
class Preview(Result):
    """The rate at every step, per group of parameters."""

    experiment = "schedules"
    rates: tuple[tuple[float, ...], ...]  # per step, per group
    ended_at: int | None  # the step at which the scheduler refused to go on

    @property
    def first_group(self) -> list[float]:
        return [step[0] for step in self.rates]

    @property
    def warmup(self) -> float:
        """Share of the run before the peak is reached, if it rises at all."""
        rates = self.first_group
        return rates.index(max(rates)) / len(rates) if rates[0] < max(rates) else 0.0

    def lines(self) -> Iterator[str]:
        rates = self.first_group
        peak, where = max(rates), rates.index(max(rates))
        rise = f"warm-up {percent(self.warmup)} of the run" if self.warmup else "no warm-up"
        yield (
            f"{count(len(rates))} steps: {number(rates[0])} at the first, {number(peak)} at its peak "
            f"(step {count(where)}), {number(rates[-1])} at the last; {rise}."
        )
        if self.ended_at is not None:
            yield f"It ends at step {count(self.ended_at)}: a longer run would fail or stay there."
        zero = next((step for step, rate in enumerate(rates) if rate == 0 and step < len(rates) - 1), None)
        if zero is not None:
            yield f"The rate is zero from step {count(zero)} on: nothing is learned there."
        yield _drawn(rates)

    def draw(self, *axes: Axes) -> None:
        (ax,) = axes
        for group in range(len(self.rates[0])):
            ax.plot([step[group] for step in self.rates], label=f"group {group}")
        if len(self.rates[0]) > 1:
            ax.legend()
        ax.set(xlabel="step", ylabel="learning rate", title="The schedule before it is used")


def preview(scheduler: LRScheduler, total: int) -> Preview:
    """Step through `total` steps of the schedule and put scheduler and optimizer back."""
    if total < 1:
        raise BadOption(
            f"total={total} steps.", expected="at least one step", try_="schedules.preview(scheduler, 1000)"
        )
    restore = [save(scheduler), save(scheduler.optimizer)]
    rates: list[tuple[float, ...]] = []
    ended_at = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns that no optimizer step was taken, which is the point
            for step in range(total):
                rates.append(tuple(float(group["lr"]) for group in scheduler.optimizer.param_groups))
                try:
                    scheduler.step()
                except ValueError:  # OneCycleLR after its last step
                    ended_at = step + 1 if step + 1 < total else None
                    break
    finally:
        for each in restore:
            each()
    return Preview(tuple(rates), ended_at)


def _drawn(rates: Sequence[float]) -> str:
    top = max(rates) or 1.0
    columns = min(WIDTH, len(rates))
    shown = [rates[int((column + 0.5) * len(rates) / columns)] for column in range(columns)]
    return "".join(BARS[min(len(BARS) - 1, int(rate / top * len(BARS)))] for rate in shown)
