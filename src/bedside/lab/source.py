"""A recorded run from whatever the user has: a Run, the Monitor that records it, or a path."""

from __future__ import annotations

import os
from typing import Any

from bedside.errors import BadOption
from bedside.record.run import Run


def run_of(source: Any) -> Run:
    """The run, read as far as it is recorded now."""
    if isinstance(source, Run):
        return source
    if isinstance(source, str | os.PathLike):
        from bedside.logs import load

        return load(source)
    if hasattr(source, "run_dir") and hasattr(source, "diagnose"):
        source._catch_up()
        recorded: Run = source._notes.recorded()
        return recorded
    raise BadOption(
        f"A {type(source).__name__} is neither a model nor a run.",
        expected="a torch.nn.Module, a Monitor, a Run, or the path of one",
        try_="bedside.load('runs/a')",
    )
