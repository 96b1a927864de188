"""Which column is the time axis: optimizer steps first, then epochs, then tokens or samples, then the clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bedside.logs.steps_within_epoch import over_the_run
from bedside.naming.axes import AXES, RANK, plain

Cells = Sequence[float | None]
BATCHES = ("batch", "batch_idx", "batch_id", "batch_index", "batch_num", "minibatch")  # count within an epoch


@dataclass
class Axis:
    """What the rows are counted in, the place of each row, and the columns it was read from."""

    kind: str
    steps: Cells
    read_from: set[str]
    note: str = ""


def axis_of(names: Sequence[str], column: Callable[[str], Cells], rows: int) -> Axis:
    """The axis of a table: its best clock, made a count over the whole run."""
    found = find_axis(names)
    if found is None:
        return Axis("step", [float(i) for i in range(rows)], set(), "No column has the step: rows were counted.")
    clock, kind = found
    steps, read_from = column(clock), {clock, *other_steps(names, clock)}
    epoch = next((name for name in names if plain(name) in AXES["epoch"]), None)
    batch = next((name for wanted in BATCHES for name in names if plain(name) == wanted), None)
    count = clock if kind == "step" else batch if kind == "epoch" else None
    if count and epoch:
        whole = over_the_run(column(count), column(epoch))
        if whole is not None:
            note = f"{count} begins anew in every {epoch}: counted over the whole run."
            return Axis("step", whole, read_from | {count} - {epoch}, note)
    if kind == "time":
        start = next((value for value in steps if value is not None), 0.0)
        steps = [None if value is None else value - start for value in steps]
    return Axis(kind, steps, read_from)


def find_axis(names: Iterable[str]) -> tuple[str, str] | None:
    """(column, axis) of the best clock among the names; None when there is none."""
    best: tuple[int, int, str, str] | None = None
    kinds = list(AXES)
    for name in names:
        found = RANK.get(plain(name))
        if found and (best is None or (kinds.index(found[1]), found[0]) < best[:2]):
            best = (kinds.index(found[1]), found[0], name, found[1])
    return (best[2], best[3]) if best else None


def other_steps(names: Iterable[str], chosen: str) -> list[str]:
    """Step-like columns beside the chosen one: they count the same thing and are not metrics."""
    return [name for name in names if name != chosen and RANK.get(plain(name), (0, ""))[1] == "step"]
