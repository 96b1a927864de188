"""One watched process: from the import of torch to the report.

A process that is forked or spawned by the script is a session of its own. What a session finds out it keeps itself;
only the folder of the record is shared.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

from bedside.launch.after_import import AfterImport
from bedside.launch.options import Options
from bedside.launch.script_end import die_of_the_interrupt, on_termination, print_reports

if TYPE_CHECKING:
    from bedside.launch.attach import Attach
    from bedside.launch.script_logs import ScriptLogs


class Session:
    """Begins before the script and ends after it."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self._imports = AfterImport()
        self._attach: Attach | None = None
        self._logs: ScriptLogs | None = None
        self._pid = os.getpid()
        self._reported = False
        self._ends_with_multiprocessing = False
        self.interrupted = False  # by Ctrl-C, which nobody caught

    def begin(self) -> None:
        atexit.register(self._last_of_all)  # the first to be registered is the last to be called
        on_termination(self.report)
        from bedside.launch.children import follow  # after atexit, because multiprocessing registers there as well

        follow(self.options, self._forked, begin)
        self._imports.install()
        self._imports.call("torch", self._torch_arrived)
        self._imports.call("keras", self._keras_arrived)
        self._imports.call("transformers.trainer", self._trainer_arrived)

    def script_ended(self, finished: bool) -> None:
        """The records are closed, unless another thread may still be training; the report comes last of all."""
        if self._logs is not None:
            self._logs.hand_over()
        main = threading.main_thread()
        if all(each is main or each.daemon for each in threading.enumerate()):
            self._close(finished)

    def _close(self, finished: bool | None) -> None:
        if self._logs is not None:
            self._logs.hand_over()
        for monitor in self._monitors():
            monitor.close(finished=finished)

    def report(self) -> None:
        """Once, and last of all."""
        if self._reported or os.getpid() != self._pid:
            return
        self._reported = True
        monitors = self._monitors()
        self._close(finished=False if hasattr(sys, "last_value") else None)
        if not self.options.quiet:
            print_reports(monitors, self.options)

    def _last_of_all(self) -> None:
        self.report()
        if self.interrupted:
            die_of_the_interrupt()

    def _monitors(self) -> list[Any]:
        return [each.monitor for each in self._attach.watched] if self._attach is not None else []

    def _torch_arrived(self, torch: Any) -> None:
        from bedside.launch.attach import Attach
        from bedside.launch.script_logs import ScriptLogs

        self._attach = Attach(self.options, self._started)
        self._attach.install()
        self._logs = ScriptLogs(self._attach)
        self._logs.listen(self._imports)

    def _keras_arrived(self, keras: Any) -> None:
        if self._attach is not None:  # its backend is torch, or torch is there anyway
            from bedside.launch.keras_training import KerasTrainings

            self._attach.safely(KerasTrainings(self._attach, keras).listen)

    def _trainer_arrived(self, trainer: Any) -> None:
        if (attach := self._attach) is not None:
            from bedside.launch import hf_training

            attach.safely(lambda: hf_training.listen(attach, trainer))

    def _started(self, monitor: Any) -> None:
        if not self._ends_with_multiprocessing:
            from bedside.launch.children import at_the_end_of_a_child

            self._ends_with_multiprocessing = at_the_end_of_a_child(self.report)

    def _forked(self) -> None:
        self._pid = os.getpid()
        self._reported = False
        self._ends_with_multiprocessing = False
        if self._attach is not None:
            self._attach.forked()


def begin(options: Options) -> Session:
    """In the process of the script, or in a child of it."""
    session = Session(options)
    session.begin()
    return session
