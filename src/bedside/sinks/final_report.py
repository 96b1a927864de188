"""What sinks get when a run is over: the verdict, and the report as text and as a page."""

from __future__ import annotations

from pathlib import Path

from bedside.finding import Diagnosis
from bedside.report.html import diagnosis_to_html
from bedside.report.text import diagnosis_to_text
from bedside.sinks.sink import Ending

PAGE = "report.html"


def ending_of(diagnosis: Diagnosis, run_dir: Path) -> Ending:
    """The page is written beside the record; where that cannot be, there is none."""
    page: Path | None = run_dir / PAGE
    try:
        (run_dir / PAGE).write_text(diagnosis_to_html(diagnosis), encoding="utf-8")
    except OSError:
        page = None
    return Ending(diagnosis.verdict, diagnosis_to_text(diagnosis), page)
