"""Detectron2's `metrics.json`: JSON lines with an iteration; evaluations stand as `bbox/AP` and the like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bedside.logs.formats.json_records import first_record, objects, read_records
from bedside.logs.formats.log_format import Format
from bedside.logs.log import Log

EVALUATIONS = ("bbox/", "segm/", "keypoints/", "sem_seg/", "panoptic_seg/")


def recognises(path: Path, head: bytes) -> bool:
    record = first_record(head)
    return "iteration" in record and ("total_loss" in record or any(k.startswith(EVALUATIONS) for k in record))


def read(paths: Sequence[Path], part: str = "") -> Log:
    return read_records((_named(record) for record in objects(paths[0])), "detectron2")


def _named(record: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if record is None:
        return None
    return {_validation(name): value for name, value in record.items()}


def _validation(name: str) -> str:
    """`bbox/AP50` as `val/bbox_AP50`: evaluations have no split in their name."""
    return "val/" + name.replace("/", "_") if name.startswith(EVALUATIONS) else name


FORMAT = Format("detectron2", "Detectron2 metrics.json", recognises, read, is_folder=True)
