"""An incident on disk: `incident.json` and up to four safetensors files in a folder of its own.

The folder appears under its name only when it is complete. What would make it larger than allowed is left out, the
optimizer's state first and the batches last, and `left_out` says so.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bedside.errors import NoSuchPath, NotARun, install_extra
from bedside.incident.capture.capture import FORMAT, PARTS, Captured
from bedside.wording import count

FACTS = "incident.json"
VITALS = "vitals"  # the last steps of every series, written after the step
INCIDENTS = "incidents"  # the folder inside that of the run

Series = dict[tuple[str, str], tuple[NDArray[np.int64], NDArray[np.float64]]]  # (vital, owner): steps and values


def write(captured: Captured, run_dir: Path, max_bytes: int) -> Path:
    """The folder that was written."""
    facts = captured.facts
    rank = f"-rank{facts['rank']}" if facts["rank"] else ""
    folder = run_dir / INCIDENTS / f"step-{facts['step']:06d}{rank}"
    unfinished = folder.with_name(f".{folder.name}")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    try:
        facts["left_out"] = _write_parts(captured, unfinished, max_bytes)
        (unfinished / FACTS).write_text(json.dumps(facts, allow_nan=False), encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)  # the same step of a run that was resumed
        unfinished.rename(folder)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    return folder


def _write_parts(captured: Captured, folder: Path, max_bytes: int) -> list[str]:
    from safetensors.torch import save_file

    left_out, room = [], max_bytes
    for name in PARTS:
        packing = captured.parts[name]
        if packing.bytes > room:
            left_out.append(f"{name}: {count(packing.bytes)} bytes are more than max_bytes={count(max_bytes)} allows")
            continue
        room -= packing.bytes
        left_out += packing.left_out
        save_file({at: _alone(each) for at, each in packing.tensors.items()}, folder / f"{name}.safetensors")
    return left_out


def _alone(tensor: Any) -> Any:
    """On the CPU, in memory that no other tensor shares, as the format wants it."""
    tensor = tensor.cpu().contiguous()
    whole = tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size()
    return tensor if whole and tensor.storage_offset() == 0 else tensor.clone()


def write_vitals(folder: Path, series: Series) -> None:
    """The numbers of the steps before the incident and of itself, beside it."""
    from safetensors.numpy import save_file

    names = list(series)
    tensors: dict[str, Any] = {}
    for number, name in enumerate(names):
        tensors[f"{number}.steps"], tensors[f"{number}.values"] = map(np.ascontiguousarray, series[name])
    save_file(tensors, folder / f"{VITALS}.safetensors", metadata={"series": json.dumps(names)})


def read_vitals(folder: Path) -> Series:
    """Nothing where they were never written, as when the process was killed."""
    from safetensors import safe_open

    path = folder / f"{VITALS}.safetensors"
    if not path.is_file():
        return {}
    with safe_open(path, framework="numpy") as file:
        names = json.loads((file.metadata() or {}).get("series", "[]"))
        return {
            (vital, owner): (file.get_tensor(f"{number}.steps"), file.get_tensor(f"{number}.values"))
            for number, (vital, owner) in enumerate(names)
        }


def find(path: Path) -> Path:
    """The folder of an incident: the path itself, or the first incident of the run there."""
    if not path.exists():
        raise NoSuchPath(
            f"There is no {str(path)!r}.",
            expected="the folder of an incident, or of a run that has one",
            try_="bedside replay bedside-runs/2026-01-31_12-00-00",
        )
    if (path / FACTS).is_file():
        return path
    inside = path if path.name == INCIDENTS else path / INCIDENTS
    found = sorted(each.parent for each in inside.glob(f"[!.]*/{FACTS}")) if inside.is_dir() else []
    if not found:
        raise NotARun(
            f"{str(path)!r} holds no incident.",
            expected=f"a folder with {FACTS} in it, or a run that was watched with black_box=True and went wrong",
            try_="bedside.watch(model, optimizer, black_box=True)",
        )
    return found[0]


def read(folder: Path) -> tuple[dict[str, Any], dict[str, Mapping[str, Any]]]:
    """The facts, and the tensors of each part that was written."""
    facts = _facts(folder)
    version = facts.get("format")
    if version != FORMAT:
        newer = isinstance(version, int) and version > FORMAT
        raise NotARun(
            f"'{folder}' has format {version!r}" + (", written by a newer bedside." if newer else "."),
            expected=f"format {FORMAT}, the only one so far",
            try_="pip install --upgrade bedside" if newer else "bedside replay with the folder of an incident",
        )
    try:
        from safetensors import SafetensorError
        from safetensors.torch import load_file
    except ImportError:
        raise NotARun(
            "safetensors is not installed.",
            expected="safetensors, in which incidents are saved",
            try_=install_extra("incident"),
        ) from None
    tensors: dict[str, Mapping[str, Any]] = {}
    for name in PARTS:
        path = folder / f"{name}.safetensors"
        try:
            tensors[name] = load_file(path) if path.is_file() else {}
        except (SafetensorError, OSError) as error:
            raise NotARun(
                f"'{path}' cannot be read: {error}", expected="a safetensors file as bedside wrote it"
            ) from None
    return facts, tensors


def _facts(folder: Path) -> dict[str, Any]:
    try:
        facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise NotARun(f"'{folder / FACTS}' cannot be read: {error}", expected="JSON as bedside wrote it") from None
    if not isinstance(facts, dict):
        raise NotARun(f"'{folder / FACTS}' is not an incident.", expected="JSON as bedside wrote it")
    return facts
