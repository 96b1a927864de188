"""Small trainings on several ranks; `launched.py` starts them under torchrun, several in one launch."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
from tests.monitor.ranks.network import BATCH, RATE, STEPS, Network, batch, network, train_step
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, SequenceParallel, parallelize_module
from torch.utils._python_dispatch import TorchDispatchMode

import bedside
from bedside.sinks import JsonLines

FOLDER = Path(sys.argv[1])


def ddp() -> None:
    _train("ddp", lambda: nn.parallel.DistributedDataParallel(network()), clip=True)


def fsdp() -> None:
    _train("fsdp", lambda: _sharded(network()), clip=True)


def fsdp_unclipped() -> None:
    _train("fsdp_unclipped", lambda: _sharded(network()))


def tensor_parallel() -> None:
    """All ranks get the same batch: each has a part of every layer."""
    mesh = init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("tp",))
    _train("tensor_parallel", lambda: _cut(network(), mesh), part=0)


def hybrid_sharded() -> None:
    """Sharded over pairs, replicated between them."""
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    _train("hybrid_sharded", lambda: _sharded(network(), mesh=mesh))


def sharded_and_parallel() -> None:
    """FSDP2 over one dimension of the mesh, tensor parallelism over the other."""
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    part = dist.get_rank() // 2
    _train("sharded_and_parallel", lambda: _sharded(_cut(network(), mesh["tp"]), mesh=mesh["dp"]), part=part)


def sequence_parallel() -> None:
    """A norm layer of which every rank sees a part of the sequence."""
    mesh = init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("tp",))
    torch.manual_seed(0)
    model = nn.Sequential(OrderedDict(norm=nn.LayerNorm(6), up=nn.Linear(6, 4), down=nn.Linear(4, 3)))
    plan = {"norm": SequenceParallel(), "up": ColwiseParallel(input_layouts=Shard(1)), "down": RowwiseParallel()}
    parallelize_module(model, mesh, plan)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, foreach=False)
    with bedside.watch(model, optimizer, run_dir=FOLDER / "sequence_parallel", quiet=True):
        for step in range(STEPS):
            x, y = batch(step, 0)
            part = x.reshape(2, BATCH // 2, 6).chunk(dist.get_world_size(), 1)[dist.get_rank()]
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(part).flatten(0, 1), y).backward()
            optimizer.step()


def _sharded(model: Network, **options: object) -> nn.Module:
    for block in model.blocks:
        fully_shard(block, **options)
    return fully_shard(model, **options)


def _cut(model: Network, mesh: object) -> nn.Module:
    for block in model.blocks:
        parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    return model


def _train(name: str, make: Callable[[], nn.Module], clip: bool = False, part: int | None = None) -> None:
    """Trains unwatched and watched: how many collectives each took, and whether the weights are the same."""
    part = dist.get_rank() if part is None else part

    def train(model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
        with Collectives() as collectives:
            for step in range(STEPS):
                train_step(model, optimizer, step, part, clip)
        return collectives.count

    plain, model = make(), make()
    unwatched = train(plain, torch.optim.SGD(plain.parameters(), lr=RATE))
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    sinks = [JsonLines(FOLDER / f"{name}.jsonl")]
    with bedside.watch(model, optimizer, run_dir=FOLDER / name, quiet=True, budget=None, sinks=sinks):
        watched = train(model, optimizer)
    pairs = zip(plain.parameters(), model.parameters(), strict=True)
    same = all(torch.equal(_local(one), _local(other)) for one, other in pairs)
    found = {"unwatched": unwatched, "watched": watched, "same_weights": same}
    (FOLDER / f"{name}-{dist.get_rank()}.json").write_text(json.dumps(found))


def _local(parameter: torch.Tensor) -> torch.Tensor:
    return parameter.detach().to_local() if isinstance(parameter, DTensor) else parameter.detach()


class Collectives(TorchDispatchMode):
    """Counts the operations that talk to other ranks, whoever asked for them."""

    count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        if any(issubclass(each, DTensor) for each in types):
            return NotImplemented  # it comes back as what it does to the local parts
        self.count += "c10d" in function.namespace
        return function(*args, **(kwargs or {}))


def same_data() -> None:
    """A loader without a DistributedSampler."""
    model, optimizer = _replicated()
    with bedside.watch(model, optimizer, run_dir=FOLDER / "same_data"):
        for step in range(60):
            train_step(model, optimizer, step, part=0)


def disagree() -> None:
    """The loop calls the module inside the wrapper, so nothing is averaged."""
    model, optimizer = _replicated()
    with bedside.watch(model, optimizer, run_dir=FOLDER / "disagree", quiet=True):
        for step in range(60):
            train_step(model.module, optimizer, step, dist.get_rank())


def straggler() -> None:
    """Rank 1 waits for its disk."""
    model, optimizer = _replicated()
    with bedside.watch(model, optimizer, run_dir=FOLDER / "straggler", quiet=True):
        for step in range(40):
            time.sleep(0.02 * dist.get_rank())
            train_step(model, optimizer, step, dist.get_rank())


def reduced() -> None:
    """Validation on as many samples as a rank has: rank 1 has three times as many, and one batch fewer."""
    rank = dist.get_rank()
    model, optimizer = _replicated()
    with bedside.watch(model, optimizer, run_dir=FOLDER / "reduced", quiet=True) as monitor:
        for step in range(6):
            train_step(model, optimizer, step, rank)
        monitor.log(accuracy=0.5 if rank == 0 else 0.9, val_loss=1.0 + rank, n=10 if rank == 0 else 30, reduce=True)
        train_step(model, optimizer, 6, rank)
        with monitor.validation():
            for _ in range(2 - rank):
                monitor.log(loss=2.0 + rank, n=5, reduce=True)


def uneven() -> None:
    """Nothing of ours waits for a rank that skips a step, finds NaN, runs fewer batches, or is not watched at all."""
    rank = dist.get_rank()
    model = network()  # not wrapped: ranks need not meet
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    with bedside.watch(model, optimizer, run_dir=FOLDER / "uneven", quiet=True):
        for step in range(40 - 7 * rank):
            if rank == 1 and step % 5 == 0:
                continue  # skips this step
            if rank == 1 and step == 12:
                with torch.no_grad():
                    model.head.bias.fill_(float("nan"))
            train_step(model, optimizer, step, rank)
    model = _sharded(network())
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    monitor = bedside.watch(model, optimizer, run_dir=FOLDER / "one_watched", quiet=True) if rank == 0 else None
    for step in range(20):
        train_step(model, optimizer, step, rank)
    if monitor is not None:
        monitor.close()


def nan_on_one_rank() -> None:
    """One rank of a sharded model meets a bad sample, and looks for where the NaN came from while the other goes on."""
    model = _sharded(network())
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    with bedside.watch(model, optimizer, run_dir=FOLDER / "nan_on_one_rank", quiet=True):
        for step in range(20):
            x, y = batch(step, dist.get_rank())
            if step == 10 and dist.get_rank() == 1:
                x[0, 0] = float("nan")
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()


def killed() -> None:
    """Rank 1 dies without a word in the middle of an epoch."""
    model, optimizer = _replicated()
    with bedside.watch(model, optimizer, run_dir=FOLDER / "killed"):
        for step in range(1000):
            train_step(model, optimizer, step, dist.get_rank())
            time.sleep(0.005)
            if dist.get_rank() == 1 and step == 250:
                time.sleep(0.5)  # until rank 0 waits for it, as ranks mostly do
                os.kill(os.getpid(), signal.SIGKILL)


def failing() -> None:
    """Rank 1 meets a bad sample; the launcher ends the other."""
    model, optimizer = _replicated()
    with bedside.watch(model, optimizer, run_dir=FOLDER / "failing", quiet=True):
        for step in range(1000):
            train_step(model, optimizer, step, dist.get_rank())
            if dist.get_rank() == 1 and step == 50:
                raise ValueError("a sample of the wrong shape")


def elastic() -> None:
    """A checkpoint every ten steps; after step 25 rank 1 fails once, and the launcher starts both again."""
    checkpoint = FOLDER / "checkpoint.pt"
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    start = 0
    if checkpoint.exists():
        saved = torch.load(checkpoint)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        start = saved["step"]
    wrapped = nn.parallel.DistributedDataParallel(model)
    first = os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
    with bedside.watch(wrapped, optimizer, run_dir=FOLDER / "elastic", quiet=True):
        for step in range(start, 40):
            if first and step == 25:
                time.sleep(1.0)  # what was written so far is safe
                if dist.get_rank() == 1:
                    sys.exit(3)
            train_step(wrapped, optimizer, step, dist.get_rank())
            if dist.get_rank() == 0 and (step + 1) % 10 == 0:
                torch.save(
                    {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step + 1}, checkpoint
                )


def _replicated() -> tuple[nn.parallel.DistributedDataParallel, torch.optim.Optimizer]:
    model = nn.parallel.DistributedDataParallel(network())
    return model, torch.optim.SGD(model.parameters(), lr=RATE)


if __name__ == "__main__":
    torch.set_num_threads(1)
    # A file of its own for every attempt: over the launcher's store, gloo may wait for ranks of the attempt before.
    meeting = FOLDER / f"meeting-{os.environ['TORCHELASTIC_RESTART_COUNT']}"
    where = {"rank": int(os.environ["RANK"]), "world_size": int(os.environ["WORLD_SIZE"])}
    dist.init_process_group("gloo", init_method=f"file://{meeting}", **where)
    for program in sys.argv[2:]:
        globals()[program]()
        dist.barrier()
    sys.stderr.flush()
    os._exit(0)  # gloo's threads now and then abort a process that ends by itself, watched or not
