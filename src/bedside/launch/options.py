"""What the command line says about a launched run, in a form that travels to child processes."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bedside.errors import RunFolder

RUNS = Path("bedside-runs")


@dataclass(frozen=True)
class Options:
    """Where the record goes, whether anything is printed, and what else `bedside.watch` gets."""

    folder: Path | None  # None: `bedside.watch` finds the one that all ranks of this launch share
    quiet: bool = False
    watch: Mapping[str, Any] = field(default_factory=dict)

    def new_folder(self) -> Path | None:
        """A folder for one training. Ranks share it; any other process, and any other training, takes the next one."""
        if self.folder is None or _is_a_rank():
            return self.folder
        number = 1
        while True:
            folder = self.folder if number == 1 else self.folder.with_name(f"{self.folder.name}_{number}")
            try:
                folder.mkdir(parents=True)
                return folder
            except FileExistsError:
                number += 1


def folder_for(given: str | None) -> Path | None:
    """The folder of the record, absolute: scripts change their working directory."""
    if given is not None:
        folder = Path(given).absolute()
        if folder.exists():
            try:
                folder.rmdir()  # an empty one is as good as new, and is claimed by making it
            except OSError:
                raise RunFolder(
                    f"{given!r} is not empty.",
                    expected="a new or empty folder for the record",
                    try_=f"bedside run --run-dir {given}-2 SCRIPT",
                ) from None
        return folder
    if "RANK" in os.environ and "MASTER_PORT" in os.environ:
        return None
    return (RUNS / time.strftime("%Y-%m-%d_%H-%M-%S")).absolute()


def _is_a_rank() -> bool:
    """Whether this process is one of several that train one model, without importing torch to find out."""
    if "RANK" in os.environ:
        return True
    distributed = sys.modules.get("torch.distributed")
    return distributed is not None and distributed.is_available() and bool(distributed.is_initialized())
