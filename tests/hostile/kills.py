"""Kill a real training with -9 at a moment that nobody chose, and count what its record lacks.

The training reports each step with the time by a clock of its own, which stands still while it is ready to run but
other programs have the processor (Linux counts that wait for each thread; elsewhere it is the ordinary clock).
So a busy machine adds nothing to what is lost, and every kill counts.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tests.hostile.programs import TRAINING, boxed

import bedside

# Steps of half a millisecond, of a few, and of a quarter of a second; every report is written after the step it is of.
PACES = {"quick": 0.0, "usual": 0.005, "slow": 0.25}
REPORTING = """
import os
pace, evaluates = float(sys.argv[2]), sys.argv[3] == "evaluates"
try:
    waits = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
except OSError:
    waits = None
def now():
    waited = 0 if waits is None else int(os.pread(waits, 100, 0).split()[1])
    return time.monotonic() - 1e-9 * waited
monitor = bedside.watch(model, optimizer, run_dir=sys.argv[1], quiet=True)
for step in range(10**9):
    train(1)
    os.write(1, f"{step} {now()}\\n".encode())
    time.sleep(pace)
    if evaluates and step % 100 == 99:
        monitor.log(val_loss=1.0)
"""


@dataclass(frozen=True)
class Kill:
    """What was lost: seconds from the first step that the record lacks to the last one that was reported."""

    steps: int
    recorded: int
    lost_seconds: float


def kill_after(folder: Path, seconds: float, pace: str, *, evaluates: bool = False, black_box: bool = False) -> Kill:
    """Train for so long after the first step, kill, and compare the record with what was reported."""
    reports = folder.with_suffix(".reports")
    program = TRAINING + (boxed(REPORTING) if black_box else REPORTING)
    with reports.open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, "-c", program, str(folder), str(PACES[pace]), "evaluates" * evaluates],
            stdout=said,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        while not reports.stat().st_size:
            assert process.poll() is None
            time.sleep(0.01)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    *lines, _ = reports.read_text().split("\n")
    reported = {int(step): float(when) for step, when in map(str.split, lines)}
    run = bedside.load(folder)
    recorded = len(run.loss)  # what was logged by hand may be a step further: it does not wait for the steps before it
    assert run.loss.steps.tolist() == list(range(recorded)), "no hole, no torn row"
    lost = [when for step, when in reported.items() if step >= recorded]
    return Kill(len(reported), recorded, max(reported.values()) - lost[0] if lost else 0.0)
