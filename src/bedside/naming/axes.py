"""Names that say when a number was read: steps, epochs, tokens or samples, the clock. They are axes, not metrics."""

from __future__ import annotations

from bedside.naming.other_languages import in_english

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
RANK = {name: (rank, axis) for axis, names in AXES.items() for rank, name in enumerate(names)}


def plain(name: str) -> str:
    """A name as the table above writes it."""
    return "_".join(in_english(name.strip().strip("'\"").lower().replace(" ", "_").split("_")))


def axis_kind(name: str) -> str | None:
    """`step`, `epoch`, `tokens` or `time`; None for what is not an axis.

    >>> axis_kind("Global Step"), axis_kind("epoch"), axis_kind("tokens_seen"), axis_kind("val_loss")
    ('step', 'epoch', 'tokens', None)
    """
    found = RANK.get(plain(name))
    return found[1] if found else None
