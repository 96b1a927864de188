"""A Diagnosis or a Comparison in words and pictures: text, HTML, Markdown, JSON, annotations, plots.

Loading this package tells `bedside.rendering` how results show themselves; each format is imported when it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from bedside.rendering import register

_RENDERERS = {
    "diagnosis as text": ("bedside.report.text", "diagnosis_to_text"),
    "diagnosis as json": ("bedside.report.json", "diagnosis_to_json"),
    "diagnosis as html": ("bedside.report.html", "diagnosis_to_html"),
    "comparison as text": ("bedside.report.comparison", "comparison_to_text"),
    "run as figure": ("bedside.report.plots.series_figure", "run_figure"),
    "comparison as json": ("bedside.report.comparison", "comparison_to_json"),
}


def _register(kind: str, module: str, function: str) -> None:
    def renderer(*what: Any, **options: Any) -> Any:
        return getattr(import_module(module), function)(*what, **options)

    register(kind, renderer)


for _kind, (_module, _function) in _RENDERERS.items():
    _register(_kind, _module, _function)
