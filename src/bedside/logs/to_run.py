"""From a Log to a Run: steps put right, names understood, and what a file implies made explicit.

Every assumption made here ends as a note of the run ("about this log"); what was read as what is kept in
`run.environment["names"]` for `--explain-names`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from bedside.logs.increasing_steps import straighten
from bedside.logs.log import Log
from bedside.naming.config_names import settings
from bedside.naming.name_parts import Name
from bedside.naming.resolve import OWN_KINDS, key_of, resolve
from bedside.naming.whole_run import settle
from bedside.record.run import Key, Run
from bedside.record.series import Series

Curve = tuple[NDArray[np.int64], NDArray[np.float64]]
IGNORE = "-"
DENSER = 4  # times as many readings make a usual name for the loss a better choice than the plain one
EVALUATES_TRAINING_SET = {"accumulated_submission_time", "preemption_count"}  # only AlgoPerf writes these


@dataclass
class _Reading:
    """The columns of one log with the keys they have been given so far."""

    names: dict[str, Name]
    curves: dict[str, Curve]
    keys: dict[str, Key] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def count(self, name: str) -> int:
        return len(self.curves[name][0])


def to_run(log: Log, name: str, mapping: Mapping[str, str] | None = None) -> Run:
    """The Run that a Log is, with the user's own `mapping` of names before ours."""
    straight = straighten(log)
    said = {old.strip(): new for old, new in (mapping or {}).items()}
    reading = _Reading({}, straight.columns)
    for column in straight.columns:
        if column.strip() in said:
            new = said[column.strip()]
            if new != IGNORE:
                reading.keys[column] = as_key(new)
    reading.names = resolve((column for column in straight.columns if column.strip() not in said), log.sets)
    _training_set_evaluations(reading)
    for split in ("train", "val", "test", "eval_train"):
        _losses(log, split, reading)
    _everything_else(reading)
    series = _series(reading)
    notes = [*log.notes, *straight.notes, *reading.notes]
    config = settings(log.config)
    from bedside.logs.derived import derive  # imports Curve from here

    series = derive(series, config, notes)
    if not log.keeps_order:
        series = dict(sorted(series.items(), key=lambda item: (item[0][0], natural(item[0][1]))))
    run = Run(
        name,
        [Series(vital, owner, steps, values) for (vital, owner), (steps, values) in series.items()],
        format=log.format,
        events=[*log.events, *straight.events],
        config=config,
        environment=_environment(log, reading.keys),
        notes=notes,
        axis=straight.axis,
        finished=log.finished,
    )
    return settle(run)


def _environment(log: Log, keys: Mapping[str, Key]) -> dict[str, object]:
    names = {old: "/".join(filter(None, key)) for old, key in keys.items()}
    rounded = {names[column]: most for column, most in log.rounded.items() if column in names}
    return {"names": names, **({"rounded": rounded} if rounded else {})}


def as_key(text: str) -> Key:
    """`val/loss` and `loss` are vitals, `grad_norm/encoder` has an owner."""
    head, _, owner = text.strip().partition("/")
    return (head, owner) if owner and head in OWN_KINDS else (text.strip(), "")


def natural(owner: str) -> tuple[object, ...]:
    """Model order for owners whose order the file lost: embeddings, then blocks by number, then heads."""
    low = owner.lower()
    place = 0 if re.search(r"emb|wte|wpe|stem", low) else 2 if re.search(r"head|ln_f|final|classif|lm_out", low) else 1
    return (place, *((0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"(\d+)", low)))


def _training_set_evaluations(reading: _Reading) -> None:
    """AlgoPerf's train/ metrics, in whatever file, are evaluations of the training set in eval mode."""
    if not set(reading.curves) >= EVALUATES_TRAINING_SET:
        return
    if any(n.kind == "loss" and n.split == "" for n in reading.names.values()):
        changed = {c: replace(n, split="eval_train") for c, n in reading.names.items() if n.split == "train"}
        if changed and any(c.startswith("train") for c in changed):
            reading.names.update({c: n for c, n in changed.items() if c.startswith("train")})
            reading.notes.append("The train/ metrics are evaluations of the training set: read as eval_train/.")
    elif any(n.kind == "loss" and n.split == "train" for n in reading.names.values()):
        reading.notes.append("No loss per step: the evaluated training loss takes its place as loss.")


# Losses of two networks that play against each other, or of a policy and its critic, do not add up to anything.
PLAYERS = frozenset(
    """d g a b gan disc discriminator gen generator critic actor policy value pg vf entropy adv real fake q qf qf1 qf2
    td alpha teacher student pi v reward""".split()
)


