"""Panels, curves and what is new, read from a run when somebody asks.

A run of bedside's own is opened anew each time: opening reads names and events only, and what was read is let go of
again, so that memory does not grow with the runs that were looked at. Logs of other tools have to be read whole; the
last few are kept.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bedside.live.served_folder import is_growing, signature
from bedside.logs import RunFiles, read_run
from bedside.logs.formats import OWN
from bedside.naming.whole_run import settle
from bedside.record.run import Key, Run
from bedside.record.sqlite.reader import open_newest
from bedside.report.instruments import instrument, instruments
from bedside.report.instruments.drawn_points import CurveTable
from bedside.report.instruments.panel import Panel
from bedside.report.page_data import put_curves

KEPT_LOGS = 4  # logs of other tools in memory
NEW_POINTS = 200  # of a curve in one update; a viewer who was away for long gets the rest summed up

_logs: OrderedDict[tuple[Any, ...], Run] = OrderedDict()
_lock = threading.Lock()


def opened(found: RunFiles) -> Run:
    """The run as it is now."""
    if found.format == OWN:
        return read_run(found)
    key = (found, signature(found))
    with _lock:
        if key not in _logs:
            _logs[key] = read_run(found)
            while len(_logs) > KEPT_LOGS:
                _logs.popitem(last=False)
        _logs.move_to_end(key)
        return _logs[key]


def newest(found: RunFiles, since: int) -> Run:
    """The readings from step `since` on."""
    if found.format == OWN:
        return settle(open_newest(found.files[0], since))
    return opened(found)


def index(found: RunFiles, run: Run) -> dict[str, Any]:
    """Whether it is being trained, its panels, and the series of the whole run; no series is read."""
    return {
        "training": is_growing(found, run.ended),
        "axis": run.axis,
        "instruments": [each.to_json() for each in instruments(run)],
        "keys": [vital for vital, owner in run.series_keys if not owner],
    }


def panel_data(run: Run, name: str, steps: tuple[int, int] | None = None) -> dict[str, Any] | None:
    """One panel with its curves, between two steps if they are given: zooming shows more of them."""
    wanted = instrument(run, name)
    panel = wanted.read(run) if wanted is not None else None
    if panel is None:
        return None
    if steps is not None:
        panel = replace(panel, series=[each.since(steps[0]).before(steps[1] + 1) for each in panel.series])
    return {"panel": panel.to_json(), **curves_of(panel)}


def curves_of(panel: Panel) -> dict[str, Any]:
    curves = CurveTable()
    put_curves(panel, curves)
    return {"curves": curves.to_json(), "cursor": _last(panel.series)}


def series_data(run: Run, keys: Sequence[str]) -> dict[str, Any]:
    """Curves by their keys, for the charts beside a finding."""
    curves = CurveTable()
    found = [run.series(*key) for key in chosen(run, keys)]
    for each in found:
        curves.add(each)
    return {"curves": curves.to_json(), "cursor": _last(found)}


def new_data(found: RunFiles, keys: Sequence[str], since: int) -> tuple[dict[str, Any], int]:
    """What came in from step `since` on, and the last step of it (`since - 1` if nothing did)."""
    run = newest(found, since)
    curves = CurveTable(points=NEW_POINTS)
    last = since - 1
    for key in chosen(run, keys):
        new = run.series(*key).since(since)
        curves.add(new)
        last = max(last, new.last_step if new else last)
    return curves.to_json(), last


def chosen(run: Run, keys: Sequence[str]) -> list[Key]:
    wanted = set(keys)
    return [key for key in run.series_keys if (f"{key[0]}/{key[1]}" if key[1] else key[0]) in wanted]


def _last(found: Sequence[Any]) -> int:
    return max((each.last_step for each in found if each), default=-1)
