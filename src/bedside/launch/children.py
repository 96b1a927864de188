"""Processes that the script starts: the one that trains is watched, wherever it is.

A forked child inherits everything and only forgets its parent's monitors. A spawned one starts from nothing; with the
data that multiprocessing sends it, it receives a `Stowaway`, which starts watching there when it is unpickled (the way
coverage follows children). Neither argv nor the environment nor `sitecustomize` is touched.
"""

from __future__ import annotations

import multiprocessing.spawn
import multiprocessing.util
import os
from collections.abc import Callable
from typing import Any

from bedside.launch.options import Options

AFTER_THEIRS = -100  # exit priority: the script's own finalizers come first


class Stowaway:
    """Travels to a spawned child, and begins to watch there."""

    def __init__(self, options: Options, begin: Callable[[Options], Any]) -> None:
        self.options = options
        self.begin = begin

    def __setstate__(self, state: dict[str, Any]) -> None:
        state["begin"](state["options"])


def follow(options: Options, forked: Callable[[], None], begin: Callable[[Options], Any]) -> None:
    """From now on children are watched as well: a copy of this process calls `forked`, a new one `begin`."""
    os.register_at_fork(after_in_child=forked)
    original = multiprocessing.spawn.get_preparation_data

    def get_preparation_data(name: str) -> dict[str, Any]:
        return {**original(name), "bedside": Stowaway(options, begin)}

    multiprocessing.spawn.get_preparation_data = get_preparation_data


def at_the_end_of_a_child(action: Callable[[], None]) -> bool:
    """Children leave by `os._exit`, past atexit, but multiprocessing has an end of its own. Whether this is one."""
    if multiprocessing.parent_process() is None:
        return False
    multiprocessing.util.Finalize(None, action, exitpriority=AFTER_THEIRS)
    return True
