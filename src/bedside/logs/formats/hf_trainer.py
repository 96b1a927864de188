"""Hugging Face `trainer_state.json`: the Trainer's `log_history`, with its hidden NaN losses found again.

`logging_nan_inf_filter` is on by default: after a NaN the log says `loss: 0.0`, beside a NaN gradient norm where
that is logged. The gradient norm is the one before clipping.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from bedside.logs.formats.log_format import Format, Unreadable, text_of
from bedside.logs.log import Column, Log
from bedside.logs.numbers import number
from bedside.logs.sidecar_settings import settings_beside

MOST_BYTES = 2**29
CLIFF = 0.05  # the Trainer rounds below 5e-5 to 0.0; no training loss falls a thousandfold between two records
_SET = re.compile(r"eval_(.+)_(?:runtime|samples_per_second)$")
# Written once, at the end, about the whole run.
FINAL = ("train_loss", "train_runtime", "train_samples_per_second", "train_steps_per_second", "total_flos")


def recognises(path: Path, head: bytes) -> bool:
    if path.name == "trainer_state.json":
        return head.lstrip().startswith(b"{")
    start = head.lstrip()[:4096]
    return start.startswith(b"{") and b'"log_history"' in head


def read(paths: Sequence[Path], part: str = "") -> Log:
    """The longest history among the files: every checkpoint folder holds the run up to itself."""
    states = []
    for path in paths:
        try:
            states.append(_state(path))
        except Unreadable:
            if len(paths) == 1:
                raise
    if not states:
        raise Unreadable("none of its trainer_state.json files can be read")
    state = max(states, key=lambda found: (number(found.get("global_step")) or 0, len(found["log_history"])))
    log = Log("hf-trainer")
    log.config = settings_beside(paths[0])
    log.config.update({k: v for k, v in state.items() if isinstance(v, (int, float, str, bool))})
    for record in state["log_history"]:
        if isinstance(record, Mapping):
            _record(log, record)
    _recover_nans(log)
    steps, planned = number(state.get("global_step")), number(state.get("max_steps"))
    if steps and planned:
        log.finished = steps >= planned
    if len(states) > 1:
        log.note(f"{len(states)} checkpoints tell of this run; the longest history was read.")
    return log


def _state(path: Path) -> dict[str, Any]:
    try:
        state = json.loads(text_of(path, MOST_BYTES))
    except (ValueError, RecursionError) as broken:
        raise Unreadable(f"it is not JSON ({broken})") from None
    if not isinstance(state, dict) or not isinstance(state.get("log_history"), list):
        raise Unreadable("it has no log_history")
    return state


def _record(log: Log, record: Mapping[str, object]) -> None:
    step = number(record.get("step"))
    if step is None:
        return
    for name in record:
        found = _SET.match(str(name))
        if found:
            log.sets.add(found[1])
    if "train_runtime" in record:  # the summary of the whole run, not a reading
        log.config.update({k: v for k, v in record.items() if k in FINAL and isinstance(v, (int, float))})
        record = {k: v for k, v in record.items() if k not in FINAL}
    log.add_row(step, record, skip=("step",))


def _recover_nans(log: Log) -> None:
    loss, norm = log.columns.get("loss"), log.columns.get("grad_norm")
    if loss is None:
        return
    bad = {s for s, v in zip(norm.steps, norm.values, strict=True) if not math.isfinite(v)} if norm else set()
    beside = [i for i, v in enumerate(loss.values) if v == 0.0 and loss.steps[i] in bad]
    for i in beside:
        loss.values[i] = math.nan
    if beside:
        log.note(f"{len(beside)} losses of 0.0 beside a NaN gradient norm were read as NaN: the Trainer filters NaN.")
    still = {s for s, v in zip(norm.steps, norm.values, strict=True) if v == 0.0} if norm else set()
    _cliff_to_zero(log, loss, still)


def _cliff_to_zero(log: Log, loss: Column, still: set[float]) -> None:
    """A loss that drops to exactly zero in one record and stays there was NaN, unless the gradient is zero too."""
    values, end = loss.values, len(loss)
    while end and values[end - 1] == 0.0 and loss.steps[end - 1] not in still:
        end -= 1
    zeros = len(values) - end
    before = [v for v in values[max(0, end - 5) : end] if math.isfinite(v)]
    if zeros >= 2 and before and min(before[-1], median(before)) > CLIFF:
        for i in range(end, len(values)):
            values[i] = math.nan
        log.note(
            f"The last {zeros} losses are exactly 0.0 after {before[-1]:g}: read as NaN, which the Trainer filters."
        )


FORMAT = Format("hf-trainer", "Hugging Face trainer_state.json", recognises, read, is_folder=True)
