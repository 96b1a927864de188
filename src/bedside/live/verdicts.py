"""Verdicts, stories and comparisons, worked out in a second process, so that the page stays quick.

Judging a run takes a moment, so the list shows a run at once and its verdict when it is known; what was worked out
is kept until the run grows. A very large record is poured through the bounded view that the monitor itself uses
during a training, so memory stays the same however long a run is.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import bedside.report  # noqa: F401  (so that answers can be put into words)
from bedside.comparison.compare import compare_runs
from bedside.diagnosis.engine import examine
from bedside.errors import BedsideError
from bedside.live.run_data import opened
from bedside.live.served_folder import signature, weight
from bedside.logs import RunFiles
from bedside.logs.formats import OWN
from bedside.naming.whole_run import settle
from bedside.record.live_run import GrowingRun
from bedside.record.run import Run
from bedside.record.sqlite.reader import replay
from bedside.report.comparison import comparison_to_json, summary
from bedside.report.instruments import instruments
from bedside.report.instruments.drawn_points import rounded
from bedside.report.page_data import headline, story_data
from bedside.rules import CATALOGUE
from bedside.rules.page import family, status
from bedside.settings import settings_for

LARGE = 48 * 2**20  # bytes: such a record would take hundreds of megabytes if every rule read all of it
SPARK_POINTS = 80


def judged(found: RunFiles, name: str) -> dict[str, Any]:
    """Verdict, story and sparkline of a run as it is now, as plain data."""
    began = time.perf_counter()
    seen = signature(found)
    try:
        settings = settings_for(found.files[0])
        run = to_judge(found)
        answer = examine(run, settings.rules())
    except BedsideError as error:
        return {"signature": seen, "error": str(error), "row": _failed(name, error), "seconds": 0.0}
    story = story_data(run, answer) | {"run": name, "words": _words(run)}
    primary = answer.primary
    row = {
        "name": name,
        "verdict": answer.verdict,
        "headline": headline(answer),
        "said": f"{primary.code} {primary.name}: {primary.message}" if primary else answer.reason,
        "steps": run.steps,
        "length": story["length"],
        "finished": run.finished,
        "ended": run.ended,
        "spark": _spark(run),
    }
    return {"signature": seen, "row": row, "story": story, "seconds": time.perf_counter() - began}


def compared(runs: Sequence[tuple[RunFiles, str]]) -> dict[str, Any]:
    """The first run beside each of the others: where they diverge, in what first, and what was set differently."""
    first, name = runs[0]
    loaded = to_judge(first)
    found = []
    for other, other_name in runs[1:]:
        answer = compare_runs(loaded, to_judge(other))
        divergences = [{"key": each.key, "step": each.step} for each in answer.divergences]
        said = {"a": name, "b": other_name, "summary": summary(answer), "divergences": divergences}
        found.append(comparison_to_json(answer) | said)
    return {"comparisons": found}


def rule_list() -> list[dict[str, str]]:
    return [
        {
            "code": each.code,
            "name": each.name,
            "family": family(each),
            "severity": each.severity.word,
            "status": status(each),
            "title": each.title,
        }
        for each in CATALOGUE
    ]


def to_judge(found: RunFiles) -> Run:
    if found.format != OWN or weight(found) < LARGE:
        return opened(found)
    whole = opened(found)  # names, settings and events; no series of it is read
    growing = GrowingRun(whole.name)
    growing.config, growing.environment, growing.parameters = whole.config, whole.environment, whole.parameters
    replay(found.files[0], growing)
    run = settle(growing.run())
    run.finished, run.ended = whole.finished, whole.ended
    return run


def _words(run: Run) -> dict[str, dict[str, Any]]:
    """What each panel says now; its curves grow by what is new, and its sentence must not stay behind."""
    words = {}
    for each in instruments(run):
        panel = None if each.folded or each.section == "histograms" else each.read(run)
        if panel is not None:
            words[each.id] = {"say": panel.say, "table": panel.extra.get("table")}
    return words


def _spark(run: Run) -> dict[str, Any]:
    """The loss in a few points for the list; a validation loss where there is no other."""
    series = next((found for key in ("loss", "val/loss", "loss_epoch") if (found := run.series(key))), run.loss)
    thin = series.thinned(SPARK_POINTS)
    return {"key": series.key, "steps": thin.steps.tolist(), "values": rounded(thin.values)}


def _failed(name: str, error: BedsideError) -> dict[str, Any]:
    return {"name": name, "verdict": "unreadable", "headline": "", "said": str(error.what), "steps": 0, "length": "",
            "finished": None, "ended": True, "spark": {"key": "loss", "steps": [], "values": []}}  # fmt: skip
