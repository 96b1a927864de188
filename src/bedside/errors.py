"""Every error a user can meet has three lines: what happened, what was expected, what to type.

The facts are raised where they are known; the public functions (`bedside.watch`, the command line) add the
user's own call as the line to type, once, with `with_call`.
"""

from __future__ import annotations

import errno
import inspect
import os
from collections.abc import Iterable
from difflib import get_close_matches
from itertools import pairwise
from types import FrameType


class BedsideError(Exception):
    """Something the user can put right; prints as three lines, exit code 2 on the command line."""

    def __init__(self, what: str, *, expected: str, try_: str = "") -> None:
        self.what = what
        self.expected = expected
        self.try_ = try_
        super().__init__(what)

    def __str__(self) -> str:
        lines = [self.what, f"  Expected: {self.expected}"]
        if self.try_:
            lines.append(f"  Try: {self.try_}")
        return "\n".join(map(one_line, lines))

    def with_call(self, try_: str) -> BedsideError:
        """The same error with the user's own call filled in, unless the fact already knew better."""
        self.try_ = self.try_ or try_
        return self


def one_line(text: str) -> str:
    """Names and complaints come from other people's files: no line breaks, no control characters."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


class NotARun(BedsideError):
    """The path exists, but no run could be read from it."""


class NoSuchPath(BedsideError):
    """The path does not exist."""


class BadOption(BedsideError):
    """An option, a setting or a name that bedside does not know."""


class RunFolder(BedsideError):
    """The folder a run should be written to cannot be used."""


class BadModel(BedsideError):
    """The model or the optimizer cannot be watched."""


def nearest_first(wrong: str, names: Iterable[str], most: int = 6) -> str:
    """`names` as a readable list with the likeliest spellings of `wrong` first."""
    known = list(names)
    by_case = {name.lower(): name for name in known}  # `grd101` is near to GRD101
    close = [by_case[each] for each in get_close_matches(wrong.lower(), by_case, n=3, cutoff=0.5)]
    rest = [name for name in known if name not in close]
    shown = (close + rest)[:most]
    return ", ".join(shown) + (", …" if len(known) > most else "")


def install_extra(extra: str) -> str:
    """The command that installs an extra from where bedside itself came: a clone, or a package index."""
    import json
    import shlex
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import unquote, urlsplit

    source, editable = "bedside", ""
    try:
        origin = json.loads(distribution("bedside").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, OSError, ValueError):  # on the path without being installed
        origin = {}
    folder = unquote(urlsplit(origin.get("url", "")).path)
    if "dir_info" in origin and os.path.isdir(folder):
        source, editable = folder, "-e " if origin["dir_info"].get("editable") else ""
    return f"pip install {editable}{shlex.quote(f'{source}[{extra}]')}"


def unknown_name(kind: str, wrong: str, names: Iterable[str], try_: str = "") -> BadOption:
    """`No rule is called 'GRD999'.` with the nearest real names first."""
    return BadOption(
        f"No {kind} is called {wrong!r}.",
        expected=f"one of {nearest_first(wrong, names)}",
        try_=try_,
    )


def unexpected_failure(unexpected: BaseException | None) -> BedsideError:
    """What could not have been foreseen, still in three lines."""
    if isinstance(unexpected, OSError) and unexpected.errno == errno.ENAMETOOLONG:
        path = str(unexpected.filename)
        return NoSuchPath(
            f"'{path[:40]}…' is too long for a path: {len(path)} characters.", expected="a path that exists"
        )
    if isinstance(unexpected, FileNotFoundError) and working_directory_is_gone():
        return NoSuchPath(
            "The working directory was deleted.", expected="a directory that exists", try_="the same command elsewhere"
        )
    what = f"bedside itself failed: {type(unexpected).__name__}: {unexpected}".splitlines()[0]
    return BedsideError(
        what,
        expected="no exception to get this far, whatever the input; please report it with the traceback",
        try_="the same command with BEDSIDE_DEBUG=1 in front of it, which shows the traceback",
    )


def working_directory_is_gone() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


class NotEnough(Exception):
    """Raised by a rule that has its vitals but too little of them: `NotEnough("50 steps of loss, has 12")`."""

    def __init__(self, needs: str) -> None:
        self.needs = needs
        super().__init__(needs)


def is_interrupt(error: BaseException) -> bool:
    """Whether it came from outside while our code ran, and is not ours to catch: Ctrl-C, an exit, or what a signal
    handler of the program raised (a time limit that was set with `signal.alarm`)."""
    if not isinstance(error, Exception):
        return True
    traceback = error.__traceback__
    while traceback is not None:
        if _handles_a_signal(traceback.tb_frame):
            return True
        traceback = traceback.tb_next
    return False


def pass_on_interrupts(error: Exception) -> None:
    """To be called wherever anything that fails is caught."""
    if is_interrupt(error):
        raise error


def _handles_a_signal(frame: FrameType) -> bool:
    """Whether it was given what handlers are given: the number of a signal, and the frame that it came in."""
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + bool(code.co_flags & inspect.CO_VARARGS)]
    given: list[object] = []
    for value in map(frame.f_locals.get, names):
        given.extend(value if isinstance(value, tuple) else (value,))
    return any(isinstance(a, int) and isinstance(b, FrameType) for a, b in pairwise(given))
