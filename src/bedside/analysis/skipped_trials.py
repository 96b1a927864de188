"""Trials that need a forward of their own run on a copy of the model; which of them could not be made, and why."""

from __future__ import annotations

from bedside.record.run import Run


def not_tried(run: Run, trial: str) -> str:
    """What a rule lacked that could not be applied: the trial, and why it was not made; empty if it was."""
    why = next((e.data.get("why", "") for e in run.events_of("not_probed") if e.data.get("trial") == trial), None)
    return "" if why is None else f"a trial on a copy of the model, which was not made: {why}"
