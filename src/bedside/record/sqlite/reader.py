"""A recorded run, read back: while it is written, after a crash, from a copy, from a folder one may not write to.

Opening reads what is small (names, events, parameters); a series is fetched when it is asked for, and then only
its own metric set is touched. A Run shows the moment at which it was opened, however the file grows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bedside.errors import BedsideError, NoSuchPath, NotARun
from bedside.record.across_ranks import weight_of
from bedside.record.live_run import GrowingRun
from bedside.record.run import Event, Key, Parameter, Run
from bedside.record.sqlite.other_ranks import RankRecord, is_sharded, with_other_ranks
from bedside.record.sqlite.plain_json import from_text
from bedside.record.sqlite.read_only import open_to_read
from bedside.record.sqlite.run_folder import damaged
from bedside.record.sqlite.run_segments import Segment, resumes, segments_of
from bedside.record.sqlite.schema import APPLICATION_ID, HEADER, PARAMETER, RANK_FILE, SEGMENT, rank_file, ranks_in
from bedside.record.sqlite.series_loading import BROKEN, Loader

MAX_EVENTS = 200_000  # of each kind of table: more would fill the memory and tell nobody more


def is_run(path: Path) -> bool:
    """Whether this is a run of bedside's own: a folder with rank files, or one of the files."""
    path = Path(path)
    if path.is_dir():
        return bool(ranks_in(path))
    if not path.is_file():
        return False
    if RANK_FILE.fullmatch(path.name):
        # Ours by name: if it is torn, the reader says so. Nor may we look inside: closing a file that this very
        # process is writing a run to would drop SQLite's locks on it.
        return True
    with path.open("rb") as file:
        head = file.read(72)
    return head.startswith(HEADER) and head[68:72] == APPLICATION_ID.to_bytes(4, "big")


def open_run(run_dir: Path, rank: int = 0) -> Run:
    """The run in a folder (or in one rank's file), as far as it has come, with what other ranks recorded."""
    return _all_ranks(Path(run_dir), rank)


def open_newest(run_dir: Path, since: int, rank: int = 0) -> Run:
    """The run's readings from step `since` on, and its newest events: what came in since somebody last looked.

    Only the blocks that hold these steps are read, so following a long run costs what is new in it.
    """
    return _all_ranks(Path(run_dir), rank, since)


def beside_other_ranks(live: Run, run_dir: Path, since: int) -> Run:
    """A rank's live view, with what all ranks recorded since this step to compare."""
    return with_other_ranks(live, _records(run_dir, since), added_up=True)


def _all_ranks(run_dir: Path, rank: int, since: int = 0) -> Run:
    record = _of_rank(run_dir, rank, since)
    run = record.run
    several = bool(run.events_of("ranks"))
    if run_dir.is_file():  # one rank's own file: what takes all ranks to know is not known
        return with_other_ranks(run, {record.rank: lambda: record}) if is_sharded(run) else run
    records = _records(run_dir, since)
    return with_other_ranks(run, {**records, rank: lambda: record}) if several or len(records) > 1 else run


def _records(run_dir: Path, since: int) -> dict[int, Callable[[], RankRecord]]:
    return {each: partial(_if_readable, run_dir, each, since) for each in ranks_in(run_dir)}


def _if_readable(run_dir: Path, rank: int, since: int) -> RankRecord:
    """Another rank's record; an empty one where it cannot be read, as while it is just being made."""
    try:
        return _of_rank(run_dir, rank, since)
    except (BedsideError, OSError):
        return RankRecord(Run(str(rank_file(run_dir, rank))))


def _of_rank(run_dir: Path, rank: int, since: int = 0) -> RankRecord:
    run, loader = _opened(run_dir, rank, since)
    return RankRecord(run, *loader.last, loader.resumed_at)


def replay(
    run_dir: Path,
    into: GrowingRun,
    rank: int = 0,
    *,
    before: int = SEGMENT,
    shared: Callable[[tuple[Key, ...]], bool] = lambda columns: False,
) -> None:
    """Pour a run's past into the live view, so that rules do not take a resume for a beginning.

    Reads the whole record once, a chunk at a time: steps `before` that at which it goes on, without columns that are
    `shared`, of which it has one rank's part.
    """
    run, loader = _opened(Path(run_dir), rank)
    for columns, steps, values in loader.batches():
        kept = int(np.searchsorted(steps, before))
        if kept and not shared(columns):
            into.append(columns, steps[:kept], values[:kept])
    for vital, owner in loader.sparse:
        if weight_of((vital, owner)) in loader.sparse:
            continue  # one rank's part of a mean
        series = run.series(vital, owner).before(before)
        for step, value in zip(series.steps.tolist(), series.values.tolist(), strict=True):
            into.metric(step, vital, value, owner)
    for event in run.events:
        if event.step < before:
            into.event(event)


