"""Comet's offline archives: a zip with `messages.json`, one message per line.

The archive is read as a stream and only that member of it, up to a limit, so a zip bomb is cut off.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bedside.logs.formats.log_format import Format, Unreadable
from bedside.logs.log import Log
from bedside.logs.numbers import number

MESSAGES = "messages.json"
MAX_BYTES = 2**28  # of the unpacked messages: two million metrics
MAX_EPOCHS = 500_000  # readings by epoch, which are only used where there are none by step
MAX_PARAMETERS = 10_000
MAX_DIRECTORY_BYTES = 2**20  # bytes of the archive's list of files: Comet's has a few lines
MAX_LINE_LENGTH = 2**20
METRIC = "metric_msg"
PARAMETER = ("param_msg", "parameter_msg")


def recognises(path: Path, head: bytes) -> bool:
    if not head.startswith(b"PK") or not _lists_few_files(path):
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return MESSAGES in archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return False


def _lists_few_files(path: Path) -> bool:
    """The list of files stands at the end of an archive, and is read as a whole: it says its own length."""
    with open(path, "rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 2**16))
        end = file.read()
    at = end.rfind(b"PK\5\6")
    return at >= 0 and int.from_bytes(end[at + 12 : at + 16], "little") <= MAX_DIRECTORY_BYTES


def read(paths: Sequence[Path], part: str = "") -> Log:
    log = Log("comet")
    epochs: list[tuple[str, float, float]] = []
    if not _lists_few_files(paths[0]):
        raise Unreadable("it is not a zip, or lists too many files")
    for message in _messages(paths[0], log):
        payload = message.get("payload")
        if not isinstance(payload, dict):
            continue
        if message.get("type") == METRIC:
            _metric(payload, log, epochs)
        elif message.get("type") in PARAMETER and isinstance(payload.get("param"), dict):
            found = payload["param"]
            if len(log.config) < MAX_PARAMETERS:
                log.config[str(found.get("paramName"))] = found.get("paramValue")
    if not log and epochs:  # nothing was logged by step
        log.axis = "epoch"
        for name, epoch, value in epochs:
            log.add(name, epoch, value, log.rows)
            log.rows += 1
    return log


def _metric(payload: dict[str, Any], log: Log, epochs: list[tuple[str, float, float]]) -> None:
    metric = payload.get("metric")
    if not isinstance(metric, dict):
        return
    name, value = metric.get("metricName"), number(metric.get("metricValue"))
    step, epoch = (number(payload.get(key, metric.get(key))) for key in ("step", "epoch"))
    if not isinstance(name, str) or value is None or name.startswith("sys."):
        return
    if step is not None:
        log.add(name, step, value, log.rows)
        log.rows += 1
    elif epoch is not None and len(epochs) < MAX_EPOCHS:
        epochs.append((name, epoch, value))


def _messages(path: Path, log: Log) -> Iterator[dict[str, Any]]:
    try:
        with zipfile.ZipFile(path) as archive, archive.open(MESSAGES) as file:
            left = MAX_BYTES
            while left > 0 and (line := file.readline(MAX_LINE_LENGTH)):
                left -= len(line)
                try:
                    message = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                if isinstance(message, dict):
                    yield message
            if left <= 0:
                log.note("The archive unpacks to more than 256 MB of messages: the rest was left out.")
    except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, RuntimeError, KeyError, ValueError) as broken:
        raise Unreadable(f"it is not a zip with {MESSAGES} ({broken})") from None
    except Exception as broken:  # zlib.error and friends are private to the codec
        if type(broken).__module__ in ("zlib", "_bz2", "_lzma", "lzma"):
            raise Unreadable(f"its archive is damaged ({broken})") from None
        raise


FORMAT = Format("comet", "Comet offline archive", recognises, read)
