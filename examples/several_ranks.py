"""Two processes train one sharded model, and each keeps a record; what they know together is read from one folder.

    torchrun --standalone --nproc-per-node=2 examples/several_ranks.py RUN_DIR

Nothing of bedside's talks to the other rank: there is no collective that a slow, skipping or dead rank could hang.
"""

from __future__ import annotations

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

import bedside

dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()

torch.manual_seed(0)
teacher = nn.Linear(16, 4)
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
for layer in (model[0], model[2]):
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
generator = torch.Generator().manual_seed(rank)  # every rank has data of its own


def batch(size: int) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.randn(size, 16, generator=generator)
    return x, teacher(x).argmax(1)


with bedside.watch(model, optimizer, run_dir=sys.argv[1], quiet=True) as monitor:
    for step in range(120):
        x, y = batch(32)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        if step % 40 == 39:
            model.eval()
            with torch.no_grad(), monitor.validation():
                for _ in range(3):
                    x, y = batch(20 + 10 * rank)  # as many samples as this rank happens to have
                    logits = model(x)
                    accuracy = (logits.argmax(1) == y).float().mean()
                    monitor.log(loss=nn.functional.cross_entropy(logits, y), accuracy=accuracy, n=len(x), reduce=True)
            model.train()

dist.barrier()  # ours, so that both records are complete when rank 0 reads them; bedside itself needs none
if rank == 0:
    run = bedside.load(sys.argv[1])
    print(f"{ranks} ranks, {run.steps} steps")
    print("gradient norm of layer 0, of the whole of it:", run["grad_norm/0"].values[:3].round(4).tolist())
    print("accuracy on the samples of all ranks:", run["val/accuracy"].values.round(3).tolist())
    print(bedside.diagnose(run).verdict)
dist.destroy_process_group()
