"""Runs the script in this process, with the same exit code, exceptions and tracebacks as without bedside."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from types import CodeType, ModuleType, TracebackType
from typing import Any

from bedside.errors import BedsideError
from bedside.launch.options import Options
from bedside.launch.script_end import PACKAGE
from bedside.launch.target import Target, names_in
from bedside.launch.watched_process import Session, begin
from bedside.stderr import say

REWARDS = {"reward", "rewards"}  # variables of reinforcement learning
NO_SCRIPT = 2  # exit code, as for every call that cannot be carried out


def run_script(target: Target, options: Options) -> None:
    """Returns when the script has come to its end; everything else it does, it does to the caller: SystemExit passes
    through, and an exception has already been shown when it gets out of here."""
    session: Session | None = None
    try:
        code, main = _prepared(target)
        if names_in(code) & REWARDS:  # the loss of a policy is not a measure of its progress
            options = replace(options, watch={**options.watch, "config": {"objective": "reward"}})
        session = begin(options)
        exec(code, vars(main))
        session.script_ended(finished=True)
    except SystemExit as leaving:
        if session is not None:
            session.script_ended(finished=leaving.code in (None, 0))
        raise
    except BaseException as error:
        _show(error)
        if session is not None and isinstance(error, KeyboardInterrupt):
            session.interrupted = True
        raise


def _prepared(target: Target) -> tuple[CodeType, ModuleType]:
    try:
        return target.prepare()
    except BedsideError as error:  # there is no such script
        say(str(error))
        sys.exit(NO_SCRIPT)


def _show(error: BaseException) -> None:
    """What Python does with an exception that nobody catches, which the script may have changed; without our frames.
    Python then does the same once more, with nothing left to print."""
    traceback = without_ours(error.__traceback__)
    error.__traceback__ = traceback
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, traceback
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    hook, sys.excepthook = sys.excepthook, lambda *_: None
    try:
        hook(type(error), error, traceback)
    except Exception as failed:  # as Python does for a hook that fails
        failed.__context__, failed.__traceback__ = None, without_ours(failed.__traceback__)
        print("Error in sys.excepthook:", file=sys.stderr)
        sys.__excepthook__(type(failed), failed, failed.__traceback__)
        print("\nOriginal exception was:", file=sys.stderr)
        sys.__excepthook__(type(error), error, traceback)


def without_ours(traceback: TracebackType | None) -> TracebackType | None:
    """The same traceback without frames of bedside's between the script and the place where it failed. Where bedside
    itself is that place (the script calls it with a bad argument), those last frames stay."""
    entries: list[TracebackType] = []
    while traceback is not None:
        entries.append(traceback)
        traceback = traceback.tb_next
    ours = [_is_ours(each) for each in entries]
    kept: Any = None
    at_the_end = True
    for entry, mine in zip(reversed(entries), reversed(ours), strict=True):
        at_the_end &= mine
        if not mine or (at_the_end and not all(ours)):
            kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return kept  # type: ignore[no-any-return]  # None for an error that has no frame of the script, as a SyntaxError


def _is_ours(entry: TracebackType) -> bool:
    return os.path.abspath(entry.tb_frame.f_code.co_filename).startswith(PACKAGE)
