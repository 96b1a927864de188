"""A curve as inline SVG: no script, no file, readable on a light and on a dark page.

Text and axes take the page's own colour; NaN and infinity are gaps in the line with a red mark above them, and
the onset of the primary finding is a dashed line. The axis is logarithmic where `sparkline.py` says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape

from bedside.report.sparkline import Points, height, needs_log
from bedside.wording import count, number

WIDTH, HEIGHT = 640, 130
LEFT, RIGHT, TOP, BOTTOM = 62, 12, 20, 20
LINE, ALARM = "#3b82f6", "#e5484d"  # mid-tones: both have contrast on white and on black


def curve_svg(name: str, points: Points, *, first: int, last: int, onset: int | None = None) -> str:
    """One curve over the steps `first` to `last`."""
    finite = [value for _, value in points if math.isfinite(value)]
    log = needs_log(name, finite)
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    title = f"{name}{' (log)' if log else ''}"
    said = f"{title}: {number(points[0][1])} to {number(points[-1][1])} over steps {count(first)} to {count(last)}"
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(said)}" '
        'style="width:100%;max-width:640px;height:auto;display:block" font-size="11" font-family="inherit">',
        _text(LEFT, 12, title, "start", bold=True),
        _text(LEFT - 6, _y(high, low, high, log) + 4, number(high), "end"),
        _text(LEFT - 6, _y(low, low, high, log) + 4, number(low), "end") if high > low else "",
        _text(LEFT, HEIGHT - 6, count(first), "start"),
        _text(WIDTH - RIGHT, HEIGHT - 6, count(last), "end"),
        f'<path d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}" fill="none" stroke="currentColor" opacity=".35"/>',
    ]
    if onset is not None:
        x = _x(onset, first, last)
        side, shift = ("start", 4) if x < WIDTH * 0.8 else ("end", -4)
        parts.append(f'<path d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="{ALARM}" stroke-dasharray="4 3"/>')
        parts.append(_text(x + shift, TOP + 9, f"onset {count(onset)}", side, colour=ALARM))
    for step, value in points:
        if not math.isfinite(value):
            parts.append(f'<path d="M{_x(step, first, last):.1f} {TOP}v6" stroke="{ALARM}" stroke-width="1.5"/>')
    for stretch in _stretches(points):
        path = " ".join(f"{_x(s, first, last):.1f},{_y(v, low, high, log):.1f}" for s, v in stretch)
        dot = f'<circle cx="{path.split(",")[0]}" cy="{path.split(",")[1]}" r="1.5" fill="{LINE}"/>'
        drawn = f'<polyline points="{path}" fill="none" stroke="{LINE}" stroke-width="1.5"/>'
        parts.append(drawn if len(stretch) > 1 else dot)
    return "".join(parts) + "</svg>"


def _stretches(points: Points) -> Iterator[list[tuple[int, float]]]:
    """Runs of finite readings, between the gaps."""
    stretch: list[tuple[int, float]] = []
    for step, value in points:
        if math.isfinite(value):
            stretch.append((step, value))
        elif stretch:
            yield stretch
            stretch = []
    if stretch:
        yield stretch


def _x(step: int, first: int, last: int) -> float:
    share = (step - first) / (last - first) if last > first else 0.0
    return LEFT + min(1.0, max(0.0, share)) * (WIDTH - LEFT - RIGHT)


def _y(value: float, low: float, high: float, log: bool) -> float:
    return HEIGHT - BOTTOM - height(value, low, high, log) * (HEIGHT - BOTTOM - TOP)


def _text(x: float, y: float, said: str, anchor: str, *, bold: bool = False, colour: str = "currentColor") -> str:
    weight = ' font-weight="600"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"{weight}>{escape(said)}</text>'
