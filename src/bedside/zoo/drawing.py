"""Small drawings for paper, as SVG in millimetres: curves on a logarithmic axis, and one bar per layer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from bedside.record.series import Series

TRAIN, HELD_OUT, TWIN, ALARM, INK = "#0b5fd0", "#e06c00", "#b9bec6", "#c62a2f", "#20242a"
HEALTHY, SICK = "#2e8b57", "#c62a2f"
FLOOR, CEILING = 1e-4, 1e6  # of a loss on paper: how far beyond them says nothing more
TEXT = 3.1  # mm: 9 point, the smallest that reads from a metre away


def curves(
    lines: Sequence[tuple[Series, str]], *, width: float, height: float, title: str, steps: int, mark: int | None = None
) -> str:
    """Curves over the steps of a run, each in its colour, the last on top; NaN where one stops being a number."""
    top, bottom, left, right = 5.5, height - 4.6, 9.0, width - 1.5
    values = [min(CEILING, max(FLOOR, v)) for series, _ in lines for v in series.finite().values.tolist()]
    low, high = (min(values), max(values)) if values else (0.1, 1.0)
    low, high = low / 1.3, high * 1.3

    def x(step: float) -> float:
        return left + (right - left) * step / max(1, steps - 1)

    def y(value: float) -> float:
        inside = min(high, max(low, value))
        return bottom - (bottom - top) * (math.log(inside) - math.log(low)) / (math.log(high) - math.log(low))

    parts = [_text(left, 3.4, title, bold=True), _frame(left, top, right, bottom)]
    for tick in _ticks(low, high):
        parts.append(_text(left - 0.8, y(tick) + 1.0, _short(tick), anchor="end"))
        parts.append(f'<path d="M{left - 0.5:.2f} {y(tick):.2f}H{right:.2f}" stroke="#e3e6ea" stroke-width=".15"/>')
    parts.append(_text(right, height - 0.9, f"{steps} steps", anchor="end"))
    if mark is not None:
        parts.append(
            f'<path d="M{x(mark):.2f} {top}V{bottom}" stroke="{ALARM}" stroke-width=".5" stroke-dasharray="1.4 1"/>'
        )
    for series, colour in lines:
        pairs = zip(series.steps.tolist(), series.values.tolist(), strict=True)
        drawn = [f"{x(step):.2f},{y(value):.2f}" for step, value in pairs if math.isfinite(value) and value > 0]
        weight = 0.9 if colour == HELD_OUT else 0.55
        parts.append(f'<polyline points="{" ".join(drawn)}" fill="none" stroke="{colour}" stroke-width="{weight}"/>')
        lost = next((s for s, v in zip(series.steps, series.values, strict=True) if not math.isfinite(v)), None)
        if lost is not None and colour == TRAIN:
            parts.append(_text(x(int(lost)) + 1.5, (top + bottom) / 2, "NaN", bold=True, colour=ALARM, size=5.5))
    return _svg(width, height, parts, title)


def bars(
    layers: Mapping[str, float], *, width: float, height: float, title: str, decades: float, healthy_above: float
) -> str:
    """One horizontal bar per layer, the front of the network at the top, on a logarithmic scale up to the largest."""
    top, bottom, left, right = 5.5, height - 4.6, 1.0, width - 1.0
    parts = [_text(left, 3.4, title, bold=True), _frame(left, top, right, bottom)]
    loudest = max((value for value in layers.values() if math.isfinite(value)), default=1.0) or 1.0
    room = (bottom - top) / max(1, len(layers))
    for place, value in enumerate(layers.values()):
        share = 1 + math.log10(value / loudest) / decades if value > 0 and math.isfinite(value) else 0.0
        length = (right - left) * min(1.0, max(0.0, share))
        colour = HEALTHY if value >= healthy_above * loudest else SICK
        at = top + room * place + 0.12 * room
        if length > 0:
            parts.append(
                f'<rect x="{left}" y="{at:.2f}" width="{length:.2f}" height="{0.76 * room:.2f}" fill="{colour}"/>'
            )
        else:
            parts.append(
                _text(left + 0.8, at + 0.38 * room + 1.1, "0" if value == value else "NaN", bold=True, colour=SICK)
            )
    return _svg(width, height, parts, title)


def _ticks(low: float, high: float) -> list[float]:
    """Powers of ten inside the range, at most four; the ends where there are fewer than two."""
    powers = [10.0**k for k in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]
    if len(powers) < 2:
        return [low * 1.3, high / 1.3]
    return powers[:: -(-len(powers) // 4)]


def _short(value: float) -> str:
    if 0.01 <= value < 1000:
        return f"{value:.0f}" if value >= 10 else f"{value:.2g}"
    return f"1e{round(math.log10(value))}"


def _frame(left: float, top: float, right: float, bottom: float) -> str:
    return f'<path d="M{left} {top}V{bottom:.2f}H{right:.2f}" fill="none" stroke="{INK}" stroke-width=".3"/>'


def _text(
    x: float, y: float, said: str, *, anchor: str = "start", bold: bool = False, colour: str = INK, size: float = TEXT
) -> str:
    looks = f'font-size="{size}" text-anchor="{anchor}" fill="{colour}"' + (' font-weight="700"' if bold else "")
    return f'<text x="{x:.2f}" y="{y:.2f}" {looks}>{escape(said)}</text>'


def _svg(width: float, height: float, parts: Sequence[str], label: str) -> str:
    head = f'viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label)}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {head}>{"".join(parts)}</svg>'
