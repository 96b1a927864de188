"""How gradients were clipped: thresholds of norms and of single elements are not compared with the same number."""

from __future__ import annotations

from bedside.record.run import Run


def clips_by_value(run: Run) -> bool:
    """Whether the threshold is that of single elements.

    >>> from bedside.record.run import Event
    >>> from bedside.testing import a_run
    >>> clips_by_value(a_run(loss=1.0, events=[Event(3, "clipping", {"by": "value"})])), clips_by_value(a_run(loss=1.0))
    (True, False)
    """
    events = run.events_of("clipping")
    return bool(events) and events[-1].data.get("by") == "value"
