"""Hugging Face `trainer_state.json`: the Trainer's `log_history`, with its hidden NaN losses found again.

`logging_nan_inf_filter` is on by default: after a NaN the log says `loss: 0.0`, beside a NaN gradient norm where
that is logged. The gradient norm is the one before clipping.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bedside.logs.filtered_nan import recover_filtered
from bedside.logs.formats.log_format import Format, Unreadable, text_of
from bedside.logs.log import Log
from bedside.logs.numbers import number
from bedside.logs.sidecar_settings import settings_beside

MAX_BYTES = 2**29
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
    recover_filtered(log)
    steps, planned = number(state.get("global_step")), number(state.get("max_steps"))
    if steps and planned:
        log.finished = steps >= planned
    if len(states) > 1:
        log.note(f"{len(states)} checkpoints belong to this run; the longest history was read.")
    return log


def _state(path: Path) -> dict[str, Any]:
    try:
        state = json.loads(text_of(path, MAX_BYTES))
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


FORMAT = Format("hf-trainer", "Hugging Face trainer_state.json", recognises, read, is_folder=True)
