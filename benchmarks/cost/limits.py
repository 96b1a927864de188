"""What does not depend on the speed of a machine, or hardly: transfers, memory, accuracy, bytes moved, the budget.

`python benchmarks/overhead.py --limits` prints and keeps them in benchmarks/results/limits.csv.
"""

from __future__ import annotations

import gc
import itertools
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

import bedside
from bedside.collect.reading import device_queue as queue
from bedside.collect.reading.native import sums as native
from bedside.collect.reading.norm_reader import CHECKED_STEPS, Reader
from bedside.collect.reading.squared_norms import SquaredNorms
from bedside.collect.sampling.budget import UNTIMED_FACTOR
from bedside.collect.step import common_rows as core
from bedside.collect.step import loss as losses

from .workloads import Training, build

STEPS = 400
STEPS_OF_RULES = 40_000  # looks are many seconds apart


def train(training: Training, steps: int) -> None:
    for _ in range(steps):
        x, y = training.batch()
        training.optimizer.zero_grad()
        F.cross_entropy(training.model(x), y).backward()
        if training.clip is not None:
            nn.utils.clip_grad_norm_(training.model.parameters(), training.clip)
        training.optimizer.step()


@contextmanager
def watched(training: Training, **options: object) -> Iterator[bedside.Monitor]:
    with (
        tempfile.TemporaryDirectory() as folder,
        bedside.watch(training.model, training.optimizer, run_dir=f"{folder}/run", quiet=True, **options) as monitor,
    ):
        yield monitor


class Transfers(TorchDispatchMode):
    """Counts what would make the host wait for a device: reading a number, copying a tensor over."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func: Callable, types: object, args: tuple = (), kwargs: dict | None = None) -> object:
        if func is torch.ops.aten._local_scalar_dense.default:
            self.count += 1
        return func(*args, **(kwargs or {}))


def transfers() -> dict[str, float]:
    """Per step, as if the CPU were a device whose numbers are not on the CPU: every unloading, and every number
    read."""
    kept = [(home, home.on_cpu) for home in (queue, core, losses) if hasattr(home, "on_cpu")]
    transfer, unloaded = queue.DeviceQueue.transfer, [0]

    def counted(self: queue.DeviceQueue) -> None:
        unloaded[0] += self.full
        transfer(self)

    for home, _ in kept:
        home.on_cpu = lambda tensor: False
    queue.DeviceQueue.transfer = counted
    try:
        found = {}
        for options in ({}, {"budget": None}):
            alone, beside = Transfers(), Transfers()
            with alone:
                train(build("mlp", fused=True), STEPS)
            training = build("mlp", fused=True)
            with watched(training, **options):
                train(training, 100)
                unloaded[0] = 0
                with beside:
                    train(training, STEPS)
            name = "transfers per step, " + ("everything every step" if options else "default budget")
            found[name] = (unloaded[0] + max(beside.count - alone.count, 0)) / STEPS
    finally:
        queue.DeviceQueue.transfer = transfer
        for home, on_cpu in kept:
            home.on_cpu = on_cpu
    return found


def memory() -> dict[str, float]:
    """Bytes of tensors that bedside holds while the optimizer steps, per parameter of the GPT."""
    found = {}
    for name, options in (("default budget", {}), ("exact updates every step", {"budget": None})):
        training = build("gpt", fused=True)
        train(training, 1)
        unwatched = _held_in_a_step(training)
        with watched(training, **options):
            watched_too = _held_in_a_step(training)
        parameters = sum(p.numel() for p in training.model.parameters())
        found[f"bytes per parameter, {name}"] = (watched_too - unwatched) / parameters
    return found


def _held_in_a_step(training: Training) -> float:
    """Bytes of all tensors but the training's own, while the optimizer steps."""
    held: list[float] = []
    handle = training.optimizer.register_step_pre_hook(lambda *_: held.append(_bytes(training)))
    train(training, 4)
    handle.remove()
    return max(held)


def _bytes(training: Training) -> float:
    gc.collect()
    storages = {}
    for each in gc.get_objects():
        if type(each) in (torch.Tensor, nn.Parameter):
            storage = each.untyped_storage()
            storages[storage.data_ptr()] = storage.nbytes()
    # A gradient that nobody has asked for is not among Python's objects, so it is never counted.
    for parameter in training.model.parameters():
        storages.pop(parameter.grad.untyped_storage().data_ptr(), None)
    return float(sum(storages.values()))


