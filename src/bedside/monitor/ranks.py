"""Which rank this is, where its record goes, and what the others should know about it.

Ranks never wait for each other on our account: nothing here talks to another process. All of them find the same folder
from what the launcher gave them, each writes a file of its own there, and whoever reads the folder puts them together.
"""

from __future__ import annotations

import itertools
import os
import socket
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from bedside.collect.model.shards import is_sharded, same_batch, world_size
from bedside.record.sqlite.schema import rank_file

RUNS = Path("bedside-runs")
_NEW_FOLDERS = itertools.count()
CONTACT_ERRORS = ("DistBackendError", "DistNetworkError", "DistStoreError")  # what torch.distributed raises,
CONTACT_WORDS = ("connection closed by peer", "connection reset by peer", "gloo", "nccl", "processgroup")  # and says


def rank() -> int:
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank()
    return int(os.environ.get("RANK", 0))


def several_ranks() -> bool:
    return max(world_size(), int(os.environ.get("WORLD_SIZE", 1))) > 1


def restarted(run_dir: Path, rank: int) -> bool:
    """Whether the launcher restarted this rank after a failure and its earlier record is there."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0)) > 0 and rank_file(run_dir, rank).is_file()


def new_folder() -> Path:
    """A folder no other run has. All ranks of one launch find the same one, also after a restart."""
    number = next(_NEW_FOLDERS)  # a script may watch several models, on all ranks in the same order
    suffix = f"_{number}" if number else ""
    if "RANK" in os.environ and "MASTER_PORT" in os.environ:
        launch = os.environ.get("TORCHELASTIC_RUN_ID", "none")
        if launch != "none" and int(os.environ.get("GROUP_WORLD_SIZE", 1)) > 1:
            return RUNS / f"{launch}{suffix}"  # several machines, whose launchers have this in common and nothing else
        return RUNS / f"{launch}-{os.environ['MASTER_PORT']}-{os.getppid()}{suffix}"
    stamp = time.strftime("%Y-%m-%d_%H-%M-%S")
    if world_size() > 1:  # started by the script itself, as torch.multiprocessing.spawn does
        return RUNS / _first_proposal(f"bedside/folder/{number}", f"{stamp}-{os.getppid()}")
    folder = RUNS / stamp
    count = 2
    while folder.exists():
        folder = RUNS / f"{stamp}_{count}"
        count += 1
    return folder


def _first_proposal(key: str, proposal: str) -> str:
    """What the first rank to arrive proposed. No rank waits for another: the first one decides."""
    store = torch.distributed.distributed_c10d._get_default_store()
    return str(store.compare_set(key, "", proposal).decode())


def described(model: nn.Module, rank: int) -> dict[str, Any]:
    """What readers of all records need to know about this one; nothing if it is the only one."""
    world = max(world_size(), int(os.environ.get("WORLD_SIZE", 1)))
    if world < 2:
        return {}
    return {
        "rank": rank,
        "world_size": world,
        "sharded": any(map(is_sharded, model.parameters())),
        "same_batch": same_batch(model),
        "host": socket.gethostname(),
    }


def ending(error: BaseException | None) -> dict[str, Any]:
    """How an exception ended this rank, for readers who look for the first rank that failed."""
    if error is None:
        return {}
    kinds: Iterable[str] = (each.__name__ for each in type(error).__mro__)
    words = str(error).lower()
    lost = any(kind in CONTACT_ERRORS for kind in kinds) or any(each in words for each in CONTACT_WORDS)
    first_line = next(iter(str(error).splitlines()), "")
    return {
        "error": f"{type(error).__name__}: {first_line[:200]}".rstrip(": "),
        "lost_contact": lost,
        "interrupted": isinstance(error, KeyboardInterrupt),
    }
