"""MLPerf result files: `:::MLLOG` lines in JSON, amid whatever else the run printed.

Evaluations stand under one key, `eval_accuracy`, whatever they measure; the metadata or the benchmark tells.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bedside.logs.formats.log_format import Format
from bedside.logs.formats.text.lines import lines_of, read_lines
from bedside.logs.log import Log
from bedside.logs.numbers import number
from bedside.naming.metric_names import read_name

MARK = ":::MLLOG"
# What `eval_accuracy` is in each benchmark of the suite.
METRIC = {
    "resnet": "accuracy",
    "bert": "mlm_accuracy",
    "gnmt": "bleu",
    "transformer": "bleu",
    "rnnt": "wer",
    "ssd": "map",
    "maskrcnn": "map",
    "retinanet": "map",
    "unet3d": "dice",
    "dlrm": "auc",
    "dlrm_dcnv2": "auc",
    "ncf": "hit_rate",
    "gpt3": "loss",
    "llama31_405b": "loss",
    "llama31_8b": "loss",
    "llama2_70b_lora": "loss",
    "flux1": "loss",
    "gnn": "accuracy",
    "rgat": "accuracy",
}
SAMPLES_NOT_EPOCHS = 10_000  # some submissions write samples under epoch_num; nobody trains this many epochs
_SETTINGS = (
    "opt_",
    "global_batch_size",
    "seed",
    "submission_",
    "gradient_accumulation",
    "train_samples",
    "eval_samples",
)


def recognises(path: Path, head: bytes) -> bool:
    return MARK.encode() in head


def read(paths: Sequence[Path], part: str = "") -> Log:
    points: list[dict[str, Any]] = []
    other: list[str] = []
    for line in lines_of(paths[0]):
        _, mark, rest = line.partition(MARK)
        if not mark:
            other.append(line)
            continue
        try:
            point = json.loads(rest)
        except (ValueError, RecursionError):
            continue
        if isinstance(point, dict) and isinstance(point.get("key"), str):
            points.append(point)
    text = read_lines(other)
    log = Log("mlperf", axis=text.axis, columns=text.columns, config=text.config, notes=text.notes)
    for point in points:
        if point["key"].startswith(_SETTINGS):
            log.config.setdefault(point["key"], point.get("value"))
    _evaluations(log, points, _steps_per_epoch(text))
    for point in points:
        if point["key"] == "run_stop":
            status = str(_metadata(point).get("status", ""))
            log.config["status"] = status
            log.finished = status == "success"
            if status not in ("", "success"):
                log.note(f"The log gives its own status: {status}.")
    return log


def _evaluations(log: Log, points: Sequence[Mapping[str, Any]], per_epoch: float | None) -> None:
    benchmark = str(log.config.get("submission_benchmark", "")).lower()
    batch = number(log.config.get("global_batch_size"))
    seen: dict[str, set[float]] = {}
    nothing_else = not log.columns
    order = max((column.order[-1] for column in log.columns.values() if len(column)), default=0.0)
    for point in points:
        if point["key"] not in ("eval_accuracy", "eval_loss", "train_loss", "eval_error"):
            continue
        value, metadata = number(point.get("value")), _metadata(point)
        step = _step(metadata, batch, per_epoch)
        if value is None or step is None:
            continue
        name = {"eval_loss": "val/loss", "train_loss": "loss", "eval_error": "val/error"}.get(point["key"])
        if name is None:
            metric = str(metadata.get("metric") or METRIC.get(benchmark, "accuracy")).lower()
            name = f"val/{'clip_score' if metric == 'clip' else metric}"
        if name not in seen:  # what the text around it says of the same metric is less exact
            log.columns = {c: v for c, v in log.columns.items() if _evaluation(c) != name}
        if step in seen.setdefault(name, set()):
            continue  # every rank says it
        seen[name].add(step)
        order += 1
        log.add(name, step, value, order)
    if nothing_else and batch is None and per_epoch is None:
        log.axis = "epoch"


def _evaluation(column: str) -> str:
    meaning = read_name(column)
    return f"val/{meaning.metric}" if meaning.split in ("val", "test") else ""


def _step(metadata: Mapping[str, Any], batch: float | None, per_epoch: float | None) -> float | None:
    steps, samples, epoch = (number(metadata.get(key)) for key in ("step_num", "samples_count", "epoch_num"))
    if steps is not None:
        return steps
    if samples is None and epoch is not None and epoch >= SAMPLES_NOT_EPOCHS:
        samples = epoch
    if samples is not None:
        return round(samples / batch) if batch else samples
    if epoch is not None:
        return round(epoch * per_epoch) if per_epoch else epoch
    return None


def _steps_per_epoch(text: Log) -> float | None:
    said = text.config.get("steps_per_epoch")
    return float(said) if isinstance(said, (int, float)) else None


def _metadata(point: Mapping[str, Any]) -> Mapping[str, Any]:
    found = point.get("metadata")
    return found if isinstance(found, dict) else {}


FORMAT = Format("mlperf", "MLPerf result file (:::MLLOG)", recognises, read)
