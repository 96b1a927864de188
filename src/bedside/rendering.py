"""How results show themselves: `print(diagnosis)`, `comparison.to_json()`, `run.plot()`.

A Diagnosis, a Comparison and a Run know nothing of reports; reports know them. So `bedside.report` registers here what
it can draw when it is loaded, and the modules that hand results to users (`bedside.api`, `bedside.monitor`) load it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_renderers: dict[str, Callable[..., Any]] = {}


def register(kind: str, renderer: Callable[..., Any]) -> None:
    """From now on `render(kind, …)` calls this."""
    _renderers[kind] = renderer


def render(kind: str, *what: Any, **options: Any) -> Any:
    """Draw something in the way that was registered for it; its plain repr where no report is loaded."""
    renderer = _renderers.get(kind)
    return renderer(*what, **options) if renderer is not None else repr(what[0])
