"""Names that are logged together, read together: what one name leaves open, its neighbours may tell.

A bare `accuracy` beside `val_loss` is a validation metric, unless `val_accuracy` stands there as well or the training
numbers are bare too (Keras writes `loss, accuracy, val_loss, val_accuracy`). What says `train` stays training.

>>> names = resolve(["val_loss", "accuracy"])
>>> names["accuracy"].split
'val'
>>> resolve(["loss", "accuracy", "val_loss"])["accuracy"].split
'train'
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from bedside.naming.metric_names import METRICS, read_name
from bedside.naming.name_parts import Name
from bedside.record.run import Key

OWN_KINDS = ("lr", "grad_norm", "grad_norm_clipped", "param_norm", "loss_scale", "skipped", "epoch", "clip_active")
MEASURED = ("loss", "metric")
TRAINED = ("", "train")
SHORTEST = {"tl": "train_loss", "vl": "val_loss", "ta": "train_accuracy", "va": "val_accuracy"}


def resolve(names: Iterable[str], sets: Collection[str] = ()) -> dict[str, Name]:
    """Every name of one log, or of one `monitor.log` call, read with the others in sight.

    `sets` are evaluation sets that the log declares.
    """
    names = list(names)
    short = _short_splits(names)
    found = _with_evaluation_sets({name: read_name(short.get(name, name)) for name in names}, sets)
    measured = [each for each in found.values() if each.kind in MEASURED]
    evaluated = {each.metric for each in measured if each.split in ("val", "test")}
    bare_loss = any(each.kind == "loss" and not each.split for each in measured)
    if not evaluated or bare_loss:
        return found
    split = "val" if any(each.split == "val" for each in measured) else "test"
    for name, each in found.items():
        if each.kind == "metric" and each.bare and each.metric not in evaluated:
            found[name] = replace(each, split=split)
    return found


def _short_splits(names: Collection[str]) -> dict[str, str]:
    """`t_loss` beside `v_loss` is the training's, unless both are parts of a `loss`; alone it may be anything."""
    lower = {name.lower(): name for name in names}
    if {"tl", "vl"} <= set(lower):
        return {lower[short]: long for short, long in SHORTEST.items() if short in lower}
    if not {"t_loss", "v_loss"} <= set(lower) or any(
        read_name(name).kind == "loss" and read_name(name).rank == 0 for name in names
    ):
        return {}
    found = [(name, name.partition("_")) for name in names]
    return {
        name: f"{'train' if letter in 'tT' else 'val'}_{rest}"
        for name, (letter, joint, rest) in found
        if joint and letter.lower() in ("t", "v")
    }


def _with_evaluation_sets(found: dict[str, Name], declared: Collection[str]) -> dict[str, Name]:
    """`eval_g0_loss` beside `eval_g0_accuracy`: g0 is a set, not a part of the loss.

    Unless training has it as well, beside the whole: `audio_loss` and `val_audio_loss` are then of one of its outputs.
    """
    trained = [each for each in found.values() if each.kind == "loss" and each.split in TRAINED]
    whole = any(each.rank == 0 for each in trained)
    outputs = {"_".join(each.words[:-1]) for each in trained if whole}
    tails: dict[str, set[str]] = {}
    parts: dict[str, tuple[str, str]] = {}
    for name, each in found.items():
        if each.split in ("val", "test") and each.kind in MEASURED and not each.owner and len(each.words) > 1:
            *head, tail = each.words
            if tail == "loss" or tail in METRICS:
                parts[name] = ("_".join(head), tail)
                tails.setdefault("_".join(head), set()).add(tail)
    for name, (owner, tail) in parts.items():
        if owner in declared or (owner not in outputs and "loss" in tails[owner] and len(tails[owner]) > 1):
            each = found[name]
            rank = 0 if tail == "loss" else each.rank
            found[name] = replace(each, owner=owner, metric=read_name(f"val_{tail}").metric, rank=rank)
    return found


def within_validation(name: str) -> Name:
    """A name that was logged inside `with monitor.validation():`; without a split of its own it is a validation one."""
    found = read_name(name)
    if found.kind in MEASURED:
        return replace(found, split="val") if found.bare or not found.split else found
    return Name("val", "metric", name) if found.kind == "other" else found


def key_of(name: str, meaning: Name) -> Key:
    """The (vital, owner) that a name stands for by itself: `val_acc` is `val/accuracy`, `lr/pg1` is lr of group_1."""
    split = meaning.split or "train"
    if meaning.kind == "loss" and meaning.over == "epoch" and split == "train":
        return ("loss_epoch", meaning.owner)
    if meaning.kind == "loss" and meaning.rank <= 1:
        return ("loss" if split == "train" else f"{split}/loss", meaning.owner)
    if meaning.kind == "loss":
        return (f"part/{meaning.metric}" if split == "train" else f"{split}/{meaning.metric}", meaning.owner)
    if meaning.kind == "metric":
        return (f"{split}/{meaning.metric}", meaning.owner)
    if meaning.kind in OWN_KINDS:
        return (meaning.kind, meaning.owner)
    return (name, "")