def accuracy(elements: int = 100_000_000) -> dict[str, float]:
    """The relative error of a norm, ours and torch's."""
    values = torch.randn(elements, generator=torch.Generator().manual_seed(0)) + 1
    array = values.numpy()
    chunks = (array[start : start + (1 << 20)].astype(np.float64) for start in range(0, elements, 1 << 20))
    exact = float(np.sqrt(sum(float(chunk @ chunk) for chunk in chunks)))
    squared_norms, found = SquaredNorms([values]), {}
    kernels, native._kernels = native._kernels, None
    ours = {"with torch and numpy": float(squared_norms.squares([values])[0]) ** 0.5}
    native._kernels = kernels
    if native.load():
        ours["native"] = float(squared_norms.squares([values])[0]) ** 0.5
    for way, norm in ours.items():
        found[f"relative error of a norm of {elements:,} elements, {way}"] = abs(norm / exact - 1)
    found[f"relative error of a norm of {elements:,} elements, torch.linalg.vector_norm"] = abs(
        float(torch.linalg.vector_norm(values)) / exact - 1
    )
    return found


def bandwidth(rounds: int = 15) -> dict[str, float]:
    """Seconds for gradients, weights and updates of ten million parameters, over those that moving their bytes takes:
    gradient, weight and snapshot are read and the snapshot is written, 16 bytes a parameter. A copy moves 12 for every
    8 that it is said to move, since what is written is fetched first."""
    parameters = [nn.Parameter(torch.randn(1_000_000)) for _ in range(10)]
    for parameter in parameters:
        parameter.grad = torch.randn(1_000_000)
    source, target = torch.randn(10_000_000), torch.empty(10_000_000)
    ways, found = {"with torch and numpy": None, "native": native._kernels if native.load() else None}, {}
    kernels, native._kernels = native._kernels, None
    try:
        for way, machine_code in ways.items():
            if way == "native" and machine_code is None:
                continue
            native._kernels = machine_code
            reader = Reader(parameters)
            reader.expect(updates=True, left_alone=True)
            ours, limits = [], []
            for step in range(CHECKED_STEPS + rounds):
                began = time.process_time()
                target.copy_(source)
                limits.append((time.process_time() - began) * 16 / 12)
                began = time.process_time()
                reader.before(step)
                before = time.process_time() - began
                with torch.no_grad():  # the step
                    torch._foreach_add_(parameters, [p.grad for p in parameters], alpha=1e-3)
                began = time.process_time()
                reader.after(step)
                ours.append(before + time.process_time() - began)
            found[f"time over that of moving 16 bytes a parameter, {way}"] = median(ours[CHECKED_STEPS:]) / median(
                limits
            )
    finally:
        native._kernels = kernels
    return found


def shares(steps: int = 300) -> dict[str, float]:
    """Per cent of the step that bedside takes after 500 steps by its own account, with what it does not see of itself.
    Slow nets get few samples, so that 500 steps are soon over: the budget is a part of the step, however long."""
    few = {"deep": (32, 32), "resnet": (8, 8), "gpt": (1, 128)}  # samples, and answers to them
    found = {}
    for net, (samples, answers) in few.items():
        training = build(net, fused=True)
        batches = [training.batch() for _ in range(8)]
        smaller = itertools.cycle([(x[:samples], y[:answers]) for x, y in batches])
        training.batch = smaller.__next__
        with watched(training) as monitor:
            train(training, 510)
            budget, began = monitor.dispatcher.budget, time.perf_counter()
            before = budget.total + monitor.dispatcher.fast_path.spent
            train(training, steps)
            own = UNTIMED_FACTOR * (budget.total + monitor.dispatcher.fast_path.spent - before)
            found[f"per cent by its own account, default budget, {net}"] = (
                100 * own / (time.perf_counter() - began - own)
            )
    return found


def attention(steps: int = 12) -> dict[str, float]:
    """Per cent of a step that reading the entropy of attention takes, where it is read at every step."""
    training = build("gpt", fused=True)
    with watched(
        training, budget=None, vitals=["attention_entropy", "attention_dirac", "attention_uniform"]
    ) as monitor:
        took = []
        for _ in range(steps):
            began = time.perf_counter()
            train(training, 1)
            took.append(time.perf_counter() - began)
        reading = median(monitor.dispatcher.budget._recent["attention"])
    return {"per cent of a step for attention entropy, gpt": 100 * reading / (median(took) - reading)}


def rules() -> dict[str, float]:
    """Seconds that live rules take, per step, long after the first steps, and over how many metrics."""
    training = build("mlp", fused=True)
    with watched(training) as monitor:
        train(training, 1000)
        before = monitor.dispatcher.budget.alarm_seconds
        train(training, STEPS_OF_RULES)
        alarm_seconds = monitor.dispatcher.budget.alarm_seconds - before
        metrics = len(monitor._recorder.view().series_keys)
    return {
        f"microseconds a step for rules over {metrics} metrics, MLP, default budget": 1e6
        * alarm_seconds
        / STEPS_OF_RULES
    }


def limits() -> dict[str, float]:
    os.environ["BEDSIDE_NATIVE"] = "1"
    torch.set_num_threads(1)
    return transfers() | memory() | accuracy() | bandwidth() | attention() | rules() | shares()
