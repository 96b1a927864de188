"""Which column tells the time: optimizer steps first, then epochs, then tokens or samples, then the clock."""

from __future__ import annotations

from collections.abc import Iterable

AXES = {
    "step": """global_step global_steps trainer/global_step train/global_step step steps _step current_steps
    current_step iteration iterations iter iters it num_updates update updates optimizer_step train_step
    train/step training_step batch_idx""".split(),
    "epoch": "epoch epochs epoch_num train/epoch".split(),
    "tokens": """tokens total_tokens consumed_tokens tokens_seen num_input_tokens_seen throughput/total_tokens
    samples consumed_samples samples_count examples""".split(),
    "time": "_runtime relative_time wall_time walltime time timestamp _timestamp elapsed elapsed_time date".split(),
}
_RANK = {name: (rank, axis) for axis, names in AXES.items() for rank, name in enumerate(names)}


def plain(name: str) -> str:
    return name.strip().strip("'\"").lower().replace(" ", "_")


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