def _losses(log: Log, split: str, reading: _Reading) -> None:
    """Choose *the* loss of a split; the other losses are parts of it."""
    vital = "loss" if split == "train" else f"{split}/loss"
    mine = {
        c: n for c, n in reading.names.items() if n.kind == "loss" and (n.split or "train") == split and not n.owner
    }
    # A value per step is the training loss, the mean over the epoch is the validation loss.
    minor = "epoch" if split == "train" else "step"
    major = {c: n for c, n in mine.items() if n.over != minor}
    chosen = _the_loss(major, reading) or _the_loss({c: n for c, n in mine.items() if n.over == minor}, reading)
    for column, n in mine.items():
        if column == chosen:
            reading.keys[column] = (vital, "")
        elif chosen and split == "train" and _epoch_mean(n, mine[chosen], column, chosen, reading):
            reading.keys[column] = ("loss_epoch", "")
        elif n.over == minor and any(o.metric == n.metric for o in major.values()):
            reading.keys[column] = (column, "")
        elif chosen and n.rank == 0 and n.rank == mine[chosen].rank:
            reading.keys[column] = (column, "")  # the same loss once more, under another name
        else:
            reading.keys[column] = (f"part/{n.metric}" if split == "train" else f"{split}/{n.metric}", "")
    if chosen is None and len(mine) > 1:
        # Validation losses of a watched run are logged in the same way and stay apart, so they do here.
        if log.parts_add_up or (split == "train" and not any(PLAYERS & set(n.words) for n in mine.values())):
            _sum_of_parts(vital, major, reading)
        else:
            reading.notes.append(f"Several {split} losses and no total: {', '.join(sorted(mine))} are kept as parts.")
    for column, n in reading.names.items():
        if n.kind == "loss" and n.owner and n.split == split:
            reading.keys[column] = (vital if n.rank <= 1 else f"{split}/{n.metric}", n.owner)


def _epoch_mean(n: Name, of: Name, column: str, chosen: str, reading: _Reading) -> bool:
    """Lightning's `_epoch` beside its `_step`, or the plain loss once an epoch beside a dense usual one."""
    if n.over == "epoch":
        return n.metric == of.metric
    return n.rank == 0 and of.rank == 1 and reading.count(chosen) >= DENSER * reading.count(column)


def _the_loss(candidates: Mapping[str, Name], reading: _Reading) -> str | None:
    if not candidates:
        return None
    best = min(n.rank for n in candidates.values())
    among = [c for c, n in candidates.items() if n.rank == best]
    if best == 2 and len(among) > 1:
        return None
    first = max(among, key=lambda c: (reading.count(c), "total" in c.lower()))
    usual = [c for c, n in candidates.items() if n.rank <= 1]
    densest = max(usual, key=reading.count, default=first)
    # "Training Loss" once an epoch beside "Loss/tok" every ten steps: the curve is the one to judge.
    return densest if reading.count(densest) >= DENSER * reading.count(first) else first


def _sum_of_parts(vital: str, parts: Mapping[str, Name], reading: _Reading) -> None:
    curves = [reading.curves[column] for column in parts]
    if any(len(c[0]) != len(curves[0][0]) or (c[0] != curves[0][0]).any() for c in curves):
        return
    total = f"sum of {', '.join(parts)}"
    reading.curves[total] = (curves[0][0], np.sum([c[1] for c in curves], axis=0))
    reading.keys[total] = (vital, "")
    reading.notes.append(f"{vital} is the {total}.")


def _everything_else(reading: _Reading) -> None:
    for column, n in reading.names.items():
        if column in reading.keys or n.kind == "clock":
            continue
        key = key_of(column, n)
        taken = n.kind == "metric" and n.over == "epoch" and key in reading.keys.values()
        reading.keys[column] = (column, "") if taken else key


def _series(reading: _Reading) -> dict[Key, Curve]:
    """One curve per key: where two columns claim one key the longer has it, and the other keeps its own name."""
    claims: dict[Key, list[str]] = {}
    for column, key in reading.keys.items():
        claims.setdefault(key, []).append(column)
    for columns in claims.values():
        winner = max(columns, key=reading.count)
        for column in columns:
            if column != winner:
                own = (column, "")
                reading.keys[column] = (f"{column} (again)", "") if own in claims else own
    return {key: reading.curves[column] for column, key in reading.keys.items()}
