"""LLaMA-Factory's `trainer_log.jsonl`: the HF Trainer's records again, without gradient norms."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bedside.logs.formats.json_records import first_record, objects, read_records
from bedside.logs.formats.log_format import Format
from bedside.logs.log import Log
from bedside.logs.numbers import number


def recognises(path: Path, head: bytes) -> bool:
    return {"current_steps", "total_steps", "percentage"} <= set(first_record(head))


def read(paths: Sequence[Path], part: str = "") -> Log:
    last: dict[str, float] = {}
    rows = []
    for record in objects(paths[0]):
        if record is not None:
            for name in ("current_steps", "total_steps"):
                said = number(record.get(name))
                if said is not None:
                    last[name] = said
            record = {k: v for k, v in record.items() if k not in ("total_steps", "percentage")}
        rows.append(record)
    log = read_records(rows, "llama-factory")
    if "total_steps" in last:
        log.config["max_steps"] = int(last["total_steps"])
        log.finished = last.get("current_steps", 0) >= last["total_steps"]
    return log


FORMAT = Format("llama-factory", "LLaMA-Factory trainer_log.jsonl", recognises, read, is_folder=True)
