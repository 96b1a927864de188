"""Find the runs in a file, a folder or a tree: each once, by what the files hold, opening each file once.

A folder that holds a run's own kind of file (TensorBoard events, a trainer state, a Lightning table) is that
run, however many files tell of it. Elsewhere every readable table, list of records or text log is one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bedside.errors import NotARun
from bedside.logs.formats import FORMATS, OWN, aim, mlflow
from bedside.logs.formats.log_format import BROKEN, HEAD, Format, Unreadable, as_utf8
from bedside.logs.formats.tensorboard import event_files as tensorboard
from bedside.logs.formats.text import lines as text
from bedside.logs.plain_files import may_open
from bedside.naming.name_parts import SPLITS
from bedside.record.sqlite.reader import is_run
from bedside.record.sqlite.schema import rank_file, ranks_in

# What a log may be called; other files in a tree (weights, images, code) are not opened.
SUFFIXES = frozenset(
    """.csv .tsv .json .jsonl .ndjson .log .txt .out .err .stdout .stderr .wandb .db .sqlite .sqlite3 .zip .v2
    .ipynb""".split()
)
NAMES = frozenset(("log", "stdout", "stderr", "meta.yaml", "std_log"))
LATEST = "latest-run"
NOT_RUNS = frozenset(("__pycache__", "node_modules", "site-packages"))
_CHECKPOINT = re.compile(r"checkpoint-\d+$")
_OF_A_SPLIT = re.compile(rf"(?:^|[_-])(?:{'|'.join(sorted(SPLITS))})$")
DEEPEST = 40
LONG_HEAD = 2**18  # bytes more of a file whose first line is longer than HEAD


@dataclass(frozen=True)
class RunFiles:
    """One run as found: what to call it, its format, its files, and which run of them when they hold several."""

    name: str
    format: str
    files: tuple[Path, ...]
    part: str = ""


def find_runs(path: str | os.PathLike[str], format: Format | None = None) -> list[RunFiles]:
    """The runs at a path, in order of their names; an empty list when nothing there can be read."""
    place = Path(path)
    name = os.fspath(path)
    if place.is_dir():
        return list(_in_folder(place, name.rstrip("/") or name, (format,) if format else FORMATS, place.resolve(), 0))
    if format is None and is_run(place):
        return [RunFiles(name, OWN, (place,))]
    found = format or recognise(place, FORMATS)
    return _runs_of(found, (place,), name) if found else []


def recognise(path: Path, formats: Sequence[Format]) -> Format | None:
    """The format of one file, from its first bytes; a text log also from its middle and end."""
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD)
            if b"\n" not in head and b"\0" not in head:  # a header or a record may be longer than that
                head += file.read(LONG_HEAD)
        head = as_utf8(head)
        for each in formats:
            seen = text.parts_of(path) if each is text.FORMAT and len(head) >= HEAD else head
            if each.recognises(path, seen):
                return each
    except (OSError, *BROKEN):  # one strange file must not end the walk through a tree
        return None
    return None


def _runs_of(format: Format, files: tuple[Path, ...], name: str) -> list[RunFiles]:
    if format.parts is None:
        return [RunFiles(name, format.name, files)]
    try:
        parts = format.parts(files[0])
    except (Unreadable, NotARun, OSError):  # reported again, in full, when it is read
        parts = [""]
    several = len(parts) > 1
    return [RunFiles(f"{name}#{part}" if several else name, format.name, files, part) for part in parts]


def _in_folder(folder: Path, name: str, formats: Sequence[Format], root: Path, depth: int) -> Iterator[RunFiles]:
    if is_run(folder):
        if all(may_open(rank_file(folder, rank), root) for rank in ranks_in(folder)):
            yield RunFiles(name, OWN, (folder,))
        return
    files, folders = _listed(folder, root)
    by_format: dict[str, list[Path]] = {}
    for path in files:
        found = recognise(path, formats)
        if found:
            by_format.setdefault(found.name, []).append(path)
    merged = _event_files_below(folders, by_format, formats, root)
    whole = next((each for each in formats if each.is_folder and each.name in by_format), None)
    checkpoints = [each / "trainer_state.json" for each in folders if _CHECKPOINT.search(each.name)]
    states = [state for state in checkpoints if may_open(state, root)]
    if whole is None and states and any(each.name == "hf-trainer" for each in formats):
        whole = next(each for each in formats if each.name == "hf-trainer")
    if whole is not None:
        mine = by_format.pop(whole.name, [])
        yield from _runs_of(whole, (*mine, *(states if whole.name == "hf-trainer" else ())), name)
        by_format = {k: v for k, v in by_format.items() if k in ("wandb", "mlflow", "comet")}
    yield from _each_file(by_format, name)
    for each in folders:
        inside = (
            whole is not None and whole.name == "hf-trainer" and (_CHECKPOINT.search(each.name) or each.name == "runs")
        )
        hidden = (each.name.startswith(".") and each.name != aim.FOLDER) or each.name in NOT_RUNS or each in merged
        beside = ("wandb" in by_format and each.name in ("files", "logs", "tmp")) or (
            "mlflow" in by_format and each.name in ("metrics", "params", "tags", "artifacts")
        )
        again = each.name == LATEST and _told_by_a_neighbour(each, folders)
        if not (inside or hidden or beside or again) and depth < DEEPEST:
            yield from _in_folder(each, f"{name}/{each.name}", formats, root, depth + 1)


def _told_by_a_neighbour(latest: Path, folders: Sequence[Path]) -> bool:
    """W&B links the last run under this name; copied without links, it is the same run twice."""
    names = {path.name for path in latest.glob("*.wandb")}
    return bool(names) and any(
        names <= {path.name for path in each.glob("*.wandb")} for each in folders if each != latest
    )


def _each_file(by_format: dict[str, list[Path]], name: str) -> Iterator[RunFiles]:
    """Files that are runs by themselves; text beside a table or records is that run's console."""
    structured = any(found not in (text.FORMAT.name, "mlperf") for found in by_format)
    for each in FORMATS:
        files = by_format.get(each.name, [])
        if each is text.FORMAT and structured:
            continue
        splits = [path for path in files if path.stem.lower() in SPLITS]
        if each.name in ("csv", "json") and len(splits) > 1:  # train.csv and val.csv are one run
            yield RunFiles(name, each.name, tuple(splits))
            files = [path for path in files if path not in splits]
        for path in files:
            own = name if each is mlflow.FORMAT and path.name == mlflow.RUN_FILE else f"{name}/{path.name}"
            yield from _runs_of(each, (path,), own)


