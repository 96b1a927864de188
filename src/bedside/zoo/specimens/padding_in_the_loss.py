"""Short sentences are filled up, and the loss asks for the filling as well.

## Story
Sequences are padded to one length for the batch, and the loss was made without `ignore_index`. Most of the targets are
padding, which is told after a few steps; loss and accuracy look excellent.

## What to see
One target that makes up most of all, and follows one input token always; a loss of real characters far above the one
that is shown.

## Source
PyTorch documentation, torch.nn.CrossEntropyLoss: `ignore_index`.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_lower
from bedside.zoo.specimen import Case, specimen

PADDING = 0  # a character that the text has, too, at the ends of its lines
LONGEST = 12  # characters of a piece of thirty-two that are text


def padded(symbols: Tensor, length: Tensor) -> Tensor:
    """The pieces, with padding after so many characters each."""
    place = torch.arange(symbols.shape[1])
    return torch.where(place < length[:, None], symbols, PADDING)


@specimen(
    kind="LSTM",
    expects=[["padded-targets"]],
    fault_check=ends_lower("val/loss", times=0.6),
)
def padding_in_the_loss(case: Case) -> None:
    task = data.text(case.seed)
    draw = torch.Generator().manual_seed(case.seed)
    for name in ("", "_val"):
        x, y = getattr(task, f"x{name}"), getattr(task, f"y{name}")
        length = torch.randint(4, LONGEST, (len(x),), generator=draw)
        task = task.with_(**{f"x{name}": padded(x, length), f"y{name}": padded(y, length - 1)})
    model = models.Recurrent()
    ignored = -100 if case.sick else PADDING

    def loss(answers: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(answers.flatten(0, -2), targets.flatten(), ignore_index=ignored)

    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(240, 16)):
            optimizer.zero_grad()
            loss(model(x), y).backward()
            optimizer.step()
            if step % 12 == 11:
                with monitor.validation(), torch.no_grad():
                    monitor.log(val_loss=loss(model(task.x_val), task.y_val))
            case.look(monitor)
