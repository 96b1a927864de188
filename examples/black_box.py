"""One bad sample in a thousand: the run goes on without it, and afterwards the bad step says what was wrong.

    python examples/black_box.py [FOLDER]

The guard (`on_nan="skip"`) leaves out the step whose gradient is NaN. The black box keeps that step, and its replay
names the operation, the line of code below, and the sample. Needs the extras `torch` and `incident`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

import bedside


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        income = x[:, :1].log()  # somebody earns nothing
        return self.body(torch.cat([income, x[:, 1:]], dim=1))


def train(run_dir: Path) -> Net:
    torch.manual_seed(0)
    x, y = torch.rand(960, 4) + 0.1, torch.randint(0, 3, (960,))
    x[417, 0] = -1.0
    loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    with bedside.watch(model, optimizer, run_dir=run_dir, black_box=True, on_nan="skip", quiet=True) as monitor:
        for _ in range(3):
            for inputs, targets in loader:
                optimizer.zero_grad()
                F.cross_entropy(model(inputs), targets).backward()
                optimizer.step()
        numbers = monitor.summary()
    print(f"{numbers['steps']} steps, {numbers['guarded_steps']} of them skipped, last loss {numbers['last_loss']:.2f}")
    return model


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp())
    model = train(folder / "run")
    finite = all(bool(torch.isfinite(each).all()) for each in [*model.parameters(), *model.buffers()])
    print(f"weights and running means are finite: {finite}")
    incident = bedside.incident.load(folder / "run")
    print(incident.replay(Net(), F.cross_entropy))


if __name__ == "__main__":
    main()
