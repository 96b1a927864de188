"""A Comparison in words: where two runs diverge, in what first, and what was set differently; and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bedside.comparison.result import Comparison, Difference, Divergence
from bedside.report.json import plain as plain_json
from bedside.report.sparkline import column, sparkline
from bedside.report.styled_lines import WIDTH, Line, line, plain, wrapped
from bedside.wording import capital, count, listed, number, plural, printable, span, value

SHOWN = 10  # divergences and settings that are listed; the rest is counted
ALIKE = 8


def comparison_to_text(comparison: Comparison, width: int = WIDTH) -> str:
    return plain(comparison_lines(comparison, width))


def comparison_lines(comparison: Comparison, width: int = WIDTH) -> list[Line]:
    """The whole answer, line by line, with the role of each part."""
    blocks = [
        list(_headline(comparison, width)),
        list(_curves(comparison, width)),
        list(_divergences(comparison, width)),
        list(_differences("Set differently", comparison.settings, width)),
        list(_differences("Made differently", comparison.environment, width)),
        list(_in_one_only(comparison, width)),
    ]
    lines: list[Line] = []
    for block in filter(None, blocks):
        lines += [line(), *block] if lines else block
    return lines


def summary(comparison: Comparison) -> str:
    """`They diverge at step 150, first in grad_norm/layers.3: 12.1 here, 0.4 there.`"""
    if comparison.first is None:
        return {
            "alike": f"No difference in {plural(len(comparison.alike), 'curve')}.",
            "unclear": "They have no curve in common that could be compared.",
        }[comparison.verdict]
    return f"They diverge {_at(comparison.first, comparison)}, first in {_described(comparison.first)}."


def _at(divergence: Divergence, comparison: Comparison) -> str:
    return "at " + span(divergence.step, divergence.step, comparison.axis)


def _described(each: Divergence) -> str:
    before = ", equal to the last digit until then" if each.exact else ""
    return f"{printable(each.key)}: {number(each.a)} in the first, {number(each.b)} in the second{before}"


def _headline(comparison: Comparison, width: int) -> Iterator[Line]:
    unit = "epochs" if comparison.axis == "epoch" else "steps"
    role = {"they diverge": "warning", "alike": "healthy", "unclear": "unclear"}[comparison.verdict]
    where = f" {_at(comparison.first, comparison)}" if comparison.first else ""
    yield from wrapped(
        (printable(comparison.a), "strong"),
        " compared with ",
        (printable(comparison.b), "strong"),
        f" · {count(comparison.steps[0])} and {count(comparison.steps[1])} {unit} · ",
        (comparison.verdict + where, role),
        rest="  ",
        width=width,
    )


def _curves(comparison: Comparison, width: int) -> Iterator[Line]:
    """Two lines for each curve, on one scale, and a mark where they diverge."""
    across = max(16, 48 * width // WIDTH)
    last = max(max(comparison.steps) - 1, 1)
    names = max((len(printable(key)) for key in comparison.pictures), default=0)
    at = {each.key: each.step for each in comparison.divergences}
    for key, (left, right) in comparison.pictures.items():
        for name, points, other in ((printable(key), left, right), ("", right, left)):
            drawn = sparkline(points, across, name=key, first=0, last=last, beside=other)
            ends = number(points[-1][1]) + (" (log)" if drawn.log else "")
            yield line((f"  {name:<{names}}  ", "quiet"), (drawn.drawn, "curve"), f" {ends}")
        if key in at:
            mark = " " * (4 + names + column(at[key], across, 0, last))
            yield line((f"{mark}▲ {span(at[key], at[key], comparison.axis)}", "warning"))


def _divergences(comparison: Comparison, width: int) -> Iterator[Line]:
    yield from wrapped((summary(comparison), "strong"), rest="  ", width=width)
    others = [each for each in comparison.divergences if each is not comparison.first]
    for each in others[:SHOWN]:
        yield from wrapped(f"then {_at(each, comparison)}: {_described(each)}", first="  ", rest="    ", width=width)
    if len(others) > SHOWN:
        yield line((f"  … and {plural(len(others) - SHOWN, 'more curve')}", "quiet"))
    if comparison.alike and comparison.divergences:
        yield from wrapped(
            (f"alike to the end: {listed(comparison.alike, most=ALIKE)}", "quiet"), first="  ", width=width
        )


def _differences(title: str, found: Sequence[Difference], width: int) -> Iterator[Line]:
    if found:
        yield line((f"{title}:", "strong"))
    for each in found[:SHOWN]:
        said = f"{printable(each.name)}: {_said(each.a)} in the first, {_said(each.b)} in the second"
        yield from wrapped(said, first="  ", rest="    ", width=width)
    if len(found) > SHOWN:
        yield line((f"  … and {count(len(found) - SHOWN)} more", "quiet"))


def _said(anything: Any) -> str:
    return "nothing" if anything is None else value(anything)


def _in_one_only(comparison: Comparison, width: int) -> Iterator[Line]:
    for name, keys in (("the first", comparison.only_a), ("the second", comparison.only_b)):
        if keys:
            said = f"only in {name}: {listed(map(printable, keys), most=ALIKE)}"
            yield from wrapped((capital(said), "quiet"), rest="  ", width=width)


def comparison_to_json(comparison: Comparison) -> dict[str, Any]:
    """Plain dicts and lists; keys keep their order and meaning."""
    return {
        "a": comparison.a,
        "b": comparison.b,
        "steps": list(comparison.steps),
        "verdict": comparison.verdict,
        "first": _divergence(comparison.first) if comparison.first else None,
        "divergences": [_divergence(each) for each in comparison.divergences],
        "alike": list(comparison.alike),
        "only_a": list(comparison.only_a),
        "only_b": list(comparison.only_b),
        "settings": [_difference(each) for each in comparison.settings],
        "environment": [_difference(each) for each in comparison.environment],
        "axis": comparison.axis,
    }


def _divergence(each: Divergence) -> dict[str, Any]:
    return {"key": each.key, "step": each.step, "a": plain_json(each.a), "b": plain_json(each.b), "exact": each.exact}


def _difference(each: Difference) -> dict[str, Any]:
    return {"name": each.name, "a": plain_json(each.a), "b": plain_json(each.b)}
