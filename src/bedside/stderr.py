"""What is said on stderr, without harm to the program: one that has closed its stderr, whose reader has gone, or that
turns warnings into exceptions, ends as it would have ended without us.
"""

from __future__ import annotations

import os
import select
import stat
import sys
import warnings

from bedside.errors import one_line, pass_on_interrupts


def warn_safely(message: str, *, stacklevel: int = 2) -> None:
    """A warning that never becomes an exception: under `python -W error` it is a line on stderr."""
    if _nobody_reads_stderr():
        return
    message = _plain_lines(message)
    try:
        warnings.warn(message, RuntimeWarning, stacklevel=stacklevel + 1)
    except Warning:
        _instead_of_raising(message)
    except Exception as error:  # a showwarning of the user's, or a stderr that was closed
        pass_on_interrupts(error)


def _instead_of_raising(message: str) -> None:
    say(message)


def _identity(number: int) -> tuple[int, int] | None:
    """Which file a file's number stands for; None if for none."""
    try:
        found = os.fstat(number)
    except OSError:
        return None
    return found.st_dev, found.st_ino


_STDERR_AT_START = _identity(2)


def _nobody_reads_stderr() -> bool:
    """Whether it is a pipe whose reader has gone, or was closed and its number is that of another file now (one to
    read, or a pipe of somebody's): what is written to the stream then stays in its buffer, and costs the program its
    exit code when Python tries again at the end."""
    try:
        import fcntl  # not on every system

        poll = select.poll()
        poll.register(sys.stderr, 0)  # errors are reported whether asked for or not
        if poll.poll(0) or fcntl.fcntl(sys.stderr, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            return True
        if sys.stderr is not sys.__stderr__ or _identity(2) == _STDERR_AT_START:
            return False
        mode = os.fstat(2).st_mode
        return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
    except (ImportError, OSError, ValueError, TypeError, AttributeError):  # no such stream, or no such call
        return False


def say(text: str) -> None:
    """A line on stderr, if anybody can read it there; one that is closed, broken or narrow changes nothing."""
    if sys.stderr is None or _nobody_reads_stderr():
        return
    try:
        encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
        readable = _plain_lines(text).encode(encoding, "backslashreplace").decode(encoding)
        if bars := sys.modules.get("tqdm.std"):  # in the middle of a bar it would begin at the bar's end
            bars.tqdm.write(readable, file=sys.stderr)
        else:
            sys.stderr.write(f"{readable}\n")
        sys.stderr.flush()
    except Exception as error:  # the stream may be an object of the program's own
        pass_on_interrupts(error)


def _plain_lines(text: str) -> str:
    """Several lines, each without control characters."""
    return "\n".join(map(one_line, text.split("\n")))
