"""Ray Train: call this `watch` inside `train_func`, where the worker's model and optimizer are.

    from bedside.integrations.ray import watch

    def train_func(config):
        model = ray.train.torch.prepare_model(Net())
        optimizer = torch.optim.Adam(model.parameters())
        with watch(model, optimizer, run_dir="/shared/runs/a"):
            ...

Every worker keeps its own record in the same folder, by its rank; rank 0 speaks. Callbacks of Ray's run on its
controller, where there is nothing to see.
"""

from __future__ import annotations

import os
from typing import Any

import ray.train

from bedside.monitor import watch as watching
from bedside.monitor.monitor import Monitor

FOLDER = "bedside"


def watch(model: Any, optimizer: Any, **options: Any) -> Monitor:
    """`bedside.watch`, with the rank and the storage of this worker. Takes the same arguments."""
    context = ray.train.get_context()
    os.environ.setdefault("RANK", str(context.get_world_rank()))
    os.environ.setdefault("WORLD_SIZE", str(context.get_world_size()))
    if "run_dir" not in options and "resume" not in options:
        storage = context.get_storage()
        path = f"{storage.storage_fs_path}/{storage.experiment_dir_name}"
        options["run_dir"] = os.path.join(path, FOLDER)
    return watching.watch(model, optimizer, **options)