def _opened(run_dir: Path, rank: int, since: int = 0) -> tuple[Run, Loader]:
    path = _file_of(run_dir, rank)
    connection = open_to_read(path)
    try:
        connection.execute("BEGIN")  # everything read here is one moment of the run
        segments = segments_of(connection)
        loader = Loader(path, connection, segments, since)
        run = _assembled(str(run_dir), connection, segments, loader)
        connection.execute("COMMIT")
    except (*BROKEN, LookupError) as torn:
        connection.close()
        raise damaged(path, torn) from torn
    return run, loader


def _file_of(run_dir: Path, rank: int) -> Path:
    if run_dir.is_file():
        return run_dir
    if not run_dir.exists():
        raise NoSuchPath(
            f"There is no '{run_dir}'.",
            expected="a run folder that bedside.watch() wrote",
            try_=f"ls '{run_dir.parent}'",
        )
    path = rank_file(run_dir, rank)
    if not path.is_file():
        ranks = ranks_in(run_dir)
        raise NotARun(
            f"'{run_dir}' holds no run of rank {rank}.",
            expected=f"rank {', '.join(map(str, ranks))}" if ranks else "a folder with rank0.sqlite in it",
            try_=f"bedside diagnose '{rank_file(run_dir, ranks[0])}'" if ranks else f"ls '{run_dir}'",
        )
    return path


def _assembled(name: str, connection: sqlite3.Connection, segments: Sequence[Segment], loader: Loader) -> Run:
    notes: list[str] = []
    found = [
        *_events(segments, connection, "SELECT segment, step, kind, data, time FROM events ORDER BY id", notes),
        *_events(segments, connection, "SELECT segment, step, 'alarm', finding, time FROM findings ORDER BY id", notes),
    ]
    resumed = resumes(segments)
    return Run(
        name,
        keys=loader.keys,
        load=loader,
        events=sorted([*found, *(event for event, _ in resumed)], key=lambda event: event.step),
        parameters=_parameters(connection),
        config=_facts(connection, "config"),
        environment=_facts(connection, "environment"),
        notes=[*(note for _, note in resumed), *notes, *_not_recorded(found)],
        finished=segments[-1].finished if segments else None,
        ended=bool(segments) and segments[-1].ended,
    )


def _events(segments: Sequence[Segment], connection: sqlite3.Connection, query: str, notes: list[str]) -> list[Event]:
    """Events of the branches that were not abandoned; one that is damaged is left out, with a note."""
    ends = {segment.number: segment.end for segment in segments}
    found: list[Event] = []
    damaged_ones = 0
    for count, (segment, step, kind, data, time) in enumerate(connection.execute(query)):
        if count >= MAX_EVENTS:
            notes.append(f"Only the first {MAX_EVENTS:,} events were read.")
            break
        try:
            event = Event(int(step), str(kind), dict(from_text(data)), float(time))
        except (ValueError, TypeError, OverflowError):
            damaged_ones += 1
            continue
        if event.step < ends.get(segment, SEGMENT):
            found.append(event)
    if damaged_ones:
        notes.append(f"{damaged_ones} damaged {'event was' if damaged_ones == 1 else 'events were'} left out.")
    return found


def _parameters(connection: sqlite3.Connection) -> list[Parameter]:
    rows = connection.execute(f"SELECT {', '.join(PARAMETER)} FROM parameters ORDER BY id")
    kinds = (str, str, int, str, bool, bool, int, int)  # SQLite keeps yes and no as 1 and 0, and lets any cell be text
    return [Parameter(*(kind(value) for kind, value in zip(kinds, row, strict=True))) for row in rows]


def _facts(connection: sqlite3.Connection, table: str) -> dict[str, Any]:
    """What was said last wins: a resume may have changed the learning rate or the machine."""
    rows = connection.execute(f"SELECT key, value FROM {table} ORDER BY segment, rowid")
    return {str(key): from_text(value) for key, value in rows}


def _not_recorded(events: Sequence[Event]) -> list[str]:
    """What the writer had to drop while the disk was full."""
    return [
        f"Some numbers of steps {event.data.get('first')} to {event.data.get('last')} are missing: "
        f"they could not be written ({event.data.get('why')})."
        for event in events
        if event.kind == "not_recorded"
    ]
