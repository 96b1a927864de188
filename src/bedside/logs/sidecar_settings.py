"""Settings that tools keep in a file of their own beside the log: AlgoPerf, Lightning, Ultralytics, transformers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bedside.logs.formats.log_format import text_of
from bedside.logs.plain_files import may_open
from bedside.naming.config_names import plain_yaml

MAX_BYTES = 2**20
YAML = ("hparams.yaml", "args.yaml")
JSON = ("hparams.json", "config.json")
MODEL = ("vocab_size", "num_labels")  # of a transformers config.json: the rest describes the model, not the run


def settings_beside(log: Path) -> dict[str, Any]:
    """What the files beside a log say about the run; nothing in them is ever executed."""
    found: dict[str, Any] = {}
    folder = log.parent.resolve()
    for name in YAML:
        if may_open(path := log.with_name(name), folder):
            found.update(plain_yaml(text_of(path, MAX_BYTES)))
    for name in JSON:
        if may_open(path := log.with_name(name), folder):
            said = _json(path)
            found.update(_of_the_model(said) if name == "config.json" else said)
    return found


def _of_the_model(config: dict[str, Any]) -> dict[str, Any]:
    if isinstance(config.get("id2label"), dict):
        config["num_labels"] = len(config["id2label"])
    return {name: config[name] for name in MODEL if name in config}


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(text_of(path, MAX_BYTES))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
