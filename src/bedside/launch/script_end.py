"""The end of a launched script: the report, and a process that ends as it would have without bedside."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FrameType
from typing import Any

from bedside.launch.options import Options
from bedside.stderr import say

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
RUNNER = os.path.join(PACKAGE, "launch", "runner.py")
SOON = 0.02  # seconds: long enough for us to finish what we were writing


def on_termination(report: Callable[[], None]) -> None:
    """At SIGTERM the report is printed, and then the process dies of the signal as it would have. A handler of the
    script's own replaces this one."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        return

    def terminated(number: int, frame: FrameType | None) -> None:
        if _is_ours(frame):  # in the middle of writing the record: once more, when that is done
            threading.Timer(SOON, os.kill, (os.getpid(), number)).start()
            return
        try:
            report()
        finally:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    signal.signal(signal.SIGTERM, terminated)


def die_of_the_interrupt() -> None:
    """Shells and schedulers see that a program was interrupted from the signal that it died of. Python sees to that
    by itself, but not under `python -m`."""
    _flush()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)


def _is_ours(frame: FrameType | None) -> bool:
    """Whether the script is in the middle of something of ours; we are around all of it, down to the runner."""
    while frame is not None and frame.f_code.co_filename != RUNNER:
        if frame.f_code.co_filename.startswith(PACKAGE):
            return True
        frame = frame.f_back
    return False


def print_reports(monitors: Sequence[Any], options: Options) -> None:
    """On stderr: what the script prints to stdout stays its own. A failure of ours must not be the last word."""
    speaking = [each for each in monitors if each.rank == 0 and each.step > 0]
    try:
        if speaking:
            _flush()
            _print_all(speaking)
        elif not monitors and not _somebody_else_trained(options):
            say("bedside: no optimizer made a step, so there is nothing to report.")
    except Exception as error:
        if os.environ.get("BEDSIDE_DEBUG"):
            raise
        say(f"bedside: no report ({type(error).__name__}: {error})")


def _print_all(monitors: Sequence[Any]) -> None:
    """One training in full; of several a table, and in full the worst."""
    from bedside.report.runs_table import badness, table_lines
    from bedside.report.styled_lines import plain

    latest = {diagnosis.run: (diagnosis, each) for each in monitors for diagnosis in [each.diagnose()]}
    diagnoses = [diagnosis for diagnosis, _ in latest.values()]
    table = f"{plain(table_lines(diagnoses))}\n\n" if len(diagnoses) > 1 else ""
    worst, monitor = latest[min(diagnoses, key=badness).run]
    folder = _relative(monitor.run_dir)
    say(f"\n{table}{worst}\nThe record is in {folder}.")


def _relative(path: Any) -> str:
    relative = os.path.relpath(path)
    return relative if not relative.startswith("..") else str(path)


def _somebody_else_trained(options: Options) -> bool:
    """Whether a child process or another rank trained: then the record and the report are its own."""
    return options.folder is None or options.folder.exists()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # closed, or replaced by something that cannot
            stream.flush()
