"""Which column tells the time: optimizer steps first, then epochs, then tokens or samples, then the clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bedside.logs.within_epoch import over_the_run

Cells = Sequence[float | None]
AXES = {
    "step": """global_step global_steps trainer/global_step train/global_step step steps _step current_steps
    current_step iteration iterations iter iters it num_updates update updates optimizer_step train_step
    train/step training_step total_timesteps time/total_timesteps timesteps timestep
    total_steps env_steps env_step frames frame episode episodes""".split(),
    "epoch": "epoch epochs epoch_num train/epoch".split(),
    "tokens": """tokens total_tokens consumed_tokens tokens_seen num_input_tokens_seen throughput/total_tokens
    samples consumed_samples samples_count examples""".split(),
    "time": "_runtime relative_time wall_time walltime time timestamp _timestamp elapsed elapsed_time date".split(),
}
BATCHES = ("batch", "batch_idx", "batch_id", "batch_index", "batch_num", "minibatch")  # count within an epoch
_RANK = {name: (rank, axis) for axis, names in AXES.items() for rank, name in enumerate(names)}


def plain(name: str) -> str:
    return name.strip().strip("'\"").lower().replace(" ", "_")


@dataclass
class Axis:
    """What the rows are counted in, the place of each row, and the columns that told it."""

    kind: str
    steps: Cells
    told_by: set[str]
    note: str = ""


def axis_of(names: Sequence[str], column: Callable[[str], Cells], rows: int) -> Axis:
    """The axis of a table: its best clock, made a count over the whole run."""
    found = find_axis(names)
    if found is None:
        return Axis("step", [float(i) for i in range(rows)], set(), "Nothing tells the step: the rows were counted.")
    clock, kind = found
    steps, told_by = column(clock), {clock, *other_steps(names, clock)}
    epoch = next((name for name in names if plain(name) in AXES["epoch"]), None)
    batch = next((name for wanted in BATCHES for name in names if plain(name) == wanted), None)
    count = clock if kind == "step" else batch if kind == "epoch" else None
    if count and epoch:
        whole = over_the_run(column(count), column(epoch))
        if whole is not None:
            note = f"{count} begins anew in every {epoch}: counted over the whole run."
            return Axis("step", whole, told_by | {count} - {epoch}, note)
    if kind == "time":
        start = next((value for value in steps if value is not None), 0.0)
        steps = [None if value is None else value - start for value in steps]
    return Axis(kind, steps, told_by)


def find_axis(names: Iterable[str]) -> tuple[str, str] | None:
    """(column, axis) of the best clock among the names; None when there is none."""
    best: tuple[int, int, str, str] | None = None
    kinds = list(AXES)
    for name in names:
        found = _RANK.get(plain(name))
        if found and (best is None or (kinds.index(found[1]), found[0]) < best[:2]):
            best = (kinds.index(found[1]), found[0], name, found[1])
    return (best[2], best[3]) if best else None


def other_steps(names: Iterable[str], chosen: str) -> list[str]:
    """Step-like columns beside the chosen one: they count the same thing and are no metrics."""
    return [name for name in names if name != chosen and _RANK.get(plain(name), (0, ""))[1] == "step"]
