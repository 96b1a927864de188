"""What is known about the making of a run: versions, commit, command line, device, seed, start.

Enough to run it again or to see what differed between two runs; no host name, no user name, and nothing that may be a
secret (`secrets.py`), because records are shared.
"""

from __future__ import annotations

import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bedside.record.secrets import command_line

GIT_SECONDS = 1.0  # a work tree on a slow disk is not worth waiting for


def environment(*, device: str | None = None, seed: int | None = None, folder: Path | None = None) -> dict[str, Any]:
    """The facts, as plain data; `folder` is the one whose git commit is meant, by default where we are."""
    import bedside

    facts: dict[str, Any] = {
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "command": command_line(sys.orig_argv),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "bedside": bedside.__version__,
    }
    for package in ("torch", "numpy"):
        module = sys.modules.get(package)  # never imported for its version's sake
        if module is not None:
            facts[package] = str(getattr(module, "__version__", "unknown"))
    if device is not None:
        facts["device"] = str(device)
    if seed is not None:
        facts["seed"] = int(seed)
    return facts | git_state(folder)


def git_state(folder: Path | None = None) -> dict[str, Any]:
    """The commit, and whether tracked files differ from it; nothing where there is no git to ask."""
    commit = _git(folder, "rev-parse", "HEAD")
    if not commit:
        return {}
    changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return {"git_commit": commit} | ({} if changed is None else {"git_dirty": bool(changed)})


def _git(folder: Path | None, *arguments: str) -> str | None:
    # Optional locks are what `git status` writes its index with: an observer changes nothing.
    command = ["git", "--no-optional-locks", *arguments]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=GIT_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
