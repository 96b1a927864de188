"""Which files may be opened: plain ones, and in a tree only those that lie in it.

Opening a named pipe waits for ever, a device may do anything, and a link may lead to what nobody meant to show. So a
tree that somebody sent is read without following links out of it, and nothing in it is opened that is no file.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def kind_of(path: Path) -> str:
    """`a named pipe`, `a device`; nothing for a file or a folder."""
    try:
        return KINDS.get(stat.S_IFMT(os.stat(path).st_mode), "")
    except OSError:
        return ""


def may_open(path: Path, root: Path) -> bool:
    """Whether this is a plain file that really lies below `root`, which is given without links."""
    return lies_in(path, root) and path.is_file()


def lies_in(path: Path, root: Path) -> bool:
    try:
        return path.resolve().is_relative_to(root)
    except (OSError, RuntimeError):  # links in a circle
        return False
