"""`bedside demo`: two small nets on scikit-learn's digits, alike but for one line, trained while bedside watches.

The nets get each pixel's brightness on a log scale, as audio models get decibels, weigh every pixel with a
learnable number, and go back to brightness. One starts with weights of one. The other starts with random ones, as
a colleague once did with a mel filter bank: where the number is negative, the darkest pixel becomes by far
the brightest, gradients grow towards the front of the network, and clipping hides it.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bedside.errors import BedsideError, install_extra
from bedside.finding import Diagnosis

EPOCHS = 25
BATCH = 64
CLIP = 1.0
PEAK_RATE = 0.1
WARM_UP = 50  # steps


def main() -> int:
    """Train both nets, show what bedside sees while they train, and print both reports."""
    _require_extras()
    from rich.console import Console

    console = Console(stderr=False, highlight=False)
    began = time.perf_counter()
    reports: list[tuple[str, Diagnosis, float]] = []
    with tempfile.TemporaryDirectory(prefix="bedside-demo-") as folder:
        for name, line, random_scale in (
            ("healthy", "self.pixel_scale = nn.Parameter(torch.ones(64))", False),
            ("sick", "self.pixel_scale = nn.Parameter(torch.randn(64))", True),
        ):
            console.print(f"\n[bold]The {name} net[/bold], with [cyan]{line}[/cyan]")
            diagnosis, accuracy = _train(random_scale, Path(folder) / name, console)
            reports.append((name, diagnosis, accuracy))
        for name, diagnosis, accuracy in reports:
            console.rule(f"the {name} net (validation accuracy {accuracy:.1%})")
            console.print(str(diagnosis), markup=False, soft_wrap=True)
    console.rule()
    console.print(
        f"Both nets trained and diagnosed in {time.perf_counter() - began:.0f} s. In your own loop it is one line:\n\n"
        "    monitor = bedside.watch(model, optimizer)\n"
    )
    return 0


def _require_extras() -> None:
    for package in ("torch", "sklearn"):
        try:
            __import__(package)
        except ImportError:
            raise BedsideError(
                f"The demo trains two small nets, and {package} is not installed.",
                expected="torch and scikit-learn, which come with the extra 'demo'",
                try_=install_extra("demo"),
            ) from None


def _data() -> tuple[Any, Any, Any, Any]:
    """Log-brightness of 8×8 digits, split in 1,400 for training and 397 for validation."""
    import torch
    from sklearn.datasets import load_digits

    pixels, digits = load_digits(return_X_y=True)
    inputs = torch.log(torch.tensor(pixels, dtype=torch.float32) / 16 + 0.003)
    targets = torch.tensor(digits)
    order = torch.randperm(len(inputs), generator=torch.Generator().manual_seed(0))
    train, validation = order[:1400], order[1400:]
    return inputs[train], targets[train], inputs[validation], targets[validation]


def _net(random_scale: bool) -> Any:
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.norm = nn.LayerNorm(width)
            self.up = nn.Linear(width, 2 * width)
            self.down = nn.Linear(2 * width, width)

        def forward(self, x: Any) -> Any:
            return x + self.down(torch.relu(self.up(self.norm(x))))

    class LogDigits(nn.Module):
        def __init__(self, width: int = 64) -> None:
            super().__init__()
            self.pixel_scale = nn.Parameter(torch.randn(64) if random_scale else torch.ones(64))
            self.front = nn.Linear(64, width)
            self.layers = nn.Sequential(*[Block(width) for _ in range(4)])
            self.norm = nn.LayerNorm(width)
            self.head = nn.Linear(width, 10)

        def forward(self, log_brightness: Any) -> Any:
            brightness = torch.exp(log_brightness * self.pixel_scale)
            return self.head(self.norm(self.layers(self.front(brightness))))

    return LogDigits()


def _train(random_scale: bool, run_dir: Path, console: Any, seed: int = 0) -> tuple[Diagnosis, float]:
    import torch
    from torch.nn import functional as F

    import bedside
    from bedside.monitor.alarms import alarm_line

    x, y, x_val, y_val = _data()
    torch.manual_seed(seed)
    model = _net(random_scale)
    optimizer = torch.optim.SGD(model.parameters(), lr=PEAK_RATE, momentum=0.9)
    steps = EPOCHS * (len(x) // BATCH)
    warm = torch.optim.lr_scheduler.LinearLR(optimizer, 0.05, total_iters=WARM_UP)
    decay = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps - WARM_UP)
    schedule = torch.optim.lr_scheduler.SequentialLR(optimizer, [warm, decay], [WARM_UP])
    accuracy = 0.0
    with _progress(console, steps) as advance:
        monitor = bedside.watch(
            model,
            optimizer,
            run_dir=run_dir,
            config={"classes": 10, "batch_size": BATCH},
            on_finding=lambda finding: console.print(f"[yellow]{alarm_line(finding)}[/yellow]"),
            quiet=True,
            budget=None,  # every step in full: what it shows may not depend on how busy the machine is
        )
        for _ in range(EPOCHS):
            monitor.epoch()
            for batch in torch.randperm(len(x)).split(BATCH)[: len(x) // BATCH]:
                optimizer.zero_grad()
                loss = F.cross_entropy(model(x[batch]), y[batch])
                loss.backward()
                norm = torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
                optimizer.step()
                schedule.step()
                advance(loss.item(), norm.item(), schedule.get_last_lr()[0], accuracy)
            model.eval()
            with monitor.validation(), torch.no_grad():
                logits = model(x_val)
                accuracy = (logits.argmax(1) == y_val).float().mean().item()
                monitor.log(loss=F.cross_entropy(logits, y_val), accuracy=accuracy)
            model.train()
        monitor.close()
    return monitor.diagnose(), accuracy


@contextmanager
def _progress(console: Any, steps: int) -> Iterator[Any]:
    """A bar with the vitals beside it; a plain line every fifth of the way where there is no terminal."""
    if not console.is_terminal:
        done = 0

        def line(loss: float, norm: float, rate: float, accuracy: float) -> None:
            nonlocal done
            done += 1
            if done % (steps // 5) == 0:
                vitals = f"loss {loss:.3f}  grad norm {norm:9.3g}  lr {rate:.1e}  val accuracy {accuracy:.1%}"
                print(f"  step {done:4d}/{steps}  {vitals}", file=sys.stdout, flush=True)

        yield line
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(30), MofNCompleteColumn(), TextColumn("{task.fields[vitals]}"), TimeRemainingColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("training", total=steps, vitals="")

        def move(loss: float, norm: float, rate: float, accuracy: float) -> None:
            vitals = f"loss {loss:6.3f}  grad norm {norm:8.3g}  lr {rate:.0e}  val acc {accuracy:.1%}"
            bar.update(task, advance=1, vitals=vitals)

        yield move
