"""A training loop as it is run for real, with everything that belongs to one, watched from the first line to the last.

    python examples/production_loop.py runs/digits               # trains, and ends with the report
    python examples/production_loop.py runs/digits --resume      # continues from the last checkpoint

Epochs, gradient accumulation, clipping, warm-up and cosine decay, weight decay for some parameters only, validation
with a metric, the loss of every category, checkpoints, and two trackers: TensorBoard and JSON lines (`--wandb` for a
third). The lines marked with an arrow are what the loop says to bedside; the rest it finds by itself.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split

import bedside
from bedside.sinks import JsonLines, TensorBoard, WandB


@dataclass(frozen=True)
class Config:
    epochs: int = 12
    batch_size: int = 32
    accumulate: int = 2  # micro-batches in a step
    lr: float = 4e-3
    weight_decay: float = 0.05
    warmup: float = 0.1  # of all steps
    clip: float = 2.0
    dropout: float = 0.1
    seed: int = 0


class Net(nn.Module):
    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.GELU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.GELU()
        )
        self.norm = nn.LayerNorm(32 * 4 * 4)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(32 * 4 * 4, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.head(self.dropout(self.norm(self.features(images).flatten(1))))


def data(config: Config) -> tuple[TensorDataset, TensorDataset]:
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 8 - 1
    whole = TensorDataset(images, torch.tensor(digits.target))
    return random_split(whole, [0.8, 0.2], generator=torch.Generator().manual_seed(config.seed))


def grouped(model: nn.Module, weight_decay: float) -> list[dict]:
    """Matrices decay; biases and the scales of norms do not."""
    decayed = [p for p in model.parameters() if p.ndim > 1]
    rest = [p for p in model.parameters() if p.ndim <= 1]
    return [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]


def warmup_and_cosine(optimizer: torch.optim.Optimizer, steps: int, warmup: float) -> torch.optim.lr_scheduler.LambdaLR:
    rising = max(1, int(steps * warmup))

    def factor(step: int) -> float:
        if step < rising:
            return (step + 1) / rising
        return 0.5 * (1 + math.cos(math.pi * (step - rising) / max(1, steps - rising)))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


def validate(model: nn.Module, loader: DataLoader, monitor: bedside.Monitor) -> None:
    model.eval()
    with torch.no_grad(), monitor.validation():  # <- averaged over the batches, weighted by n
        for images, labels in loader:
            losses = F.cross_entropy(logits := model(images), labels, reduction="none")
            accuracy = (logits.argmax(1) == labels).float().mean()
            monitor.log(loss=losses.mean(), accuracy=accuracy, n=len(labels))  # <-
            monitor.categories(losses, labels)  # <- the validation loss of every digit
    model.train()


def train(folder: Path, config: Config, *, resume: bool = False, stop_after: int | None = None, wandb: bool = False):
    torch.manual_seed(config.seed)
    train_set, val_set = data(config)
    shuffle = torch.Generator()
    train_loader = DataLoader(train_set, config.batch_size, shuffle=True, drop_last=True, generator=shuffle)
    val_loader = DataLoader(val_set, 128)
    model = Net(config.dropout)
    optimizer = torch.optim.AdamW(grouped(model, config.weight_decay), lr=config.lr)
    steps_per_epoch = len(train_loader) // config.accumulate
    scheduler = warmup_and_cosine(optimizer, config.epochs * steps_per_epoch, config.warmup)

    checkpoint, first_epoch = folder / "checkpoint.pt", 0
    if resume:
        saved = torch.load(checkpoint)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        scheduler.load_state_dict(saved["scheduler"])
        torch.set_rng_state(saved["random"])
        first_epoch = saved["epoch"] + 1

    record = folder / "record"
    sinks = [TensorBoard(folder / "tensorboard"), JsonLines(folder / "metrics.jsonl")]  # <-
    if wandb:
        sinks.append(WandB(project="digits", dir=str(folder), mode="offline"))  # <-
    place = {"resume": record} if resume else {"run_dir": record}
    with bedside.watch(
        model, optimizer, **place, config=asdict(config), sinks=sinks
    ) as monitor:  # <- the only one needed
        for epoch in range(first_epoch, config.epochs):
            monitor.epoch(epoch)  # <-
            shuffle.manual_seed(config.seed + epoch)  # a resumed run shuffles as the first one would have
            for batch, (images, labels) in enumerate(train_loader):
                losses = F.cross_entropy(model(images), labels, reduction="none")
                monitor.categories(losses, labels)  # <-
                (losses.mean() / config.accumulate).backward()
                if (batch + 1) % config.accumulate:
                    continue
                nn.utils.clip_grad_norm_(model.parameters(), config.clip)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            optimizer.zero_grad()  # what an incomplete last step has left
            validate(model, val_loader, monitor)
            states = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
            states |= {"scheduler": scheduler.state_dict(), "random": torch.get_rng_state()}
            torch.save(states, checkpoint.with_suffix(".new"))
            checkpoint.with_suffix(".new").replace(checkpoint)  # a crash while saving costs no checkpoint
            if epoch == stop_after:
                return
    # Leaving the block has printed the report. A job that should fail with its training:
    if monitor.diagnose().verdict == "sick":
        raise SystemExit(1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Train on scikit-learn's digits.")
    parser.add_argument("folder", type=Path, help="for the record, the checkpoint and the trackers")
    parser.add_argument("--resume", action="store_true", help="continue from the last checkpoint")
    parser.add_argument("--stop-after", type=int, metavar="EPOCH", help="end early, as a preempted job does")
    parser.add_argument("--wandb", action="store_true", help="also to Weights & Biases, offline")
    args = parser.parse_args()
    train(args.folder, Config(), resume=args.resume, stop_after=args.stop_after, wandb=args.wandb)
