"""Hyperparameters under the names that rules ask for, whatever the tool called them.

>>> settings({"optimizer": {"lr": 0.1}, "num_train_epochs": 3})["learning_rate"]
0.1
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

MAX_SETTINGS = 500  # settings kept: more is a dump, and nobody reads it
DEEPEST = 6

# The name rules ask for, and the names tools use, best first: the whole batch before one device's share of it.
ALIASES = {
    "max_steps": "max_steps total_steps train_iters max_iters max_train_steps num_train_steps num_iterations "
    "training_steps max_duration",
    "epochs": "num_train_epochs epochs max_epochs num_epochs n_epochs numepochs",
    "batch_size": "global_train_batch_size global_batch_size batch_size train_batch_size "
    "per_device_train_batch_size batch",
    "learning_rate": "learning_rate lr base_lr base_learning_rate opt_base_learning_rate max_lr lr0",
    "weight_decay": "weight_decay wd l2 opt_adamw_weight_decay opt_lamb_weight_decay_rate",
    "warmup_steps": "warmup_steps t_warmup num_warmup_steps warmup_iters lr_warmup_iters lr_warmup_steps "
    "opt_learning_rate_warmup_steps",
    "max_grad_norm": "max_grad_norm clip_grad grad_clip gradient_clip_val gradient_clipping clip_grad_norm "
    "gradient_clip_norm opt_gradient_clip_norm grad_clip_norm",
    "classes": "classes num_classes n_classes num_labels n_labels",
    "vocab_size": "vocab_size n_vocab vocabulary_size padded_vocab_size",
    "logging_steps": "logging_steps log_interval log_every_n_steps console_log_interval",
    "label_smoothing": "label_smoothing label_smoothing_factor smoothing",
}
WHOLE = frozenset({"max_steps", "epochs", "batch_size", "warmup_steps", "classes", "vocab_size", "logging_steps"})
_KNOWN = {alias: ours for ours, aliases in ALIASES.items() for alias in aliases.split()}
_WORDS = {"true": True, "false": False, "null": None, "none": None, "~": None}
_NAMES = "|".join(name.replace("_", "[_-]") for name in sorted(_KNOWN, key=len, reverse=True))
_IN_TEXT = re.compile(
    rf"(?<![\w.-])(?:--)?[\"']?(?P<key>{_NAMES})[\"']?(?:\s*[:=]\s*|\s+\.+\s|(?<=\w)\s(?=[\d.]))"
    r"(?P<value>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?![\w.])",
    re.IGNORECASE,
)


def settings(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Every plain setting under its own dotted name, and the ones we know under ours as well."""
    flat: dict[str, Any] = {}
    for key, value in _flatten(raw, "", 0):
        flat.setdefault(key, value)
        if len(flat) >= MAX_SETTINGS:
            break
    ours: dict[str, Any] = {}
    by_last_word: dict[str, Any] = {}
    for key, value in flat.items():
        by_last_word.setdefault(re.split(r"[./]", key)[-1].lower().replace("-", "_"), value)
    for name, aliases in ALIASES.items():
        for alias in aliases.split():
            found = by_last_word.get(alias)
            if isinstance(found, (int, float)) and not isinstance(found, bool) and 0 < found < float("inf"):
                ours[name] = int(found) if name in WHOLE and found == int(found) else found
                break
    return {**flat, **ours}


def settings_in_text(line: str) -> dict[str, Any]:
    """Known settings in a printed configuration: `Namespace(lr=0.1, …)`, `clip_grad ....... 1.0`, `lr: 0.1`."""
    found = _IN_TEXT.finditer(line)
    return {match["key"].lower().replace("-", "_"): _scalar(match["value"]) for match in found}


def plain_yaml(text: str) -> dict[str, Any]:
    """`key: value` lines of a simple YAML file, without a YAML parser: nothing in it can be executed."""
    found: dict[str, Any] = {}
    parents: list[tuple[int, str]] = []
    for line in text.splitlines()[: 20 * MAX_SETTINGS]:
        body = line.split(" #", 1)[0].rstrip()
        key, colon, value = body.partition(":")
        if not colon or not key.strip() or key.lstrip().startswith(("#", "-")):
            continue
        indent = len(key) - len(key.lstrip())
        while parents and parents[-1][0] >= indent:
            parents.pop()
        name = ".".join([parent for _, parent in parents] + [key.strip()])
        if value.strip():
            found[name.removesuffix(".value")] = _scalar(value.strip())
        elif len(parents) < DEEPEST:
            parents.append((indent, key.strip()))
    return found


def _scalar(text: str) -> Any:
    """A plain value: a word, a number, or text; lists and tagged objects stay text."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]:
        return text[1:-1]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _flatten(value: Any, prefix: str, depth: int) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and depth < DEEPEST:
        if set(value) <= {"value", "desc"} and "value" in value:  # W&B wraps every setting
            yield from _flatten(value["value"], prefix, depth + 1)
            return
        for key, inner in value.items():
            yield from _flatten(inner, f"{prefix}.{key}" if prefix else str(key), depth + 1)
    elif prefix and (value is None or isinstance(value, (bool, int, float, str))):
        yield prefix, value[:200] if isinstance(value, str) else value
