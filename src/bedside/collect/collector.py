"""A collector reads one kind of vital; between samples it leaves no hook behind.

The monitor calls, for every step at which the collector is due::

    attach(step)     before the first forward of the step: get ready
    begin_reading(forward)  a training forward begins: put hooks on, replace functions
    end_reading()    that forward is over: take everything off again
    detach(step)     after the optimizer's step: queue what was read
    rows()           some steps later, when the device queue has been transferred: the numbers, as rows of a metric set

and, sampled or not, the moments that a collector overrides (`MOMENTS`): at every step if the budget allows, else at
every so many (`context.step` counts them all). What is observed stays on the device (`queue.put` gives a PendingValue,
whose `numbers` are there later), so that no collector ever waits for one. A collector that raises is switched off with
one warning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bedside.collect.probes import Probes
from bedside.collect.reading.elements import ElementsOf
from bedside.collect.step.training_thread import TrainingThread
from bedside.record.run import Event, Key

if TYPE_CHECKING:
    from torch import Tensor, nn
    from torch.optim import Optimizer

    from bedside.collect.hooks.called_modules import Forward
    from bedside.collect.hooks.forward_hooks import ForwardHooks
    from bedside.collect.model.parameter_layout import Layout
    from bedside.collect.reading.device_queue import DeviceQueue


@dataclass(frozen=True)
class RowSet:
    """Rows for the record: one line a step, one column a (vital, owner), MISSING where nothing was read."""

    name: str
    columns: Sequence[Key]
    steps: Sequence[int]
    values: NDArray[np.float64]
    dtype: str = "f4"


@dataclass
class WatchContext:
    """What collectors may look at."""

    model: nn.Module
    optimizers: Sequence[Optimizer]
    queue: DeviceQueue
    forward_hooks: ForwardHooks
    layout: Layout  # replaced by the monitor when the model's parameters change
    rank: int = 0
    probes: Probes = field(default_factory=Probes)
    affords: Callable[[float], bool] = lambda seconds: True  # work that is done once and takes so long
    scaler: Any = None  # the GradScaler, once it has stepped one of the optimizers
    step: int = 0  # the number of the step that is under way
    skipped_steps: int = 0  # fast-path steps so far, at which no collector was called,
    unsettled_steps: Callable[[], int] = lambda: 0  # and those of the last moments, which are not among them yet
    ended: float | None = None  # when the step before it was over, by time.perf_counter
    elements: ElementsOf = field(default_factory=ElementsOf)  # of the optimizers' parameters
    thread: TrainingThread = field(default_factory=TrainingThread)
    facts: dict[str, Any] = field(default_factory=dict)  # what was learnt for the run's config: schedulers, classes


# The moments of the loop; a collector overrides the methods of those it needs.
MOMENTS = (
    "forward_begins",
    "forward_ended",
    "loss_computed",
    "backward_begins",
    "backward_ended",
    "clipped",
    "step_begins",
    "step_ended",
    "scheduler_stepped",
    "metrics_logged",
)


class Collector:
    """What every collector is; each overrides what it needs."""

    name = ""  # the vital group: what intervals, cost and the report call it
    vitals: tuple[str, ...] = ()  # what it can write; none: it writes events only
    sampled = True  # False: it only observes moments
    min_interval = 1  # steps between two samples, at least
    needs_every_step = False  # True: it must be called at every step, whatever that costs

    def __init__(self, context: WatchContext) -> None:
        self.context = context
        self.queue = context.queue
        self.hook_seconds = (
            0.0  # seconds in hooks of its own (moments are timed for it), since the budget was last updated
        )
        self.moment_seconds = 0.0  # seconds in its moments, since the step began

    @property
    def model(self) -> nn.Module:
        return self.context.model

    def attach(self, step: int) -> None:
        """A sampled step begins."""

    def begin_reading(self, forward: Forward) -> bool:
        """A training forward of a sampled step begins; True if `read` should be called when it is over."""
        return False

    def end_reading(self) -> None:
        """The forward is over (or failed): leave nothing behind."""

    def detach(self, step: int) -> None:
        """The step is over (or watching is): queue what was read."""

    def end(self) -> None:
        """Watching ends: leave nothing behind."""

    def rows(self) -> Iterable[RowSet]:
        """What has arrived since the last call."""
        return ()

    def events(self) -> Iterable[Event]:
        """What happened once, since the last call."""
        return ()

    # The moments, in the order of the loop. The collector set finds which of them a class overrides; the others cost
    # nothing.

    def forward_begins(self, forward: Forward) -> None:
        """A forward pass of the model begins, in training or in evaluation."""

    def forward_ended(self, output: Any) -> None:
        """It has ended, without an output if it raised; where it was read, after `end_reading`."""

    def loss_computed(self, function: str, prediction: Any, target: Any) -> None:
        """A loss function of torch was called."""

    def backward_begins(self, tensors: Any, losses: Sequence[float | Tensor]) -> None:
        """What backward was given, and the losses in it: unscaled, as numbers where nobody has to wait for them."""

    def backward_ended(self, ours: bool) -> None:
        """Whether it was a backward pass of this model."""

    def clipped(self, parameters: Sequence[Tensor], max_norm: float, total_norm: Tensor) -> None:
        """Gradients were clipped by norm."""

    def step_begins(self, optimizer: Optimizer, closure: bool) -> None:
        """An optimizer's step begins, with or without a closure."""

    def step_ended(self, optimizer: Optimizer, closure: bool) -> None:
        """It is over."""

    def scheduler_stepped(self, scheduler: Any) -> None:
        """A learning-rate scheduler steps."""

    def metrics_logged(self, vitals: Sequence[str]) -> None:
        """The user logged these vitals."""


def overrides(collector: Collector, moment: str) -> bool:
    """Whether the collector's class has a method of its own for this moment."""
    return getattr(type(collector), moment) is not getattr(Collector, moment)
