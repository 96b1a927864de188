"""What is known about two runs side by side: where they diverge, in what, and what was set differently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bedside.rendering import render

Points = Sequence[tuple[int, float]]


@dataclass(frozen=True)
class Divergence:
    """From `step` on the two runs differ in this series, for good."""

    key: str
    step: int
    a: float  # the level in the first run since then
    b: float  # and in the second
    exact: bool = False  # they were equal to the last digit until then


@dataclass(frozen=True)
class Difference:
    """Something that was set or made differently; None where one of the two has nothing of the kind."""

    name: str
    a: Any
    b: Any


@dataclass(frozen=True)
class Comparison:
    """Run `a` compared with run `b`; `divergences` in order of time."""

    a: str
    b: str
    steps: tuple[int, int]
    divergences: tuple[Divergence, ...]
    first: Divergence | None  # what diverged first; of several at the same time, what comes first in a step
    alike: tuple[str, ...]  # series that were compared and did not diverge
    only_a: tuple[str, ...] = ()
    only_b: tuple[str, ...] = ()
    settings: tuple[Difference, ...] = ()
    environment: tuple[Difference, ...] = ()
    pictures: Mapping[str, tuple[Points, Points]] = field(default_factory=dict)
    axis: str = "step"

    @property
    def verdict(self) -> str:
        """`they diverge`, `alike`, or `unclear` when they have nothing in common that could be compared."""
        return "they diverge" if self.first else "alike" if self.alike else "unclear"

    def to_json(self) -> dict[str, Any]:
        """The comparison as plain data."""
        answer: dict[str, Any] = render("comparison as json", self)
        return answer

    def __str__(self) -> str:
        return str(render("comparison as text", self))
