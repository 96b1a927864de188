"""Events beside the numbers, each written down once, when it is noticed: evaluations, epochs, coverage, failures.

Some are also warnings, because the user should know at once: a collector or the whole monitor was switched off, or no
forward is observed. Training goes on in any case.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import nn
from torch.optim import Optimizer

from bedside.collect.collector import Collector
from bedside.collect.step.step_count import StepCount
from bedside.errors import BadModel
from bedside.monitor.recorder import Recorder
from bedside.stderr import warn_safely

UNUSED_BACKWARDS = 10  # waiting for a step when somebody asks; the rule weighs them against the usual number


class RunEvents:
    """Notes events at the step that was the last one when they happened."""

    def __init__(self, recorder: Recorder, count: StepCount) -> None:
        self._recorder = recorder
        self._count = count
        self._covered: Mapping[str, Any] = {}
        self._clipping: tuple[str, bool] | None = None  # what was last said about it
        self._divided: bool | None = None  # what was last said about micro-batches
        self._blind_reported = False
        self._steps_compiled = False  # which has been reported

    @property
    def step(self) -> int:
        """The last step that has ended; before there is one, the first."""
        return max(self._count.next - 1, 0)

    def note(self, kind: str, data: Mapping[str, Any]) -> None:
        self._recorder.event(self.step, kind, data)

    def coverage(self, found: Mapping[str, Any]) -> None:
        """Whether model and optimizers hold the same tensors, if that has changed."""
        if found != self._covered:
            self._covered = found
            self.note("coverage", found)

    def accumulation(self, divided: bool | None) -> None:
        """Whether losses of micro-batches are divided by their number, if that has changed."""
        if divided is not self._divided:
            self._divided = divided
            self.note("accumulation", {"divided": divided})

    def clipping(self, how: Mapping[str, Any]) -> None:
        """Whether gradients are clipped by value, or by the loop itself, if that has changed."""
        if how and (how["by"], how["by_hand"]) != self._clipping:
            self._clipping = (how["by"], how["by_hand"])
            self.note("clipping", how)

    def unused_gradients(self, backwards: int) -> None:
        """Backwards without a step: reported only on request, since until the end they may be accumulation."""
        if backwards >= UNUSED_BACKWARDS and not self._steps_compiled:
            self.note("unstepped", {"backwards": backwards})

    def failed(self, collector: Collector, error: Exception) -> None:
        """One collector was switched off."""
        self.note("switched_off", {"where": collector.name, "error": f"{type(error).__name__}: {error}"})
        message = f"bedside switched off {collector.name} ({type(error).__name__}: {error}); the rest goes on."
        warn_safely(message, stacklevel=6)

    def blind(self, model: nn.Module) -> None:
        """Warn that steps are taken but no forward of the model is ever observed."""
        if self._blind_reported:
            return
        self._blind_reported = True
        name = type(model).__name__
        said = BadModel(
            f"No forward of {name} is seen, so activations, attention and inputs are not read (the rest is).",
            expected="a model that is called as model(x), compiled or not, but outside of a compiled function",
            try_="torch.compile(model) instead of compiling the function that calls it",
        )
        self.note("blind", {"model": name})
        warn_safely(str(said))

    def steps_compiled(self, optimizer: Optimizer) -> None:
        """Steps are taken within compiled code, which torch runs without calling any hook."""
        if self._steps_compiled:
            return
        self._steps_compiled = True
        name = type(optimizer).__name__
        said = BadModel(
            f"The steps of {name} are compiled, so they cannot be followed.",
            expected="optimizer.step() outside of torch.compile; the model itself may be compiled",
            try_="optimizer.step() after the compiled part",
        )
        self.note("steps_compiled", {"optimizer": name})
        warn_safely(str(said))

    def interrupted(self) -> None:
        """Ctrl-C came while our own code ran: nothing is broken, but what follows is not watched."""
        self.note("switched_off", {"where": "", "error": "", "all": True})
        warn_safely(f"bedside was interrupted at step {self._count.next}; what follows is not watched.", stacklevel=5)

    def switched_off(self, where: str, why: str) -> None:
        """The whole monitor was switched off."""
        self.note("switched_off", {"where": where, "error": why, "all": True})
        warn_safely(
            f"bedside stopped listening at step {self._count.next} ({why}); training goes on unwatched.", stacklevel=5
        )
