"""What the differentials read off a run: levels at a moment, learning rates, and what rules have found."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from bedside.analysis.leaf_modules import leaves
from bedside.analysis.statistics import outline
from bedside.analysis.windows import spread_evenly
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import GRAD_NORM


def level_at(series: Series, step: int) -> float:
    """The level of a curve at a step, without its noise; NaN if nothing was read."""
    finite = series.finite()
    if not finite:
        return math.nan
    curve = outline(finite)
    return float(np.interp(step, curve.steps, curve.values))


def level_now(series: Series) -> float:
    finite = series.finite()
    return outline(finite).now if finite else math.nan


def rate_share(run: Run, step: int) -> float:
    """The learning rate at a step as a share of its peak; NaN if it was not recorded."""
    rates = run.series("lr").finite()
    if not rates or rates.values.max() <= 0:
        return math.nan
    at = max(0, int(np.searchsorted(rates.steps, step, "right")) - 1)
    return float(rates.values[at] / rates.values.max())


def usual(run: Run, vital: str, first: int, last: int | None = None) -> float:
    """The median of a vital from `first` to `last`, each stretch of time counting alike; NaN if it was not read."""
    series = run.series(vital).finite().since(first)
    return spread_evenly(series.before(last + 1) if last is not None else series).median()


def is_alarm(finding: Finding) -> bool:
    return finding.severity > Severity.NOTE and not finding.preview


def alarm(found: Iterable[Finding], *names: str) -> Finding | None:
    """The first alarm of one of these names; notes and previews do not count."""
    for each in found:
        if each.name in names and is_alarm(each):
            return each
    return None


@dataclass(frozen=True)
class Symptom:
    """A finding whose cause is not known, in the run that shows it."""

    run: Run
    finding: Finding
    found: Sequence[Finding]

    @property
    def onset(self) -> int:
        return self.finding.first_step

    def alarm(self, *names: str) -> Finding | None:
        return alarm(self.found, *names)

    @property
    def others(self) -> list[Finding]:
        """The other alarms, the likeliest cause first; none of them explains the symptom by the table of links."""
        return [each for each in self.found if each is not self.finding and is_alarm(each)]


def symptom(run: Run, found: Sequence[Finding], names: Sequence[str]) -> Symptom | None:
    """The primary finding, if it is one of these: a symptom that no other finding explains."""
    first = next((each for each in found if each.primary), None)
    return Symptom(run, first, found) if first is not None and first.name in names else None


def shares(run: Run, first: int, last: int) -> dict[str, float]:
    """The usual gradient of each leaf module from `first` to `last`, as a share of the largest one."""
    norms = {
        series.owner: spread_evenly(series.finite().since(first).before(last + 1)).median()
        for series in leaves(run, GRAD_NORM)
    }
    known = {owner: norm for owner, norm in norms.items() if not math.isnan(norm)}
    largest = max(known.values(), default=0.0)
    return {owner: norm / largest if largest > 0 else 0.0 for owner, norm in known.items()}
