"""How a tool listens to a training, and the form in which its words are written down."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from torch import Tensor, nn

from .scenarios import Training

NOTE, WARNING, ERROR = "note", "warning", "error"
LEVELS = {  # what the tools call their levels
    "healthy": NOTE,
    "info": NOTE,
    "note": NOTE,
    "proof": ERROR,
    "medium": WARNING,
    "warn": WARNING,
    "warning": WARNING,
    "high": ERROR,
    "error": ERROR,
    "critical": ERROR,
    "fatal": ERROR,
}


@dataclass(frozen=True)
class Said:
    """One thing a tool said, in its own words: what it claims and the causes it names, not the remedies it lists."""

    title: str  # the headline, by which two sayings are recognised as the same
    detail: str = ""
    severity: str = WARNING  # a note is what the tool itself calls information
    where: tuple[str, ...] = ()  # module names, as `named_modules` spells them
    steps: tuple[int, ...] = ()  # when, if the tool says when
    times: int = 1

    @property
    def text(self) -> str:
        return f"{self.title}: {self.detail}" if self.detail else self.title


class Listener:
    """What an adapter fills in."""

    def start(self, training: Training) -> None:
        """Attach, as the tool's own introduction does."""

    def before_step(self, step: int, x: Tensor, y: Tensor) -> None: ...

    def after_backward(self, step: int, loss: Tensor) -> None: ...

    def after_step(self, step: int, loss: Tensor) -> None: ...

    def said(self) -> list[Said]:
        """What the tool has to say when the training is over, in its own order."""
        return []

    def raised(self, error: Exception) -> list[Said]:
        """What the tool said by stopping the training; an exception that is not the tool's own goes on its way."""
        raise error


def level(word: str) -> str:
    return LEVELS[word.lower()]


def module_of(parameter: str) -> str:
    """`6` of `6.weight`; a module's own name stays what it is."""
    return re.sub(r"\.(weight|bias|scale)$", "", parameter)


def gradient_norm(model: nn.Module) -> float:
    """For tools that want to be told: over the whole model, as `clip_grad_norm_` returns it."""
    return math.sqrt(sum(float(p.grad.pow(2).sum()) for p in model.parameters() if p.grad is not None))


def gist(one: Said) -> tuple[str, str, tuple[str, ...]]:
    """What makes two sayings the same: headline, severity and place, whatever the numbers in it."""
    return (re.sub(r"[-+]?\d[\d.,]*(e[-+]?\d+)?|\b(nan|inf)\b", "#", one.title), one.severity, one.where)


def once_each(said: Iterable[Said]) -> list[Said]:
    """The same about the same place is one finding, said several times."""
    kept: dict[tuple[str, str, tuple[str, ...]], Said] = {}
    for one in said:
        before = kept.get(gist(one))
        if before is not None:
            one = replace(before, steps=before.steps + one.steps, times=before.times + one.times)
        kept[gist(one)] = one
    return list(kept.values())