def _event_files_below(
    folders: Sequence[Path], by_format: dict[str, list[Path]], formats: Sequence[Format], root: Path
) -> set[Path]:
    """Writers that make a folder per split (Keras) or per curve (add_scalars): their events are this run's."""
    if not any(each is tensorboard.FORMAT for each in formats):
        return set()
    own = tensorboard.FORMAT.name in by_format
    candidates = {
        each: [path for path in sorted(each.glob("*tfevents*")) if may_open(path, root)]
        for each in folders
        if each.name.lower() in SPLITS or (own and _OF_A_SPLIT.search(each.name.lower()))
    }
    candidates = {each: events for each, events in candidates.items() if events}
    if not own and len(candidates) < 2:
        return set()
    for events in candidates.values():
        by_format.setdefault(tensorboard.FORMAT.name, []).extend(events)
    return set(candidates)


def _listed(folder: Path, root: Path) -> tuple[list[Path], list[Path]]:
    """Files that may be logs, and folders, in natural order; links that lead out of the tree are not followed."""
    files: list[Path] = []
    folders: list[Path] = []
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: _natural(entry.name))
    except OSError:
        return [], []
    for entry in entries:
        try:
            if entry.is_dir(follow_symlinks=False):
                folders.append(folder / entry.name)
            elif may_be_a_log(entry.name) and may_open(folder / entry.name, root):
                files.append(folder / entry.name)
        except OSError:
            continue
    return files, folders


def may_be_a_log(name: str) -> bool:
    stem, suffix = os.path.splitext(name.lower())
    noted = suffix == ".md" and "log" in re.split(r"[^a-z]+", stem)  # a record of the run, and no page about the code
    return "tfevents" in name or suffix in SUFFIXES or noted or name.lower() in NAMES


def _natural(name: str) -> list[tuple[int, int | str]]:
    return [(0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"(\d{1,18})", name) if part]
