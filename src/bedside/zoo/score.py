"""How good the diagnosis is: every specimen, severity and seed, two at a time, and what became of each.

Rules are tuned on the seeds 0, 1 and 2. What is published is the score on seeds that nobody looked at while tuning.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, fields
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from bedside.zoo.cards import write_gallery
from bedside.zoo.grading import Row, judge_healthy, judge_sick
from bedside.zoo.run_cache import CACHE, TWIN, recorded
from bedside.zoo.specimen import Specimen
from bedside.zoo.specimens import ZOO, find_specimen

TUNING = (0, 1, 2)
PUBLISHED = (200, 201, 202)
ON_SHOW = PUBLISHED[0]  # the seed that a gallery and the guide draw
TABLE = Path("benchmarks/zoo.csv")
PROCESSES = 2  # what the build machine has


def rows_of(name: str, seed: int, cache: Path = CACHE) -> list[Row]:
    """One specimen with one seed: its twin, and every severity against it. The first published seed is on show."""
    specimen = find_specimen(name)
    if seed == ON_SHOW:
        write_gallery(specimen, seed, cache)
    if not specimen.sick:
        (severity,) = specimen.severities
        return [judge_healthy(specimen, TWIN, seed, recorded(specimen, severity, seed, cache))]
    twin = recorded(specimen, TWIN, seed, cache)
    sick = [(severity, recorded(specimen, severity, seed, cache)) for severity in specimen.severities]
    return [judge_healthy(specimen, TWIN, seed, twin)] + [
        judge_sick(specimen, severity, seed, run, twin) for severity, run in sick
    ]


def score(
    specimens: Sequence[Specimen] = ZOO,
    seeds: Sequence[int] = PUBLISHED,
    done: Callable[[str, int], None] = lambda name, seed: None,
    processes: int = PROCESSES,
) -> list[Row]:
    """All rows, in the order of the zoo; `done` is called for each specimen and seed that is finished."""
    found: dict[tuple[str, int], list[Row]] = {}
    os.environ["OMP_NUM_THREADS"] = "1"  # inherited: two processes with two threads each would wait for each other
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        # Slow kinds first, so that the last minutes are not one process waiting for a GPT.
        order = sorted(specimens, key=lambda each: each.kind not in ("GPT", "encoder"))
        waiting = {pool.submit(rows_of, each.name, seed): (each.name, seed) for each in order for seed in seeds}
        for future in as_completed(waiting):
            found[waiting[future]] = future.result()
            done(*waiting[future])
    return [row for each in specimens for seed in seeds for row in found[each.name, seed]]


def read(path: Path = TABLE) -> list[Row]:
    """The table as it was committed; an empty list if there is none."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    numbers: list[dict[str, Any]] = [{**line, "seed": int(line["seed"]), "steps": int(line["steps"])} for line in lines]
    return [Row(**each) for each in numbers]


def write(rows: Iterable[Row], path: Path = TABLE) -> None:
    """Write the table; rows of specimens that were not run now are kept, those of specimens that are gone are not."""
    new = {row.key: row for row in rows}
    merged = {row.key: row for row in read(path)} | new
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, [field.name for field in fields(Row)], lineterminator="\n")
        table.writeheader()
        table.writerows(asdict(row) for row in _in_order(merged.values()))


def _in_order(rows: Iterable[Row]) -> Iterator[Row]:
    """As the zoo lists them: the twin first, then by severity and seed; specimens that are gone are left out."""
    known = [(each.name, severity) for each in ZOO for severity in (TWIN, *each.severities)]
    place = {key: number for number, key in enumerate(known)}
    kept = [row for row in rows if (row.specimen, row.severity) in place]
    yield from sorted(kept, key=lambda row: (place[row.specimen, row.severity], row.seed))


def worse(rows: Iterable[Row], committed: Iterable[Row]) -> list[str]:
    """In words, what these rows do worse than the committed ones; runs that are new to the table count as well."""
    before = {row.key: row for row in committed}
    complaints = []
    for row in rows:
        old = before.get(row.key)
        where = f"{row.specimen}, {row.severity}, seed {row.seed}"
        if old is None:
            complaints.append(f"{where}: not in the table")
            continue
        if old.caught == "yes" != row.caught:
            complaints.append(f"{where}: was caught, now {row.found or 'nothing is found'}")
        elif old.primary == "yes" != row.primary:
            complaints.append(f"{where}: the primary finding was right, now {row.found}")
        if new := set(row.false_alarms.split()) - set(old.false_alarms.split()):
            complaints.append(f"{where}: false alarm {', '.join(sorted(new))}")
    return complaints
