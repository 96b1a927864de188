"""What a specimen is: a page, one function that trains, and what should be said about it.

    @specimen(kind="MLP", expects=[["oversized-update", "diverging-loss"]], severities={"mild": 1.0, "severe": 10.0},
              fault_check=ends_worse("val/accuracy", by=0.2))
    def learning_rate_ten(case: Case) -> None: ...

The function's name is the specimen's name (with dashes) and its module's docstring is the page. The sick run and its
healthy twin differ in the one line that asks `case.sick`; a specimen that looks sick and is not has no such line.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bedside.monitor.monitor import Monitor
from bedside.record.run import Run

FaultCheck = Callable[[Run, Run], bool]  # of the sick run and its twin: is the fault really there?
Onset = int | Callable[[Run], int]  # the step at which the fault begins, known or read off the run


@dataclass(frozen=True)
class Case:
    """One run of a specimen: sick or not, how badly, with which random numbers, recorded where."""

    sick: bool
    severity: Any  # what the severity means to this specimen: a rate, a share; None for the twin
    seed: int
    folder: Path
    look: Callable[[Monitor], None] = field(default=lambda monitor: None)  # somebody may be watching

    def watch(self, model: Any, optimizer: Any, **config: Any) -> Monitor:
        """`bedside.watch` into this case's folder. No budget: what is read must not depend on the machine's load."""
        import bedside

        return bedside.watch(model, optimizer, run_dir=self.folder, quiet=True, budget=None, config=config)


@dataclass(frozen=True)
class Specimen:
    """One entry of the zoo."""

    name: str
    kind: str  # of model: MLP, conv net, GPT, LSTM, encoder, autoencoder, GAN, policy, linear
    train: Callable[[Case], None]
    page: str
    expects: tuple[tuple[str, ...], ...]  # caught when one name of any group is an error or a warning
    severities: Mapping[str, Any]
    onset: Onset
    fault_check: FaultCheck | None

    @property
    def sick(self) -> bool:
        """Whether there is anything to find; the others are healthy runs that look sick."""
        return bool(self.expects)

    @property
    def title(self) -> str:
        return self.page.splitlines()[0]

    @property
    def file(self) -> Path:
        return Path(inspect.getsourcefile(self.train) or "")

    @property
    def the_line(self) -> str:
        """The line that makes it sick, as it stands in the file."""
        lines = self.file.read_text(encoding="utf-8").splitlines()
        return next((line.strip() for line in lines if "case.sick" in line), "")

    @property
    def names(self) -> frozenset[str]:
        """Every finding that would be right."""
        return frozenset(name for group in self.expects for name in group)

    def value_of(self, severity: str) -> Any:
        """What a severity means to this specimen: `mild` may be a learning rate of 1."""
        from bedside.errors import unknown_name

        if severity not in self.severities:
            raise unknown_name("severity", severity, self.severities, try_=f"bedside zoo run {self.name}")
        return self.severities[severity]

    def onset_in(self, run: Run) -> int:
        return self.onset(run) if callable(self.onset) else self.onset


def specimen(
    *,
    kind: str,
    expects: Sequence[Sequence[str]],
    fault_check: FaultCheck,
    severities: Mapping[str, Any] | None = None,
    onset: Onset = 0,
) -> Callable[[Callable[[Case], None]], Specimen]:
    """Make a Specimen of a training function; without `severities` there is one severity, called `only`."""

    def make(train: Callable[[Case], None]) -> Specimen:
        return Specimen(
            name=train.__name__.replace("_", "-"),
            kind=kind,
            train=train,
            page=(sys.modules[train.__module__].__doc__ or "").strip(),
            expects=tuple(tuple(group) for group in expects),
            severities=dict(severities or {"only": None}),
            onset=onset,
            fault_check=fault_check,
        )

    return make


def lookalike(*, kind: str) -> Callable[[Callable[[Case], None]], Specimen]:
    """A healthy run that looks sick: every alarm on it is a false one."""

    def make(train: Callable[[Case], None]) -> Specimen:
        page = (sys.modules[train.__module__].__doc__ or "").strip()
        return Specimen(train.__name__.replace("_", "-"), kind, train, page, (), {"only": None}, 0, None)

    return make
