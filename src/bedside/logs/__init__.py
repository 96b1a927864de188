"""Other tools' logs, read into Runs: without the tool, without torch, without having to name the format.

    run = bedside.load("lightning_logs/version_3")

`formats/` has one file per tool, `discover.py` finds runs in folders, `to_run.py` makes a log a Run, and
`bedside.naming` says what metrics mean.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from bedside.errors import BedsideError, NoSuchPath, NotARun
from bedside.logs.discover import RunFiles
from bedside.logs.discover import find_runs as _find_runs
from bedside.logs.formats import FORMATS, OWN, format_named
from bedside.logs.formats.log_format import BROKEN, Unreadable
from bedside.logs.plain_files import kind_of
from bedside.logs.to_run import to_run
from bedside.naming.whole_run import settle
from bedside.record.run import Run

__all__ = ["FORMATS", "RunFiles", "find_runs", "load", "read_run"]

EXPECTED = (
    "a run folder, or a log: TensorBoard, W&B, MLflow, Comet, HF Trainer, Lightning, Keras, CSV, JSON lines, text"
)
UNPACK = {".gz": "gzip -dc", ".bz2": "bzip2 -dc", ".xz": "xz -dc", ".zst": "zstd -dc"}  # of a compressed log
SHOWN = 3


def load(
    path: str | os.PathLike[str], *, format_in: str | None = None, mapping: Mapping[str, str] | None = None
) -> Run:
    """Read one run: a folder of bedside's own, or a log that another tool wrote.

    `format_in` forces a format where the content does not tell; `mapping` says what a metric is:
    `{"my_obj": "loss", "noise": "-"}`. A database of several runs takes the run after a `#`: `mlflow.db#name`.
    """
    found = find_runs(path, format_in=format_in)
    if len(found) > 1:
        shown = ", ".join(each.name for each in found[:SHOWN]) + (", …" if len(found) > SHOWN else "")
        raise NotARun(
            f"{os.fspath(path)} holds {len(found)} runs.",
            expected=f"one of them: {shown}",
            try_=f"bedside diagnose {os.fspath(path)}",
        )
    return read_run(replace(found[0], name=os.fspath(path)), mapping)


def find_runs(path: str | os.PathLike[str], *, format_in: str | None = None) -> list[RunFiles]:
    """The runs at a path, each once, found by what the files hold. Raises when there is none."""
    format = format_named(format_in) if format_in and format_in != OWN else None
    name = os.fspath(path)
    place, part = Path(path), ""
    if not place.exists() and "#" in name:
        name, _, part = name.rpartition("#")
        place = Path(name)
    if not place.exists():
        raise _no_such_path(place)
    if kind := kind_of(place):
        raise NotARun(
            f"{name} is {kind}.",
            expected="a file or a folder",
            try_=f"cat {name} > log.txt; bedside diagnose log.txt",
        )
    try:
        found = _find_runs(name, format)
    except OSError as refused:
        raise NotARun(f"{name} cannot be read: {refused.strerror or refused}.", expected="a readable file") from None
    if part:
        return [RunFiles(f"{name}#{part}", each.format, each.files, part) for each in found[:1]]
    if not found:
        raise NotARun(_what_was_seen(place, format_in), expected=EXPECTED, try_=_what_to_type(place))
    return found


def read_run(found: RunFiles, mapping: Mapping[str, str] | None = None) -> Run:
    """The Run in the files that `find_runs` found; a broken file ends in a NotARun."""
    if found.format == OWN:
        from bedside.record.sqlite.reader import open_run

        return settle(open_run(found.files[0]))
    format = format_named(found.format)
    try:
        log = format.read(found.files, found.part)
        if not log:
            raise Unreadable("it holds no numbers")
        return to_run(log, found.name, mapping)
    except BedsideError:
        raise
    except Unreadable as unreadable:
        why = str(unreadable)
    except OSError as refused:
        why = refused.strerror or str(refused)
    except BROKEN as broken:
        why = f"it is damaged ({type(broken).__name__})"
    raise NotARun(
        f"{found.name} cannot be read as {format.title}: {why}.",
        expected=EXPECTED,
        try_="another --format-in, if it is something else",
    )


def _no_such_path(place: Path) -> NoSuchPath:
    parent = place.parent if place.parent.is_dir() else Path()
    inside = sorted(parent.iterdir()) if parent.is_dir() else []
    names = [each.name for each in inside if not each.name.startswith(".")][:200]  # nobody keeps runs in .git
    from bedside.errors import nearest_first

    near = f", such as {nearest_first(place.name, names, 3)}" if names else ""
    return NoSuchPath(f"{place} does not exist.", expected=f"a run folder or a log file{near}", try_=f"ls {parent}")


def _what_to_type(place: Path) -> str:
    unpack = UNPACK.get(place.suffix.lower()) if place.is_file() else None
    if unpack is None:
        return "--format-in csv, if you know what it is"
    plain = place.with_suffix("")
    return f"{unpack} < {place} > {plain}; bedside diagnose {plain}"


def _what_was_seen(place: Path, format_in: str | None) -> str:
    as_ = f" as {format_in}" if format_in else ""
    if place.is_dir():
        names = sorted(each.name for each in place.iterdir())
        inside = ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "") if names else "nothing"
        return f"No run can be read{as_} in {place}, which holds {inside}."
    size = place.stat().st_size
    return f"{place} ({size} bytes) is not a log that can be read{as_}." if size else f"{place} is empty."
