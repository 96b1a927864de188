"""The charts beside a finding: the series it points at, its onset marked, and the level it is judged against."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from bedside.finding import Diagnosis, Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import VITALS
from bedside.report.instruments.loss_curves import smoothing
from bedside.report.instruments.metrics import spoken
from bedside.report.instruments.panel import Level, Line, Mark, Panel
from bedside.wording import capital, count, number, printable

MAX_CHARTS = 2  # per finding; the instruments below show the rest
MAX_LINES = 6
FACTORS = ("grad_norm", "relative_update", "param_norm", "update_norm", "effective_lr", "batch_variation", "loss_scale")
# Numbers that a rule puts into its evidence and that lie on the axis of the series they are listed with.
LEVELS = {
    ("chance", "loss"): "blind guess",
    ("best", "loss"): "best",
    ("threshold", "grad_norm"): "clipping threshold",
    ("usual_norm", "grad_norm"): "usual norm",
    ("norm_before", "param_norm"): "before",
    ("level", "loss"): "usual level",
    ("loss_before", "loss"): "before",
}


def evidence_panels(run: Run, diagnosis: Diagnosis) -> list[Panel]:
    """Up to two charts for every finding that is more than a note; ids are `evidence:FINDING:CHART`."""
    known = {f"{vital}/{owner}" if owner else vital: (vital, owner) for vital, owner in run.series_keys}
    panels = []
    for place, finding in enumerate(diagnosis.findings):
        if finding.severity == Severity.NOTE:
            continue
        series = [found for key in finding.series if key in known and (found := run.series(*known[key]))]
        for chart, together in enumerate(_by_unit(series)):
            panels.append(_panel(f"evidence:{place}:{chart}", finding, together))
    return panels


def onset_mark(finding: Finding) -> Mark:
    return Mark(finding.first_step, f"{finding.code} begins, {count(finding.first_step)}")


def _by_unit(series: Sequence[Series]) -> list[list[Series]]:
    """Series that may share an axis, those named first first; a learning rate alone proves nothing."""
    groups: dict[str, list[Series]] = {}
    for each in series:
        if each.vital != "lr" or len(series) == 1:
            groups.setdefault(_axis(each), []).append(each)
    return [group[:MAX_LINES] for group in list(groups.values())[:MAX_CHARTS]]


def _panel(name: str, finding: Finding, series: Sequence[Series]) -> Panel:
    vital = series[0].vital
    levels = list(_levels(finding, series))
    ends = [each.value for each in levels]
    for each in series:
        if finite := each.finite():
            ends += [float(finite.values.min()), float(finite.values.max())]
    decades = math.log10(max(ends) / min(ends)) if ends and min(ends) > 0 else 0.0
    return Panel(
        name,
        "evidence",
        "Loss" if _is_loss(series[0]) else capital(spoken(vital)),
        say=VITALS[vital].meaning if vital in VITALS and not _is_loss(series[0]) else "",
        lines=[
            Line(each.key, _label(each), _role(each), smooth=smoothing(each) if each.vital == "loss" else 0)
            for each in series
        ],
        levels=levels,
        marks=[onset_mark(finding)],
        log=decades >= (1 if vital.startswith(FACTORS) else 2) and not vital.startswith("lr"),
        series=series,
    )


def _levels(finding: Finding, series: Sequence[Series]) -> Iterator[Level]:
    for (name, vital), said in LEVELS.items():
        level = finding.evidence.get(name)
        suits = any(each.vital == vital or (vital == "loss" and _is_loss(each)) for each in series)
        if suits and isinstance(level, (int, float)) and math.isfinite(level):
            yield Level(float(level), f"{said}, {number(float(level))}")


def _axis(series: Series) -> str:
    """Series with the same answer share a chart."""
    return {"clip_threshold": "grad_norm", "grad_norm_clipped": "grad_norm"}.get(
        series.vital, "loss" if _is_loss(series) else series.vital
    )


def _is_loss(series: Series) -> bool:
    return series.vital == "loss" or series.vital.endswith("/loss") or series.vital == "loss_epoch"


def _label(series: Series) -> str:
    names = {"loss": "training loss", "val/loss": "validation loss", "test/loss": "test loss"}
    if series.vital in names and not series.owner:
        return names[series.vital]
    return printable(series.owner) if series.owner else spoken(series.vital)


def _role(series: Series) -> str:
    roles = {"loss": "training", "val/loss": "validation", "clip_threshold": "limit"}
    return roles.get(series.key, "validation" if series.vital.startswith("val/") else "other")
