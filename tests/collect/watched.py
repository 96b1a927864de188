"""A short watched run of any loop, read back."""

from __future__ import annotations

import bedside
from bedside.record.sqlite.reader import open_run


def watched(model, optimizer, tmp_path, body, steps=6, **options):
    """`body(step, monitor)` is the loop's body; returns the recorded run."""
    monitor = bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True, **options)
    try:
        for step in range(steps):
            body(step, monitor)
    finally:
        monitor.close()
    return recorded(monitor)


def recorded(monitor):
    """What a monitor recorded, once it is closed; nothing may have been switched off."""
    monitor.close()
    run = open_run(monitor.run_dir)
    assert not run.events_of("switched_off"), run.events_of("switched_off")
    return run
