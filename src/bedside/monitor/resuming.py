"""At which step a resumed run goes on: where its checkpoint was saved, which may be before the end of its record.

Adam and its relatives count their own steps, and that count is part of every checkpoint. Steps that a loss scaler
skipped are steps of ours and not of the optimizer, so those that were recorded are added.
"""

from __future__ import annotations

import os
from pathlib import Path

from torch import Tensor
from torch.optim import Optimizer

from bedside.collect.model.shards import is_sharded
from bedside.errors import BedsideError
from bedside.record.run import Run
from bedside.record.sqlite.reader import open_run
from bedside.record.sqlite.schema import rank_file, ranks_in
from bedside.record.sqlite.writer import Store
from bedside.stderr import warn_safely


def open_store(folder: Path, rank: int, *, asked: bool) -> Store:
    """The record to continue; a new one if the run had fewer ranks. If nobody asked for it (the launcher restarted the
    script), a record that cannot be continued must not stop the training: then a new folder is used."""
    try:
        is_new = folder.is_dir() and not rank_file(folder, rank).is_file() and bool(ranks_in(folder))
        return Store.create(folder, rank) if is_new else Store.resume(folder, rank)
    except BedsideError as refused:
        if asked:
            raise
        another = folder.with_name(f"{folder.name}-restart{os.environ.get('TORCHELASTIC_RESTART_COUNT', 1)}")
        warn_safely(f"bedside writes to {another} after the restart: {str(refused).splitlines()[0]}")
        return Store.create(another, rank)


def next_step(folder: Path, optimizer: Optimizer) -> int | None:
    """The step that comes next, the same on all ranks; None if only this rank's record can tell."""
    ranks = ranks_in(folder) if folder.is_dir() else []
    if not ranks:
        return None
    run = open_run(folder, ranks[0])
    counted = optimizer_steps(optimizer)
    if counted is None:  # each rank may have lost other steps in the end: the longest record tells
        return max(int(each.last_step) for each in run.of("rank_last_time") if each) + 1 if len(ranks) > 1 else None
    return _on_our_axis(run, counted - int(run.config.get("optimizer_steps_before", 0)))


def _on_our_axis(run: Run, counted: int) -> int:
    skipped = run.series("skipped")
    step = max(counted, 0)
    for each in skipped.steps[skipped.values == 1].tolist():
        if each < step:
            step += 1
    return step


def optimizer_steps(optimizer: Optimizer) -> int | None:
    """How many steps the optimizer has counted; None if it does not count."""
    counts = [state["step"] for state in optimizer.state.values() if isinstance(state, dict) and "step" in state]
    plain = [each for each in counts if isinstance(each, (int, float, Tensor)) and not is_sharded(each)]
    return max((int(each) for each in plain), default=None)
