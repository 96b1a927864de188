"""Other tools' logs, read into Runs: without the tool, without torch, without being told the format.

    run = bedside.load("lightning_logs/version_3")

One file per format; `FORMATS` lists them, the most particular first. `tree.py` finds runs in folders.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path

from bedside.errors import NoSuchPath, NotARun
from bedside.logs import (
    algoperf,
    hf_trainer,
    keras,
    lightning,
    llama_factory,
    mlperf,
    records,
    table,
    tensorboard,
    text,
    wandb,
)
from bedside.logs.format import Format, head_of
from bedside.logs.meaning import to_run
from bedside.record.run import Run

FORMATS: tuple[Format, ...] = (
    tensorboard.FORMAT,
    wandb.FORMAT,
    hf_trainer.FORMAT,
    llama_factory.FORMAT,
    algoperf.FORMAT,
    lightning.FORMAT,
    keras.FORMAT,
    mlperf.FORMAT,
    table.FORMAT,
    records.FORMAT,
    text.FORMAT,
)


def load(path: str | PathLike[str], *, format_in: str | None = None, mapping: Mapping[str, str] | None = None) -> Run:
    """Read one run: a folder of bedside's own, or a log that another tool wrote."""
    place = Path(path)
    if not place.exists():
        raise NoSuchPath(f"{place} does not exist.", expected="a run folder or a log file", try_="ls")
    files = sorted(p for p in place.iterdir() if p.is_file()) if place.is_dir() else [place]
    for format in FORMATS:
        if format_in and format.name != format_in:
            continue
        mine = [f for f in files if format.recognises(f, text.parts_of(f) if format.name == "text" else head_of(f))]
        if mine:
            return to_run(format.read(mine), str(path), mapping)
    raise NotARun(f"{place} holds no log", expected="")
