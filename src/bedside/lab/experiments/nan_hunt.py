"""Where the first NaN or Inf comes from: the module, the operation, your line of code, and the likely reason.

Training is repeated from here, each micro-batch as `training/nonfinite/hunt.py` does it, and the first operation that
made a non-finite number out of finite ones is named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from torch import nn
from torch.optim import Optimizer

from bedside.lab.experiment_result import Result
from bedside.lab.progress_bar import progress as shown
from bedside.lab.recording import experiment
from bedside.lab.session import Session, session
from bedside.training.forward import Forward, LossFunction
from bedside.training.nonfinite.hunt import Culprit, already_bad, bad_weights, hunt
from bedside.training.nonfinite.module_check import ModuleCheck
from bedside.training.nonfinite.sources import BAD_WEIGHTS, Source
from bedside.training.nonfinite.values import Statistics
from bedside.training.step import Loop
from bedside.wording import listed, plural

OVERSHOT = Source(
    "exploding", "finite gradients, but the optimizer's step made weights that are not finite", BAD_WEIGHTS.cure
)


@dataclass(frozen=True)
class NanHunt(Result):
    """The first non-finite number; true if one was found."""

    experiment = "nan_hunt"
    found: bool
    step: int  # of the hunt, from 0: where it was found, or how many were looked at
    moment: str  # input, weights, forward, loss, backward, optimizer; "" if nothing was found
    module: str  # path of the module, "" for the model itself or the loss function
    operator: str  # as torch calls it
    line: str  # of the user's code
    operands: tuple[Statistics, ...]
    result: Statistics | None
    source: Source | None

    def __bool__(self) -> bool:
        return self.found

    def lines(self) -> Iterator[str]:
        if not self.found or self.source is None:
            yield f"All values are finite over {plural(self.step, 'step')}: loss, gradients and weights."
            return
        parts = (self.moment, self.module, self.operator, self.line, self.operands, self.result, self.source)
        yield from Culprit(*parts).lines(f"Step {self.step}")


@experiment
def nan_hunt(
    model: nn.Module,
    loader: Iterable[Any],
    loss_fn: LossFunction | None = None,
    optimizer: Optimizer | None = None,
    *,
    steps: int = 1,
    forward: Forward | None = None,
    loop: Loop | None = None,
    progress: bool | None = None,
) -> NanHunt:
    """Repeat the training from here for up to `steps` steps and name the first operation that goes wrong.

    Args:
        optimizer: With one, steps are taken, so that a NaN which needs some steps to appear can be reached; without,
            each batch is looked at with the present weights.
    """
    with session(model, loader, loss_fn, optimizer, forward=forward, loop=loop) as at:
        at.training.train_mode()
        if culprit := already_bad(model):
            return _found(0, culprit)
        check = ModuleCheck(model)
        with check.attached():
            for step in shown(range(steps), "hunting", show=progress):
                if (culprit := _step(at, check, step)) is not None:
                    return _found(step, culprit)
    return NanHunt(False, steps, "", "", "", "", (), None, None)


def _found(step: int, culprit: Culprit) -> NanHunt:
    fields = {name: getattr(culprit, name) for name in Culprit.__dataclass_fields__}
    return NanHunt(True, step, **fields)


def _step(at: Session, check: ModuleCheck, step: int) -> Culprit | None:
    """One step under the first stage; what was found, if anything was."""
    training, share = at.training, at.training.loop.accumulate
    at.state.clear_gradients()
    for micro in range(share):
        if (culprit := hunt(training, step * share + micro, check)) is not None:
            return culprit
    if training.optimizer is not None:
        training.optimizer.step()
        if names := bad_weights(training.model):
            return Culprit("optimizer", listed(names), source=OVERSHOT)
    return None
