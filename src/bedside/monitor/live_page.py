"""The live page of the run that is being watched: `watch(..., serve=True)`.

It runs in a separate process, which knows only the folder of the record. Whatever happens to it, the training goes on;
when the training ends, it ends too.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from bedside.errors import BedsideError, install_extra
from bedside.stderr import say

PACKAGES = ("starlette", "uvicorn")
_started: list[subprocess.Popen[bytes]] = []  # kept, or Python would warn about a process that is still running


def check_live_page() -> None:
    """Fail at the call if the page cannot work: nobody should wait for a page that never comes."""
    if missing := [name for name in PACKAGES if find_spec(name) is None]:
        raise BedsideError(
            f"serve=True needs {' and '.join(missing)}, which is not installed.",
            expected="the extra `live`",
            try_=f"{install_extra('live')}, or without it in a terminal: bedside watch RUN",
        )


def start_live_page(run_dir: Path) -> None:
    """Start it; it prints its address on stderr as soon as it listens."""
    command = [sys.executable, "-m", "bedside.live.server", str(run_dir), str(os.getpid())]
    try:
        # A session of its own: Ctrl-C belongs to the training, and the page ends when its parent is gone.
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
        _started.append(process)
    except OSError as refused:
        say(f"bedside: the live page could not be started ({refused}); the training goes on.")
